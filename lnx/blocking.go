package lnx

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golnx/providers"
	"golnx/providers/fierr"
	"golnx/rail/intercept"
)

// RecvInfo says what Recv received.
type RecvInfo struct {
	Len  int    // bytes in the buffer
	Tag  uint64 // of the message
	From Addr   // AddrUnspec if the sender is not in the AV
	// Data came with the message if HasData.
	Data    uint64
	HasData bool
}

// Future is an operation under way, of SendAsync or RecvAsync.
type Future struct{ c *call }

// call is the context of a blocking or future-style operation.
type call struct {
	waiter
	ep    *Endpoint
	slot  providers.Slot // of a posted receive
	over  atomic.Bool
	entry Entry
	err   error
	// of an atomic operation on one element
	operand, compare, result value
}

var calls = sync.Pool{New: func() any { return &call{waiter: waiter{ch: make(chan struct{}, 1)}} }}

func newCall(ep *Endpoint) *call {
	c := calls.Get().(*call)
	c.ep = ep
	return c
}

// free gives a call back whose operation has ended.
func (c *call) free() {
	select {
	case <-c.ch:
	default:
	}
	c.ep, c.entry, c.err = nil, Entry{}, nil
	c.over.Store(false)
	calls.Put(c)
}

// finish is called once, under the progress lock or by Close.
func (c *call) finish(e Entry, err error) {
	c.entry, c.err = e, err
	w := &c.ep.wait // c can be another's as soon as it is over
	w.ended++
	c.over.Store(true)
	c.signal()
	w.kick() // the waiter may be the leader, asleep
}

func (c *call) info() RecvInfo {
	return RecvInfo{
		Len: c.entry.Len, Tag: c.entry.Tag, From: c.entry.Src,
		Data: c.entry.Data, HasData: c.entry.Flags&FlagRemoteCQData != 0,
	}
}

// InFlightError is Send's answer when its context ended while the provider held
// the buffer: the message may still arrive, and the buffer must not be touched
// before Future has ended.
type InFlightError struct {
	Future *Future
	Err    error // the context's
}

func (e *InFlightError) Error() string {
	return fmt.Sprintf("operation is still under way, and so is its buffer: %v", e.Err)
}

// Unwrap answers the context's error.
func (e *InFlightError) Unwrap() error { return e.Err }

// Send sends buf and returns when the buffer is the caller's again. It waits
// while the rail takes no message (EAGAIN). When ctx ends before the message was
// handed over, nothing was sent; after that the error is an *InFlightError.
func (ep *Endpoint) Send(ctx context.Context, to Addr, tag uint64, buf []byte) error {
	return ep.sendCall(ctx, intercept.OpTSend, to, tag, buf)
}

func (ep *Endpoint) sendCall(ctx context.Context, o intercept.Op, to Addr, tag uint64, buf []byte) error {
	c, err := ep.startSend(ctx, o, to, tag, buf)
	if err != nil {
		return err
	}
	if err := ep.await(ctx, &c.waiter, c.over.Load); err != nil && !c.over.Load() {
		return &InFlightError{&Future{c}, fmt.Errorf("%s: %w", what(o, "Send to peer", to, tag), err)}
	}
	err = c.err
	c.free()
	return err
}

// SendAsync starts a send, waiting only while the rail takes no message.
func (ep *Endpoint) SendAsync(ctx context.Context, to Addr, tag uint64, buf []byte) (*Future, error) {
	c, err := ep.startSend(ctx, intercept.OpTSend, to, tag, buf)
	if err != nil {
		return nil, err
	}
	return &Future{c}, nil
}

func (ep *Endpoint) startSend(ctx context.Context, o intercept.Op, to Addr, tag uint64, buf []byte) (*call, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := newCall(ep)
	for try := 0; ; try++ {
		err := ep.tsend1(o, buf, to, tag, 0, 0, c, false)
		if err == nil {
			return c, nil
		}
		if err == fierr.Again {
			if err = ep.pause(ctx, try); err != nil {
				err = fmt.Errorf("%s, which takes nothing: %w", what(o, "Send to peer", to, tag), err)
			}
		}
		if err != nil {
			c.free()
			return nil, err
		}
	}
}

// Recv receives the oldest matching message (see TRecv) into buf. When ctx ends
// first the receive is taken back and buf is the caller's; if a message is
// already on its way into buf, Recv waits for it and returns it. A message longer
// than buf fills it, and the error is ETRUNC.
func (ep *Endpoint) Recv(ctx context.Context, from Addr, tag, ignore uint64, buf []byte) (RecvInfo, error) {
	return ep.recvCall(ctx, intercept.OpTRecv, from, tag, ignore, buf)
}

