package lnx

import (
	"context"
	"fmt"
	"unsafe"

	"golnx/providers"
	"golnx/providers/fierr"
	"golnx/rail/intercept"
)

// hooked is an endpoint's hooks, composed when it is opened. An endpoint that has no
// consumers has no hooked, so that each operation pays one branch.
//
// An operation's context is wrapped on its way through here, in a tracked, which has the
// caller's and what the hooks made of it.
type hooked struct {
	ep      *Endpoint
	hooks   []*intercept.Hooks
	view    *intercept.Endpoint
	rails   []*intercept.Chain
	link    *intercept.Chain // of what belongs to no rail
	cqRead  func([]intercept.Entry) (int, error)
	users   bool // hooks of the user's own are among them
	waits   bool // somebody hooks CQ.Wait
	free    []*tracked
	send    intercept.Send // the call under way
	sending tracking
	rma     intercept.RMA // the same of RMA
	atomic  intercept.Atomic
	// delivered and readable are those of the atomic operation under way.
	delivered, readable bool
	recv                intercept.Recv
	posting             *tracked
	complete            intercept.Completion
	under               underway
}

// underway is the hooks under way, of which there are some if the lock is released (unlock)
// by a goroutine that one of them is ending.
type underway struct {
	inside int // that have been called and have not returned
	// path, slot and flags are of the operation of hooked.sending.
	path    *path
	slot    providers.Slot
	flags   Flags
	telling *tracked // whose Complete hooks are called
	aside   bool     // those run on goroutines of their own
}

// tracked is the context of an operation that hooks saw.
type tracked struct {
	user, seen any
	r          int   // rail, -1 of receives
	failed     error // of a hook, after the operation was handed over
	quiet      bool  // a success has no completion in the CQ
	handed     bool
	ended      bool
	multi      bool // ends with FlagMultiRecv
}

// tracking is a send on its way through the hooks.
type tracking struct {
	*tracked
	op      *txOp
	refused error // the provider's last answer
}

// handable says whether next of an operation's hook may be called.
func (t *tracked) handable(o intercept.Op) error {
	if t == nil {
		return fmt.Errorf("next of %v was called after its hook had returned: %w", o, fierr.EOpBadState)
	}
	if t.handed {
		return fmt.Errorf("next of %v was called again after it had succeeded: %w", o, fierr.EOpBadState)
	}
	return nil
}

// answered notes the provider's answer to an operation, and the context that it was
// handed over with.
func (s *tracking) answered(seen any, err error) error {
	s.seen = seen
	if err != nil {
		s.refused = err
		return err
	}
	s.handed = true
	return nil
}

// user answers the caller's context of an operation.
func (ep *Endpoint) user(opContext any) any {
	if ep.hooks == nil {
		return opContext
	}
	if t, ok := opContext.(*tracked); ok {
		return t.user
	}
	return opContext
}

func (h *hooked) track(opContext any, r int) *tracked {
	if n := len(h.free); n > 0 {
		t := h.free[n-1] // zero
		h.free = h.free[:n-1]
		t.user, t.seen, t.r = opContext, opContext, r
		return t
	}
	return &tracked{user: opContext, seen: opContext, r: r}
}

func (h *hooked) untrack(t *tracked) {
	*t = tracked{}
	h.free = append(h.free, t)
}

// enter wraps the context of an operation that goes through the hooks, and answers the
// caller's.
func (h *hooked) enter(p *path, slot providers.Slot, op *txOp, flags Flags) (user any) {
	t := h.track(op.ctx, p.rail)
	t.quiet = op.quiet
	op.ctx = t
	h.sending.tracked, h.sending.op, h.sending.refused = t, op, nil
	h.under.path, h.under.slot, h.under.flags = p, slot, flags
	return t.user
}

// leave tells what became of an operation after its hooks have answered err and left a
// context.
func (h *hooked) leave(seen any, err error) handing {
	t, op := h.sending.tracked, h.sending.op
	out := handing{provider: err != nil && err == h.sending.refused}
	switch {
	case t.handed:
		t.failed, err, out.provider = err, nil, false
	case err == nil:
		t.seen, out.replaced = seen, true
	default:
		op.ctx = nil
		h.untrack(t)
	}
	h.sending = tracking{}
	out.err = err
	return out
}

