package lnx

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"golnx/providers"
	"golnx/providers/fierr"
)

// Events say which operations a Counter counts (the flags that fi_ep_bind(3) binds a
// counter with).
type Events uint64

// Events that can be counted, and added to each other.
const (
	// EventRead: RMA reads and atomics that fetch, begun here.
	EventRead Events = 1 << 8
	// EventWrite: RMA writes and other atomics, begun here.
	EventWrite Events = 1 << 9
	EventRecv  Events = 1 << 10
	EventSend  Events = 1 << 11
	// EventRemoteRead and EventRemoteWrite: what peers have done with memory that is
	// registered here; an atomic that fetches is a read. All rails need CapRMAEvent
	// for them.
	EventRemoteRead  Events = 1 << 12
	EventRemoteWrite Events = 1 << 13

	remoteEvents = EventRemoteRead | EventRemoteWrite
	allEvents    = EventRead | EventWrite | EventRecv | EventSend | remoteEvents
)

// Counter counts the operations of an endpoint that have ended (fi_cntr(3)), over all
// rails: successes in one number, failures in another. An operation counts once, when
// its entry would be in the CQ, whether it asked for one or not (TInject does not, and
// counts). Peeks move nothing and do not count, nor do receives that Recv took back when
// its context ended.
//
// Counters are safe for concurrent use. An endpoint can have any number of them.
type Counter struct {
	ep     *Endpoint
	events Events
	n, err atomic.Uint64
	seen   atomic.Uint64 // errors that somebody was told of

	mu      sync.Mutex
	waiting []*counterWait
	waits   atomic.Int32 // in waiting
}

type counterWait struct {
	waiter
	threshold uint64
	errs      uint64 // failures known
}

// counters are the open counters of an endpoint that has had any.
type counters struct {
	list     []*Counter
	peeking  bool // what ends now is no transfer
	rails    []providers.RemoteEvents
	remotely providers.RemoteCounter // nil until somebody counts remote events
}

// OpenCounter begins to count events (fi_cntr_open(3), fi_ep_bind(3)), from 0. For
// remote events the link has to be opened with CapRMAEvent.
func (ep *Endpoint) OpenCounter(events Events) (*Counter, error) {
	if events == 0 || events&^allEvents != 0 {
		return nil, fmt.Errorf("OpenCounter: events %#x: EventSend, EventRecv, EventRead, EventWrite, EventRemoteRead and EventRemoteWrite are possible, at least one: %w", uint64(events), fierr.EInval)
	}
	ep.lock()
	defer ep.unlock()
	if err := ep.check(); err != nil {
		return nil, err
	}
	if ep.counters == nil {
		ep.counters = &counters{}
	}
	if events&remoteEvents != 0 {
		if err := ep.countRemote(); err != nil {
			return nil, fmt.Errorf("OpenCounter: %w", err)
		}
	}
	c := &Counter{ep: ep, events: events}
	ep.counters.list = append(ep.counters.list, c)
	return c, nil
}

// countRemote has the rails' own counters read from now on.
func (ep *Endpoint) countRemote() error {
	cs := ep.counters
	if cs.remotely != nil {
		ep.takeRemote() // what was before is not for a new counter
		return nil
	}
	core, ok := ep.core.(providers.RemoteCounter)
	rails := make([]providers.RemoteEvents, len(ep.link.Rails))
	for r := range rails {
		if ok {
			rails[r], ok = core.RemoteEvents(r)
		}
		if !ok {
			why := ""
			if ep.set.Caps&CapRMAEvent == 0 {
				why = ", and the link was opened without CapRMAEvent, which Options.Caps asks for"
			}
			return fmt.Errorf("rail %s does not count what peers do (FI_RMA_EVENT)%s: %w", ep.link.Rails[r].Name(), why, fierr.EOpNotSupp)
		}
	}
	cs.rails, cs.remotely = rails, core
	return nil
}

// takeRemote adds what the rails' own counters have counted since, under the lock.
func (ep *Endpoint) takeRemote() {
	cs := ep.counters
	for r := range cs.rails {
		now, _ := cs.remotely.RemoteEvents(r)
		before := cs.rails[r]
		if now == before {
			continue
		}
		cs.rails[r] = now
		cs.add(EventRemoteRead, now.Reads-before.Reads, now.ReadErrs-before.ReadErrs)
		cs.add(EventRemoteWrite, now.Writes-before.Writes, now.WriteErrs-before.WriteErrs)
	}
}

// count notes the end of an operation, under the lock.
func (cs *counters) count(flags Flags, failed bool) {
	event := Events(flags) & (allEvents &^ remoteEvents) // the rails count the rest
	if cs.peeking || event == 0 {
		return
	}
	if failed {
		cs.add(event, 0, 1)
	} else {
		cs.add(event, 1, 0)
	}
}

