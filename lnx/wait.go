package lnx

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"golnx/internal/doorbell"
	"golnx/providers/fierr"
)

// Waiting. One waiting goroutine at a time, the leader, drives the rails; the
// others sleep on a channel until their operation ends or the lead passes to
// them. The leader spins for a moment, then sleeps on the rails' descriptors,
// and where a rail has none (shm) for a bounded time.
const (
	// spins is how often the leader makes progress before it sleeps, some 50 µs.
	spins = 100
	// napPolled bounds a sleep while a rail can only be polled; it is the
	// longest that a message over shm can go unnoticed.
	napPolled = 250 * time.Microsecond
	// napFD bounds a sleep when every rail has a descriptor.
	napFD = 10 * time.Millisecond
)

type waiter struct {
	ch chan struct{} // of one place: the wait is over, or the lead is yours
	cq bool          // waits for any completion
}

type waiters struct {
	lead sync.Mutex
	// contend counts goroutines that wait for the progress lock.
	contend atomic.Int32
	// woken counts waiters that were taken out of list and do not run yet.
	woken  atomic.Int32
	wakeFD int
	fds    []unix.PollFd
	nap    time.Duration
	polled uint64 // rails without a descriptor
	ended  uint64 // calls, counted under the progress lock

	mu       sync.Mutex
	list     []*waiter
	cq       atomic.Int32 // waiters in list that wait for any completion
	signals  uint64       // CQ.Signal
	sleeping atomic.Bool
}

// lock takes the progress lock and makes the leader step aside for it.
func (ep *Endpoint) lock() {
	if ep.mu.TryLock() {
		return
	}
	ep.wait.contend.Add(1)
	ep.mu.Lock()
	ep.wait.contend.Add(-1)
}

func (w *waiters) add(x *waiter) {
	w.mu.Lock()
	w.list = append(w.list, x)
	if x.cq {
		w.cq.Add(1)
	}
	w.mu.Unlock()
}

// remove answers whether x was still waiting; if not, it was signaled, and may have
// been given the lead.
func (w *waiters) remove(x *waiter) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	waited := w.take(func(y *waiter) bool { return x == y }) != nil
	w.woken.Add(-1) // x itself, just now or before
	return waited
}

// take removes and answers the oldest waiter that fits; w.mu is held.
func (w *waiters) take(fits func(*waiter) bool) *waiter {
	for i, x := range w.list {
		if fits(x) {
			w.list = append(w.list[:i], w.list[i+1:]...)
			w.woken.Add(1)
			if x.cq {
				w.cq.Add(-1)
			}
			return x
		}
	}
	return nil
}

func (x *waiter) signal() {
	select {
	case x.ch <- struct{}{}:
	default:
	}
}

// handOver passes the lead on, after it was given up.
func (w *waiters) handOver() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if x := w.take(func(*waiter) bool { return true }); x != nil {
		x.signal()
	}
}

// signalCQ tells one CQ reader that there is a completion.
func (w *waiters) signalCQ() {
	w.kick() // it may be the leader, asleep
	if w.cq.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if x := w.take(func(x *waiter) bool { return x.cq }); x != nil {
		x.signal()
	}
}

// kick ends the leader's sleep.
func (w *waiters) kick() {
	if w.sleeping.Load() && w.sleeping.CompareAndSwap(true, false) { // once a sleep
		w.ring()
	}
}

func (w *waiters) ring() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ringLocked()
}

func (w *waiters) ringLocked() {
	if w.wakeFD >= 0 {
		one := [8]byte{1}
		_, _ = unix.Write(w.wakeFD, one[:]) // full is as good as written
	}
}

func (w *waiters) wakeAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for x := w.take(func(*waiter) bool { return true }); x != nil; x = w.take(func(*waiter) bool { return true }) {
		x.signal()
	}
	w.ringLocked()
}

func (w *waiters) open(fds []int, polled uint64, deaths int, bell *doorbell.Bell) (err error) {
	if w.wakeFD, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return err
	}
	for _, fd := range append([]int{w.wakeFD, deaths}, fds...) {
		w.fds = append(w.fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}
	if bell != nil {
		w.fds = append(w.fds, unix.PollFd{Fd: int32(bell.FD()), Events: unix.POLLIN})
	}
	w.nap, w.polled = napFD, polled
	if polled != 0 {
		w.nap = napPolled
	}
	return nil
}

func (w *waiters) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := unix.Close(w.wakeFD)
	w.wakeFD = -1
	return err
}

// await waits until over answers true, driving the rails or leaving that to
// another waiter. over is called without locks and must be cheap. What ctx does, a panic
// included, keeps the lead from nobody.
func (ep *Endpoint) await(ctx context.Context, x *waiter, over func() bool) error {
	listed, given := false, false // given: the lead was passed here
	defer func() {
		if listed {
			given = !ep.wait.remove(x)
		}
		if given {
			ep.wait.handOver()
		}
	}()
	for !over() {
		if ep.wait.lead.TryLock() {
			given = false
			return ep.lead(ctx, over)
		}
		ep.wait.add(x)
		listed = true
		if over() {
			return nil
		}
		if x.cq && ep.closed.Load() { // Close has the lead, and ends calls only
			return ep.whyClosed()
		}
		if ep.wait.lead.TryLock() { // given up between the two looks
			ep.wait.remove(x)
			listed = false
			return ep.lead(ctx, over)
		}
		ep.wait.kick() // what was just started needs to be driven
		select {
		case <-x.ch:
		case <-ctx.Done():
		}
		given = !ep.wait.remove(x)
		listed = false
		if ctx.Err() != nil && !over() {
			return ctx.Err()
		}
	}
	return nil
}

