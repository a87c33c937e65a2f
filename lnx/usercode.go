package lnx

import (
	"fmt"
	"runtime/debug"
	"slices"

	"golnx/rail"
	"golnx/rail/intercept"
)

// Hooks, and a policy of the user's own, run under the progress lock, on the goroutine that
// made the call or drives the rails, and never below a callback from C: what unwinds there
// would take the provider's frames with it. One that panics makes an error of the call, or
// of the operation's completion. One that ends its goroutine (runtime.Goexit, as
// testing.T.FailNow does) cannot be held up, and leaves a call half done. The endpoint
// closes itself then. Endpoints that can meet such code (Endpoint.foreign) release their
// locks by defer, and see then whether hooks are under way that will not return.

// quit is why an endpoint has closed itself. It is ErrClosed.
type quit struct {
	by   string
	done chan struct{} // closed when the endpoint is; nil if somebody else closes it
	err  error         // of closing
}

func (q *quit) Error() string {
	return fmt.Sprintf("%v: %s ended its goroutine in the middle of a call (runtime.Goexit, as testing.T.FailNow does): open another", ErrClosed, q.by)
}

func (q *quit) Unwrap() error { return ErrClosed }

// quits closes the endpoint, whose lock is held and about to be released.
func (ep *Endpoint) quits(by string) {
	q := &quit{by: by}
	ep.closed.Store(true)
	ep.one[0], ep.cq.out, ep.cq.filled = nil, nil, 0 // are the caller's
	if ep.closing.Swap(true) {
		ep.quit.CompareAndSwap(nil, q)
		return
	}
	q.done = make(chan struct{})
	ep.quit.Store(q)
	go func() {
		defer close(q.done)
		q.err = ep.close()
	}()
}

// whyClosed is the error of calls on an endpoint that is closed.
func (ep *Endpoint) whyClosed() error {
	if q := ep.quit.Load(); q != nil {
		return q
	}
	return ErrClosed
}

// closedItself waits for an endpoint that closes itself, and answers how that went.
func (ep *Endpoint) closedItself() error {
	q := ep.quit.Load()
	if q == nil || q.done == nil {
		return nil
	}
	<-q.done
	return q.err
}

// unlock releases the progress lock, also of a goroutine that a hook is ending.
func (ep *Endpoint) unlock() {
	if h := ep.hooks; h != nil && h.under.inside > 0 {
		h.unwound()
	}
	ep.mu.Unlock()
}

// unwound deals with hooks that have not returned: it puts what the call was about where
// closing finds it.
func (h *hooked) unwound() {
	ep, s, u := h.ep, h.sending, h.under
	h.sending, h.posting, h.under = tracking{}, nil, underway{aside: u.aside}
	switch {
	case s.tracked == nil:
	case s.handed:
		ep.accepted(u.path, s.op, u.flags)
	default:
		ep.dropTx(u.slot, s.op)
	}
	ep.quits("a hook")
	if u.telling == nil {
		return
	}
	if c, ok := u.telling.user.(*call); ok { // nobody else knows of it any more
		c.finish(Entry{}, ep.whyClosed())
	}
}

// tellEnd calls the Complete hooks of an operation.
func (h *hooked) tellEnd(complete func(*intercept.Completion) error, c *intercept.Completion, t *tracked) error {
	if h.under.aside {
		return h.tellAside(complete, c)
	}
	h.under.inside++
	h.under.telling = t
	err := complete(c)
	h.under.inside--
	h.under.telling = nil
	return err
}

// tellAside calls them on a goroutine of their own, for a caller that has to go on whatever
// they do.
func (h *hooked) tellAside(complete func(*intercept.Completion) error, c *intercept.Completion) (err error) {
	returned, done := false, make(chan struct{})
	go func() {
		defer close(done)
		err = complete(c)
		returned = true
	}()
	if <-done; !returned {
		h.ep.quits("a hook")
		return h.ep.whyClosed()
	}
	return err
}

// standAside has Complete hooks run aside while Close drives an endpoint, under its lock.
func (h *hooked) standAside() (back func()) {
	if h == nil {
		return func() {}
	}
	before := h.under.aside
	h.under.aside = true
	return func() { h.under.aside = before }
}

// sendGuarded is tsend1 where the user's code can run.
func (ep *Endpoint) sendGuarded(o intercept.Op, buf []byte, to Addr, tag, data uint64, flags Flags, opContext any, quiet bool) error {
	ep.lock()
	defer ep.unlock()
	ep.one[0] = buf
	err := ep.send(o, ep.one[:], to, tag, data, flags, opContext, quiet)
	ep.one[0] = nil
	return err
}

// recvGuarded is recv1 where the user's code can run.
func (ep *Endpoint) recvGuarded(o intercept.Op, buf []byte, from Addr, tag, ignore uint64, opContext any) error {
	ep.lock()
	defer ep.unlock()
	ep.one[0] = buf
	m := Msg{IOV: ep.one[:], Addr: from, Tag: tag, Ignore: ignore, Context: opContext}
	err := ep.hookedReceive(o, &m, FlagCompletion)
	ep.one[0] = nil
	return err
}

// readGuarded is read where the user's code can run.
func (q *CQ) readGuarded(entries []Entry) (int, error) {
	q.ep.lock()
	defer q.ep.unlock()
	return q.readLocked(entries)
}

// heardOn is a path that a peer was heard on first.
type heardOn struct {
	state *peerState
	path  rail.Path
}

// pick asks the policy, after it was told who was heard since: that comes from C.
func (ep *Endpoint) pick(state *peerState, c rail.Call) (ch rail.Choice, err error) {
	if !ep.ownPolicy {
		return ep.sel.Pick(&state.rails, c)
	}
	returned := false
	defer func() {
		if v := recover(); v != nil {
			ch, err = rail.Choice{}, &rail.PanicError{Policy: ep.set.Policy, Value: v, Stack: debug.Stack()}
		} else if !returned {
			ep.quits("policy " + ep.set.Policy)
		}
	}()
	for len(ep.toTell) > 0 {
		h := ep.toTell[0]
		ep.toTell = ep.toTell[1:]
		ep.sel.Heard(&h.state.rails, h.path)
	}
	ch, err = ep.sel.Pick(&state.rails, c)
	returned = true
	return ch, err
}

// forgetHeard forgets what the policy was not told of a peer that is removed.
func (ep *Endpoint) forgetHeard(state *peerState) {
	if len(ep.toTell) > 0 {
		ep.toTell = slices.DeleteFunc(ep.toTell, func(h heardOn) bool { return h.state == state })
	}
}