func (cs *counters) add(event Events, n, errs uint64) {
	for _, c := range cs.list {
		if c.events&event != 0 && n+errs > 0 {
			c.n.Add(n)
			c.err.Add(errs)
			c.wake()
		}
	}
}

// peeking says that what ends now is no transfer.
func (ep *Endpoint) peeking(on bool) {
	if ep.counters != nil {
		ep.counters.peeking = on
	}
}

// wake tells those who wait for what is there now.
func (c *Counter) wake() {
	if c.waits.Load() == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.waiting {
		if c.reached(w) {
			w.signal()
		}
	}
}

// reached is when Wait has an answer.
func (c *Counter) reached(w *counterWait) bool {
	return c.n.Load() >= w.threshold || c.err.Load() != w.errs
}

// drive makes progress, as reading a counter does in libfabric.
func (c *Counter) drive() {
	ep := c.ep
	ep.lock()
	defer ep.unlock()
	if ep.check() == nil {
		ep.progress(1)
	}
}

// Read drives the rails and answers the number of successes (fi_cntr_read(3)). After
// the endpoint or the counter was closed it is what was counted until then.
func (c *Counter) Read() uint64 {
	c.drive()
	return c.n.Load()
}

// ReadErr drives the rails and answers the number of failures (fi_cntr_readerr(3)). Wait
// does not speak of them any more.
func (c *Counter) ReadErr() uint64 {
	c.drive()
	return c.tell()
}

// tell answers the number of failures, which are no news from then on.
func (c *Counter) tell() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	errs := c.err.Load()
	c.seen.Store(errs)
	return errs
}

// Set sets the number of successes (fi_cntr_set(3)). What ends at the same time may come
// before or after.
func (c *Counter) Set(n uint64) {
	c.n.Store(n)
	c.changed()
}

// SetErr sets the number of failures (fi_cntr_seterr(3)). Calls of Wait under way answer
// to it, later ones do not.
func (c *Counter) SetErr(n uint64) {
	c.mu.Lock()
	c.err.Store(n)
	c.seen.Store(n)
	c.mu.Unlock()
	c.changed()
}

// Add adds to the number of successes (fi_cntr_add(3)).
func (c *Counter) Add(n uint64) {
	c.n.Add(n)
	c.changed()
}

// AddErr adds to the number of failures (fi_cntr_adderr(3)). Wait answers to it.
func (c *Counter) AddErr(n uint64) {
	c.err.Add(n)
	c.changed()
}

// changed tells waiters of a change that no completion brought.
func (c *Counter) changed() {
	c.wake()
	if !c.ep.closed.Load() {
		c.ep.wait.kick() // the one who sleeps for all may wait for this counter
	}
}

// Wait drives the rails until threshold operations have succeeded (fi_cntr_wait(3)). It
// answers EAVAIL when the number of failures changes, or has changed since ReadErr or an
// EAVAIL of Wait told of it; ErrClosed when the endpoint is closed; and the context's
// error. It spins and sleeps as CQ.Wait does.
func (c *Counter) Wait(ctx context.Context, threshold uint64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := &counterWait{waiter{ch: make(chan struct{}, 1)}, threshold, c.seen.Load()}
	over := func() bool { return c.reached(w) || c.ep.closed.Load() }
	if !over() {
		c.enter(w)
		err := c.ep.await(ctx, &w.waiter, over)
		c.leave(w)
		if err != nil && !over() {
			return err
		}
	}
	switch {
	case c.n.Load() >= threshold:
		return nil
	case c.err.Load() != w.errs:
		c.tell()
		return fierr.Avail
	case c.ep.closed.Load():
		return c.ep.whyClosed()
	}
	return c.Wait(ctx, threshold) // somebody has set it back
}

func (c *Counter) enter(w *counterWait) {
	c.mu.Lock()
	c.waiting = append(c.waiting, w)
	c.mu.Unlock()
	c.waits.Add(1)
}

func (c *Counter) leave(w *counterWait) {
	c.mu.Lock()
	c.waiting = slices.DeleteFunc(c.waiting, func(x *counterWait) bool { return x == w })
	c.mu.Unlock()
	c.waits.Add(-1)
}

// Close ends the counting (fi_close(3)). Closing twice does nothing. Those who Wait go on
// until their context ends, or somebody sets the counter.
func (c *Counter) Close() error {
	ep := c.ep
	ep.lock()
	defer ep.unlock()
	if ep.counters != nil {
		ep.counters.list = slices.DeleteFunc(ep.counters.list, func(x *Counter) bool { return x == c })
	}
	return nil
}