// unhooked is the handing of an operation that no hook asks for.
func unhooked(err error) handing { return handing{provider: err != nil, err: err} }

// handOver sends what stands in ep.op, through the hooks of the rail.
func (h *hooked) handOver(p *path, op *txOp, o intercept.Op, iov [][]byte, flags Flags) handing {
	chain := h.rails[p.rail]
	f := chain.Send[o]
	if f == nil {
		if chain.Complete == nil { // nobody asks
			return unhooked(h.ep.handOver(p.rail, op, iov, flags))
		}
		f = h.sendBase
	}
	c, user := &h.send, h.enter(p, h.ep.op.Slot, op, flags)
	c.Op, c.To, c.IOV, c.Tag, c.Data, c.Flags, c.Context = o, op.peer.remote(p), iov, op.tag, h.ep.op.Data, uint64(flags), user
	h.under.inside++
	err := f(c)
	h.under.inside--
	out := h.leave(c.Context, err)
	c.IOV, c.Context = nil, nil
	return out
}

// sendBase is what the last hook of a send calls.
func (h *hooked) sendBase(c *intercept.Send) error {
	ep, s := h.ep, &h.sending
	if err := s.tracked.handable(c.Op); err != nil {
		return err
	}
	size, err := ep.setIOV(c.Op, c.IOV)
	if err != nil {
		return err
	}
	if Flags(c.Flags)&FlagInject != 0 && size > ep.link.Info.InjectSize {
		return tooLongToInject(c.Op, size, ep.link.Info.InjectSize)
	}
	if !s.op.msg {
		s.op.tag = c.Tag
	}
	s.op.len, ep.op.Tag, ep.op.Data = size, s.op.tag, c.Data
	return s.answered(c.Context, ep.handOver(int(s.op.rail), s.op, c.IOV, Flags(c.Flags)))
}

// receive passes a receive through the hooks.
func (h *hooked) receive(o intercept.Op, m *Msg, flags Flags) error {
	if err := h.ep.check(); err != nil {
		return err
	}
	f := h.link.Recv[o]
	if f == nil {
		if h.link.CompleteRecv == nil { // nobody asks
			return h.ep.receive(o, m, flags)
		}
		f = h.recvBase
	}
	t := h.track(m.Context, -1)
	t.quiet = flags&FlagCompletion == 0
	c := &h.recv
	c.Op, c.From, c.IOV, c.Tag, c.Ignore, c.Flags, c.Context = o, uint64(m.Addr), m.IOV, m.Tag, m.Ignore, uint64(flags), t.user
	h.posting = t
	h.under.inside++
	err := f(c)
	h.under.inside--
	h.posting = nil
	switch {
	case t.handed:
		if err != nil && !t.ended {
			t.failed, err = err, nil
		}
		if t.ended {
			h.untrack(t)
		}
	case err == nil:
		t.seen = c.Context
		e := entryOf(c.Result)
		e.Context, e.Flags = t, e.Flags|msgKind(untagged(o))|FlagRecv
		if flags&FlagMultiRecv != 0 {
			e.Flags |= FlagMultiRecv
		}
		h.posting = nil
		h.ep.finish(-1, &e, t.quiet)
	default:
		h.untrack(t)
	}
	c.IOV, c.Context, c.Result = nil, nil, intercept.Entry{}
	return err
}

// recvBase is what the last hook of a receive calls.
func (h *hooked) recvBase(c *intercept.Recv) error {
	t := h.posting
	if err := t.handable(c.Op); err != nil {
		return err
	}
	t.seen = c.Context
	t.handed = true // it can end within the call
	t.multi = untagged(c.Op) && Flags(c.Flags)&FlagMultiRecv != 0
	m := Msg{IOV: c.IOV, Addr: Addr(c.From), Tag: c.Tag, Ignore: c.Ignore, Context: t}
	if err := h.ep.receive(c.Op, &m, Flags(c.Flags)); err != nil {
		t.handed, t.multi = false, false
		return err
	}
	return nil
}

