package lnx

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/providers"
	"golnx/providers/fault"
	"golnx/providers/fierr"
	"golnx/providers/sim"
)

// faultLimit is how long anything may take.
const faultLimit = 20 * time.Second

// faultRun is two endpoints whose cores share a plan, and what they do. Whatever
// call fails is repeated, so that all is done in the end and the failure is the
// only one.
type faultRun struct {
	t     *testing.T
	plan  *fault.Plan
	nodes [2]*simNode
	cores []providers.Core // below the plan
	// errs are the failures that were reported.
	errs []error
}

// do repeats a call until it succeeds.
func (r *faultRun) do(call func() error) {
	r.t.Helper()
	again := func() bool {
		err := call()
		if err != nil && err != fierr.Again {
			r.errs = append(r.errs, err)
			require.LessOrEqual(r.t, len(r.errs), 1, "%v: %v", r.plan, r.errs)
		}
		return err != nil
	}
	for end := time.Now().Add(faultLimit); again(); r.poll() {
		require.True(r.t, time.Now().Before(end), "EAGAIN for ever; %v", r.plan)
	}
}

func (r *faultRun) poll() {
	for _, n := range r.nodes {
		if n != nil && n.ep != nil {
			n.poll()
		}
	}
}

func (r *faultRun) until(what string, cond func() bool) {
	r.t.Helper()
	for end := time.Now().Add(faultLimit); !cond(); r.poll() {
		if time.Now().After(end) {
			require.Fail(r.t, "a hang", "%s; %v; A %v, B %v", what, r.plan, r.nodes[0].ep.Stats(), r.nodes[1].ep.Stats())
		}
	}
}

func (r *faultRun) open(link *Link, open opener) {
	for i := range r.nodes {
		r.nodes[i] = &simNode{t: r.t}
		r.do(func() (err error) {
			r.nodes[i].ep, err = openWith(link, func(l *Link, o providers.Owner) (providers.Core, error) {
				if err := r.plan.Fail(fault.Open); err != nil {
					return nil, err
				}
				core, err := open(l, o)
				if err != nil {
					return nil, err
				}
				r.cores = append(r.cores, core)
				return fault.Wrap(core, r.plan), nil
			})
			if err != nil {
				r.allClosed()
			}
			return err
		})
		r.t.Cleanup(func() { _ = r.nodes[i].ep.Close() }) // if the test fails
	}
}

// allClosed asserts that an endpoint which did not open left no core behind.
func (r *faultRun) allClosed() {
	if len(r.cores) == 0 {
		return
	}
	if core, ok := r.cores[len(r.cores)-1].(*sim.Core); ok && r.plan.Where() != fault.Open {
		_, err := core.Name(0)
		require.ErrorIs(r.t, err, fierr.EBadF, r.plan)
	}
}

// exchange sends a message from A to B, for which the receive is posted before or
// after.
func (r *faultRun) exchange(from, to Addr, tag uint64, size int, expected bool) {
	a, b := r.nodes[0].ep, r.nodes[1].ep
	out, in := &simOp{buf: simNoise(tag, size)}, &simOp{buf: make([]byte, size)}
	post := func() { r.do(func() error { return b.TRecv(in.buf, from, tag, 0, in) }) }
	if expected {
		post()
	}
	r.send(a, to, tag, out)
	if !expected {
		r.arrived(tag)
		post()
	}
	r.until("exchange", func() bool { return out.times*in.times > 0 })
	r.note(out)
	if r.note(in) {
		require.True(r.t, bytes.Equal(out.buf, in.buf), r.plan)
	}
}

func (r *faultRun) send(ep *Endpoint, to Addr, tag uint64, op *simOp) {
	r.do(func() error { return ep.TSend(op.buf, to, tag, op) })
}

// arrived waits for an unexpected message.
func (r *faultRun) arrived(tag uint64) {
	r.until("arrival", func() bool {
		peek := &simOp{}
		r.do(func() error {
			return r.nodes[1].ep.TRecvMsg(&Msg{Addr: AddrUnspec, Tag: tag, Context: peek}, FlagPeek|FlagCompletion)
		})
		r.until("peek", func() bool { return peek.times > 0 })
		return !errors.Is(peek.err, fierr.ENoMsg)
	})
}