func (ep *Endpoint) recvCall(ctx context.Context, o intercept.Op, from Addr, tag, ignore uint64, buf []byte) (RecvInfo, error) {
	c, err := ep.startRecvCall(ctx, o, from, tag, ignore, buf)
	if err != nil {
		return RecvInfo{}, err
	}
	if err := ep.await(ctx, &c.waiter, c.over.Load); err != nil {
		if err = ep.withdraw(c, err); err != nil {
			return RecvInfo{}, fmt.Errorf("%s: %w", what(o, "Recv from", from, tag), err)
		}
	}
	info, err := c.info(), c.err
	c.free()
	return info, err
}

// RecvAsync posts a receive, waiting only while the limit is reached.
func (ep *Endpoint) RecvAsync(ctx context.Context, from Addr, tag, ignore uint64, buf []byte) (*Future, error) {
	c, err := ep.startRecvCall(ctx, intercept.OpTRecv, from, tag, ignore, buf)
	if err != nil {
		return nil, err
	}
	return &Future{c}, nil
}

func (ep *Endpoint) startRecvCall(ctx context.Context, o intercept.Op, from Addr, tag, ignore uint64, buf []byte) (*call, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := newCall(ep)
	for try := 0; ; try++ {
		err := ep.recv1(o, buf, from, tag, ignore, c)
		if err == nil {
			return c, nil
		}
		if err == fierr.Again {
			err = ep.pause(ctx, try)
		}
		if err != nil {
			c.free()
			return nil, err
		}
	}
}

// what describes a call, for errors.
func what(o intercept.Op, call string, peer Addr, tag uint64) string {
	if untagged(o) {
		return fmt.Sprintf("untagged %s %v", call, peer)
	}
	return fmt.Sprintf("%s %v with tag %#x", call, peer, tag)
}

// withdraw takes a posted receive back after its context ended. A receive that a
// message has met is waited for: its provider writes into the buffer.
func (ep *Endpoint) withdraw(c *call, why error) error {
	back, asked := ep.recall(c)
	if !back {
		ep.waitFor(c)
	}
	if back || asked && isCanceled(c.err) {
		c.free()
		return why
	}
	return nil
}

// recall takes the posted receive of a call back, or in direct mode asks for it.
func (ep *Endpoint) recall(c *call) (back, asked bool) {
	ep.lock()
	defer ep.unlock()
	op := ep.waiting(c)
	switch {
	case op == nil:
		return false, false
	case ep.direct.core != nil:
		_ = ep.takeBack(c.slot, op, fierr.ECanceled) // then it is waited for
		return false, true
	}
	ep.unpost(c.slot, op)
	op.pin.Unpin()
	opContext := op.ctx
	*op = rxOp{}
	ep.core.ReleaseRx(c.slot)
	ep.hooks.withdrawn(opContext)
	return true, false
}

// waitFor waits for the end of a call, whatever await says: the buffer is not the
// caller's yet.
func (ep *Endpoint) waitFor(c *call) {
	for !c.over.Load() {
		_ = ep.await(context.Background(), &c.waiter, c.over.Load)
	}
}

// waiting answers the receive of a call that waits for a message, under the lock.
// The slot may be another's by now.
func (ep *Endpoint) waiting(c *call) *rxOp {
	if ep.closed.Load() || c.over.Load() {
		return nil
	}
	ep.settle()
	op := ep.rx.at(c.slot)
	if ep.user(op.ctx) != any(c) || op.state != rxPosted {
		return nil
	}
	return op
}

// pause makes progress between two tries. Where somebody else does, it stays out of the
// way.
func (ep *Endpoint) pause(ctx context.Context, try int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if try < 100 {
		runtime.Gosched()
		return nil
	}
	if !ep.wait.lead.TryLock() {
		time.Sleep(napPolled / 4)
		return nil
	}
	defer ep.wait.stepDown()
	ep.sleep(napPolled, func() bool { return ctx.Err() != nil })
	return ctx.Err()
}

// Done tells whether the operation has ended. It does not drive the rails.
func (f *Future) Done() bool { return f.c.over.Load() }

// Wait waits for the end of the operation; the info is that of a receive. When
// ctx ends first the operation goes on, and Wait can be called again. One
// goroutine at a time may wait for a future.
func (f *Future) Wait(ctx context.Context) (RecvInfo, error) {
	if err := f.c.ep.await(ctx, &f.c.waiter, f.c.over.Load); err != nil && !f.c.over.Load() {
		return RecvInfo{}, err
	}
	return f.c.info(), f.c.err
}

// Cancel takes a posted receive back: the future ends with ECANCELED. It answers
// false if the operation has ended, is a send, or is met by a message already.
func (f *Future) Cancel() bool {
	ep := f.c.ep
	ep.lock()
	defer ep.unlock()
	if ep.waiting(f.c) == nil {
		return false
	}
	if ep.direct.core != nil {
		return ep.cancelCall(f.c)
	}
	ep.cancel(f.c.slot, fierr.ECanceled)
	return true
}