// lead drives the rails, with the lead held, and then gives it up.
func (ep *Endpoint) lead(ctx context.Context, over func() bool) error {
	defer ep.wait.stepDown()
	return ep.drive(ctx, over)
}

// stepDown gives the lead up.
func (w *waiters) stepDown() {
	w.lead.Unlock()
	w.handOver()
}

// drive is the leader's loop.
func (ep *Endpoint) drive(ctx context.Context, over func() bool) error {
	armed, held, stop := false, false, func() bool { return true }
	defer func() {
		stop()
		if held {
			ep.unlock()
		}
	}()
	for i := 0; ; i++ {
		ep.mu.Lock()
		held = true
		if err := ep.check(); err != nil {
			return err
		}
		ended := ep.wait.ended
		if i < spins {
			ep.progress(spin)
		} else { // after a nap: what has come is seen in one round
			ep.takeAll()
			ep.upkeep()
		}
		flooded, woke := ep.flooded(), ep.wait.ended != ended
		held = false
		ep.mu.Unlock()
		if over() {
			return nil
		}
		if flooded && i >= spins {
			return ErrUnexpectedFull
		}
		// Without another processor to run on they would wait until the leader sleeps:
		// goroutines whose calls have ended, that were woken, or that want the lock.
		if woke || ep.wait.woken.Load() > 0 || ep.wait.contend.Load() > 0 {
			runtime.Gosched()
		}
		if i%64 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if i < spins {
			continue
		}
		if !armed && ctx.Done() != nil {
			armed, stop = true, context.AfterFunc(ctx, ep.wait.ring)
		}
		if ep.nap(over) {
			i = 0 // something happened: more is likely
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// nap sleeps as long as may be, and answers whether there is something to do.
func (ep *Endpoint) nap(over func() bool) bool {
	armed, came := ep.arm()
	if !armed {
		return ep.sleep(ep.wait.nap, over)
	}
	defer ep.disarm()
	return came || ep.sleep(ep.bells.nap, over)
}

// arm says that the endpoint sleeps, if peers can wake it, and answers whether something
// has come before that.
func (ep *Endpoint) arm() (armed, came bool) {
	ep.mu.Lock()
	defer ep.unlock()
	if ep.closed.Load() || !ep.belled() {
		return false, false
	}
	ep.bells.own.Arm()
	return true, ep.came()
}

// came looks once more at the rails without a descriptor, under the lock.
func (ep *Endpoint) came() bool {
	before := ep.arrivals
	n := ep.core.Progress(ep.wait.polled)
	ep.settle()
	return n > 0 || ep.arrivals != before
}

// disarm says that the endpoint is awake.
func (ep *Endpoint) disarm() {
	ep.mu.Lock()
	defer ep.unlock()
	if !ep.closed.Load() {
		ep.bells.own.Disarm()
		ep.bells.own.Drain()
	}
}

// sleep waits for a rail to have something to do, for at most nap, and answers
// whether it has, or somebody rang.
func (ep *Endpoint) sleep(nap time.Duration, over func() bool) bool {
	ep.wait.sleeping.Store(true)
	defer ep.wait.sleeping.Store(false)
	ep.mu.Lock()
	ready := ep.closed.Load() || !ep.core.TryWait()
	ep.mu.Unlock()
	if ready || over() {
		return true
	}
	ts := unix.NsecToTimespec(int64(nap))
	if n, err := unix.Ppoll(ep.wait.fds, &ts, nil); err != nil || n == 0 {
		return false
	}
	if ep.wait.fds[0].Revents != 0 {
		var b [8]byte
		_, _ = unix.Read(ep.wait.wakeFD, b[:])
	}
	if ep.wait.fds[1].Revents != 0 {
		ep.lookForDead()
	}
	return true
}

func (ep *Endpoint) lookForDead() {
	ep.mu.Lock()
	defer ep.unlock()
	if !ep.closed.Load() {
		ep.buryDead()
	}
}

// Wait is Read that waits for a completion (fi_cq_sread(3)). It ends with EAGAIN
// after Signal, and with the context's error.
//
// While it waits it drives all rails: it spins for a moment, then sleeps on the rails'
// descriptors, for at most 10 ms at a time, which bounds what a provider forgets to
// signal. shm has no descriptor: local peers that are endpoints of this package wake the
// sleeper, which looks by itself every 5 ms; while a local peer is something else, as C
// LNX, or a transfer is under way, it looks every 250 µs.
func (q *CQ) Wait(ctx context.Context, entries []Entry) (int, error) {
	if h := q.ep.hooks; h != nil && h.waits {
		return h.wait(ctx, entries)
	}
	return q.wait(ctx, entries)
}

func (q *CQ) wait(ctx context.Context, entries []Entry) (int, error) {
	ep := q.ep
	n, err := q.read(entries)
	if err != fierr.Again {
		return n, err
	}
	x := &waiter{ch: make(chan struct{}, 1), cq: true}
	signals := q.seen()
	for {
		err := ep.await(ctx, x, func() bool { return q.ready() || q.seen() != signals })
		n, readErr := q.read(entries)
		if readErr != fierr.Again {
			return n, readErr
		}
		if err != nil {
			return 0, err
		}
		if q.seen() != signals {
			return 0, fierr.Again
		}
	}
}

// Signal ends the calls of Wait that are waiting now (fi_cq_signal(3)).
func (q *CQ) Signal() {
	w := &q.ep.wait
	w.mu.Lock()
	w.signals++
	w.mu.Unlock()
	if !q.ep.closed.Load() {
		w.wakeAll()
	}
}

func (q *CQ) seen() uint64 {
	q.ep.wait.mu.Lock()
	defer q.ep.wait.mu.Unlock()
	return q.ep.wait.signals
}

func (q *CQ) ready() bool {
	q.ep.lock()
	defer q.ep.unlock()
	return q.head != q.tail
}