// note answers whether an operation succeeded.
func (r *faultRun) note(op *simOp) bool {
	if op.err != nil {
		r.errs = append(r.errs, op.err)
	}
	return op.err == nil
}

// scenario does everything that calls a core.
func (r *faultRun) scenario() {
	a, b := r.nodes[0].ep, r.nodes[1].ep
	var toA, toB Addr
	r.do(func() (err error) { toB, err = a.AV().Insert(b.Name()); return })
	r.do(func() (err error) { toA, err = b.AV().Insert(a.Name()); return })
	from := toA
	if r.plan.Where() == fault.Insert {
		from = AddrUnspec // a rail without the sender's address does not say who it was
	}
	for i, size := range []int{8, 100_000} {
		tag := uint64(4 * i)
		r.exchange(from, toB, tag, size, true)
		r.exchange(from, toB, tag+1, size, false)
		r.claim(toB, tag+2, size)
		r.discard(toB, tag+3, size)
	}
	r.futures(from, toB)
	r.msgs(from, toB)
	op := &simOp{}
	r.do(func() error { return b.TRecv(nil, toA, 99, 0, op) })
	r.do(func() error { return b.Cancel(op) })
	r.until("cancel", func() bool { return op.times > 0 })
	require.ErrorIs(r.t, op.err, fierr.ECanceled)
	r.do(func() error { return a.AV().Remove(toB) })
	r.do(func() error { return b.AV().Remove(toA) })
}

func (r *faultRun) claim(to Addr, tag uint64, size int) {
	out, in := &simOp{buf: simNoise(tag, size)}, &simOp{buf: make([]byte, size)}
	r.send(r.nodes[0].ep, to, tag, out)
	r.arrived(tag)
	msg := &Msg{IOV: [][]byte{in.buf}, Addr: AddrUnspec, Tag: tag, Context: in}
	r.do(func() error { return r.nodes[1].ep.TRecvMsg(msg, FlagPeek|FlagClaim|FlagCompletion) })
	r.until("claim", func() bool { return in.times > 0 })
	require.NoError(r.t, in.err)
	in.times = 0
	r.do(func() error { return r.nodes[1].ep.TRecvMsg(msg, FlagClaim|FlagCompletion) })
	r.until("claimed", func() bool { return out.times*in.times > 0 })
	r.note(out)
	if r.note(in) {
		require.True(r.t, bytes.Equal(out.buf, in.buf), r.plan)
	}
}

func (r *faultRun) discard(to Addr, tag uint64, size int) {
	out, in := &simOp{buf: simNoise(tag, size)}, &simOp{}
	r.send(r.nodes[0].ep, to, tag, out)
	r.arrived(tag)
	r.do(func() error {
		return r.nodes[1].ep.TRecvMsg(&Msg{Addr: AddrUnspec, Tag: tag, Context: in}, FlagPeek|FlagDiscard|FlagCompletion)
	})
	r.until("discard", func() bool { return out.times*in.times > 0 })
	require.NoError(r.t, in.err)
	r.note(out)
}

func (r *faultRun) futures(from, to Addr) {
	ctx := r.t.Context()
	buf, msg := make([]byte, 5000), simNoise(1, 5000)
	var in, out *Future
	r.do(func() (err error) { in, err = r.nodes[1].ep.RecvAsync(ctx, from, 50, 0, buf); return })
	r.do(func() (err error) { out, err = r.nodes[0].ep.SendAsync(ctx, to, 50, msg); return })
	r.until("futures", func() bool { return in.Done() && out.Done() })
	_, err := out.Wait(ctx)
	if err != nil {
		r.errs = append(r.errs, err)
	}
	if _, err = in.Wait(ctx); err != nil {
		r.errs = append(r.errs, err)
	} else {
		require.True(r.t, bytes.Equal(msg, buf), r.plan)
	}
}