// ended shows the end of an operation to the hooks, and unwraps its context. The error
// is that of a hook.
func (h *hooked) ended(r int, e *Entry, code fierr.Errno) (fierr.Errno, error) {
	t, ok := e.Context.(*tracked)
	if !ok {
		return code, nil // of no operation
	}
	if t.r >= 0 {
		r = t.r
	}
	chain := h.link
	if r >= 0 {
		chain = h.rails[r]
	}
	complete := chain.Complete
	if t.r < 0 {
		complete = chain.CompleteRecv
	}
	user, failed, goesOn := t.user, t.failed, t.multi && e.Flags&FlagMultiRecv == 0
	t.failed = nil
	e.Context = t.seen
	if complete != nil { // field by field: a copy of what was just written has to wait for it
		c := &h.complete
		c.Context, c.Flags, c.Len, c.Off, c.Tag, c.Data, c.Src, c.Err = t.seen, uint64(e.Flags), e.Len, e.Off, e.Tag, e.Data, uint64(e.Src), int(code)
		if err := h.tellEnd(complete, c, t); err != nil {
			failed = err
		}
		e.Context, e.Flags, e.Len, e.Off, e.Tag, e.Data, e.Src, code = c.Context, Flags(c.Flags), c.Len, c.Off, c.Tag, c.Data, Addr(c.Src), fierr.Errno(c.Err)
		c.Context = nil
	}
	if c, ok := user.(*call); ok {
		e.Context = c // a blocked call is not a hook's to lose
	}
	if goesOn { // a message of a multi-receive
	} else if h.posting == t { // still on its way through the hooks of the call
		t.ended = true
	} else {
		h.untrack(t)
	}
	if failed != nil && code == 0 {
		code = fierr.EOther
		if e, ok := fierr.Of(failed); ok {
			code = e
		}
	}
	return code, failed
}

// entryOf and its kin convert entries, whose types differ in names only.
func entryOf(e intercept.Entry) Entry { return *(*Entry)(unsafe.Pointer(&e)) }

func hookEntries(e []Entry) []intercept.Entry {
	return unsafe.Slice((*intercept.Entry)(unsafe.Pointer(unsafe.SliceData(e))), len(e))
}

func entriesOf(e []intercept.Entry) []Entry {
	return unsafe.Slice((*Entry)(unsafe.Pointer(unsafe.SliceData(e))), len(e))
}

// Both have to have the same layout.
var (
	_ = [1]byte{}[unsafe.Sizeof(Entry{})-unsafe.Sizeof(intercept.Entry{})]
	_ = [1]byte{}[unsafe.Offsetof(Entry{}.Flags)-unsafe.Offsetof(intercept.Entry{}.Flags)]
	_ = [1]byte{}[unsafe.Offsetof(Entry{}.Len)-unsafe.Offsetof(intercept.Entry{}.Len)]
	_ = [1]byte{}[unsafe.Offsetof(Entry{}.Tag)-unsafe.Offsetof(intercept.Entry{}.Tag)]
	_ = [1]byte{}[unsafe.Offsetof(Entry{}.Data)-unsafe.Offsetof(intercept.Entry{}.Data)]
	_ = [1]byte{}[unsafe.Offsetof(Entry{}.Src)-unsafe.Offsetof(intercept.Entry{}.Src)]
	_ = [1]byte{}[unsafe.Offsetof(Entry{}.Off)-unsafe.Offsetof(intercept.Entry{}.Off)]
)

// withdrawn tells the hooks of an operation that ends without a completion, and answers
// the caller's context.
func (h *hooked) withdrawn(opContext any) any {
	t, ok := opContext.(*tracked)
	if h == nil || !ok {
		return opContext
	}
	user := t.user
	t.multi = false
	e := Entry{Context: t, Src: AddrUnspec}
	_, _ = h.ended(t.r, &e, fierr.ECanceled)
	return user
}

// wait is CQ.Wait with hooks. The context goes around them.
func (h *hooked) wait(ctx context.Context, entries []Entry) (int, error) {
	wait := intercept.Reads(h.hooks, h.view, "cq_wait", func(h *intercept.Hooks) intercept.ReadFunc { return h.CQWait },
		func(e []intercept.Entry) (int, error) { return h.ep.cq.wait(ctx, entriesOf(e)) })
	return wait(hookEntries(entries))
}
