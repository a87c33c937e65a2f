package timer

import (
	"sync/atomic"

	"golnx/rail/intercept"
)

// Hooks answers what to register: intercept.Register for the whole process, or
// lnx.Options.Hooks for one endpoint. It must be done before endpoints are opened. What
// is not recorded is not hooked.
func (r *Recorder) Hooks() *intercept.Hooks {
	h := &intercept.Hooks{
		Name:            "timer",
		EndpointCreated: r.endpointCreated,
		EndpointClosing: r.endpointClosing,
	}
	if r.cfg.CQGap > 0 {
		h.CQRead, h.CQWait = r.cqRead, r.cqWait
	}
	if !r.cfg.recordsOps() {
		return h
	}
	h.TSend, h.TSendV, h.TSendMsg, h.TSendData, h.TInject, h.TInjectData = r.send, r.send, r.send, r.send, r.send, r.send
	h.Send, h.SendV, h.SendMsg, h.SendData, h.Inject, h.InjectData = r.send, r.send, r.send, r.send, r.send, r.send
	h.Read, h.ReadV, h.ReadMsg = r.rma, r.rma, r.rma
	h.Write, h.WriteV, h.WriteMsg, h.InjectWrite, h.WriteData, h.InjectWriteData = r.rma, r.rma, r.rma, r.rma, r.rma, r.rma
	h.Atomic, h.AtomicV, h.AtomicMsg, h.InjectAtomic = r.atomic, r.atomic, r.atomic, r.atomic
	h.FetchAtomic, h.FetchAtomicV, h.FetchAtomicMsg = r.atomic, r.atomic, r.atomic
	h.CompareAtomic, h.CompareAtomicV, h.CompareAtomicMsg = r.atomic, r.atomic, r.atomic
	h.Complete = r.complete
	return h
}

func (r *Recorder) send(rail *intercept.Rail, c *intercept.Send, next func(*intercept.Send) error) error {
	var t try
	r.begin(&t, rail, c.To, c.Len(), c.Op, c.Tag, &c.Context)
	err := next(c)
	t.answered(err)
	return err
}

func (r *Recorder) rma(rail *intercept.Rail, c *intercept.RMA, next func(*intercept.RMA) error) error {
	var t try
	r.begin(&t, rail, c.To, c.Len(), c.Op, 0, &c.Context)
	err := next(c)
	t.answered(err)
	return err
}

func (r *Recorder) atomic(rail *intercept.Rail, c *intercept.Atomic, next func(*intercept.Atomic) error) error {
	var t try
	r.begin(&t, rail, c.To, c.Len(), c.Op, 0, &c.Context)
	err := next(c)
	t.answered(err)
	return err
}

// try is a call on its way to the provider.
type try struct {
	ep      *endpoint
	slot    *slot // nil if it is not timed
	turn    uint32
	context any            // the caller's
	place   *any           // where it stood
	missing *atomic.Uint64 // what a call that is not timed counts in
}

// begin puts a slot in place of the context, and starts the time.
func (r *Recorder) begin(t *try, rail *intercept.Rail, to *intercept.Remote, bytes int, op intercept.Op, tag uint64, context *any) {
	ep := r.endpoint(rail.Endpoint.ID)
	if ep == nil {
		return
	}
	s, missing := ep.claim(rail, to, bytes)
	if s == nil {
		t.missing = missing
		return
	}
	s.context, s.op, s.tag = *context, op, tag
	t.ep, t.slot, t.turn, t.context, t.place = ep, s, s.turn, *context, context
	*context = s
	s.start = r.clock()
}

// answered ends the call. The operation may have completed before, and the slot may be
// another one's by now.
func (t *try) answered(err error) {
	switch {
	case t.slot == nil:
		if t.missing != nil && err == nil {
			increment(t.missing)
		}
		return
	case err != nil:
		*t.place = t.context
		if t.slot.turn == t.turn && t.slot.state == slotBusy {
			t.ep.slots.refused(t.slot, err)
			return
		}
	}
	increment(&t.ep.accepted)
}

// complete gives the caller's context back, and writes the record.
func (r *Recorder) complete(_ *intercept.Rail, c *intercept.Completion) {
	s, ok := c.Context.(*slot)
	if !ok || s.ep.rec != r || s.state == slotFree {
		return
	}
	end := r.clock()
	ep := s.ep
	c.Context = s.context
	if rec := ep.ring.next(); rec == nil || r.off.Load() {
		increment(&ep.lost)
	} else {
		rec.start, rec.end, rec.bytes, rec.tag = s.start, end, s.bytes, s.tag
		rec.link, rec.status, rec.op = s.link, int32(c.Err), s.op
		if ep.ring.publish() {
			r.wakeWriter()
		}
	}
	if s.state == slotAbandoned {
		s.state = slotFree
		increment(&ep.accepted)
	} else {
		ep.slots.give(s)
	}
	if r.cfg.CQGap > 0 {
		ep.gaps.last.Store(end)
	}
}

func (r *Recorder) endpointCreated(e *intercept.Endpoint) {
	ep := newEndpoint(r, e)
	r.addEndpoint(ep, Endpoint{ID: e.ID, Address: e.Address, Link: e.Link})
	if r.sampler != nil && len(r.cfg.NICDevices) == 0 {
		r.sampler.want(e.Rails)
	}
}

// endpointClosing writes what there is of the endpoint. Operations may still end until
// it is closed.
func (r *Recorder) endpointClosing(e *intercept.Endpoint) {
	if ep := r.endpoint(e.ID); ep != nil {
		ep.closing.Store(true)
		r.Flush()
	}
}