func (r *faultRun) close() {
	for i := range r.nodes {
		if err := r.nodes[i].ep.Close(); err != nil {
			r.errs = append(r.errs, err)
		}
		require.NoError(r.t, r.nodes[i].ep.Close(), "a second time")
		require.ErrorIs(r.t, r.nodes[i].ep.TSend(nil, 0, 0, nil), ErrClosed)
	}
	for _, core := range r.cores {
		require.NoError(r.t, core.Close())
	}
}

// judge asserts that the failure was reported, and answers how it was: not at all
// if it does not show.
func (r *faultRun) judge() (shown bool) {
	var counted uint64 // all that shows of a rail that does not take an address, or not forget it
	for _, n := range r.nodes {
		for _, s := range n.ep.Stats() {
			counted += s.Errors
		}
	}
	op := r.plan.Where()
	switch {
	case !r.plan.Fired():
		require.Empty(r.t, r.errs)
		require.Zero(r.t, counted)
	case r.plan.Err == fierr.EAgain && (op == fault.AllocTx || op == fault.Send || op == fault.AllocRx):
		require.Empty(r.t, r.errs, "EAGAIN is for the caller to repeat; %v", r.plan)
		return true
	case r.plan.Err == fierr.EAgain && op == fault.Start:
		require.Empty(r.t, r.errs, "the layer repeats it; %v", r.plan)
		return true
	case len(r.errs) > 0:
		require.Len(r.t, r.errs, 1, r.plan)
		require.ErrorIs(r.t, r.errs[0], r.plan.Err, r.plan)
		return true
	}
	return counted > 0
}

// failEach runs the scenario with each operation failing once; after is called
// when its traffic is over.
func failEach(t *testing.T, errno fierr.Errno, begin func() (*Link, opener), after func(*faultRun)) {
	failed, silent := map[fault.Op]int{}, map[fault.Op]int{}
	for plan := range fault.Each("", errno) {
		r := &faultRun{t: t, plan: plan}
		r.open(begin())
		r.scenario()
		after(r)
		r.close()
		if shown := r.judge(); plan.Fired() {
			failed[plan.Where()]++
			if !shown {
				silent[plan.Where()]++
			}
		}
	}
	for _, op := range []fault.Op{
		fault.Open, fault.Name, fault.Insert, fault.AllocTx, fault.Send, fault.Transmit,
		fault.AllocRx, fault.Start, fault.Receive, fault.Remove, fault.Close,
	} {
		require.GreaterOrEqual(t, failed[op], 2, op)
	}
	// Nobody waits for the end of the two messages that are discarded.
	for op, n := range silent {
		require.Contains(t, []fault.Op{fault.Start, fault.Receive}, op)
		require.LessOrEqual(t, n, 2)
	}
}

func TestFaultsOverSim(t *testing.T) {
	for _, errno := range []fierr.Errno{fierr.EIO, fierr.EAgain} {
		var f *sim.Fabric
		rails := simRails(2, sim.Rail{Rate: 100e9, Latency: 1000})
		link := simLink(t, rails, Options{})
		failEach(t, errno, func() (*Link, opener) {
			f = sim.New(sim.Options{Auto: true})
			return link, func(_ *Link, o providers.Owner) (providers.Core, error) {
				core, err := f.Open(rails, o, sim.Limits{})
				if err != nil {
					return nil, err
				}
				return core, nil
			}
		}, func(r *faultRun) {
			r.until("slots", func() bool { return r.slots() == 0 })
			require.NoError(t, f.Err(), r.plan)
		})
	}
}

// slots counts what the open cores have not free.
func (r *faultRun) slots() (n int) {
	for _, c := range r.cores {
		tx, rx := c.(*sim.Core).Slots()
		n += tx + rx
	}
	return n
}

func TestFaultsOverLibfabric(t *testing.T) {
	listing, err := Links(Options{Links: "shm+tcp:lo", Lookup: env(nil)})
	require.NoError(t, err)
	failEach(t, fierr.EIO, func() (*Link, opener) { return listing.Links[0], openCore }, func(*faultRun) {})
}
