package lnx

import (
	"fmt"

	"golnx/providers"
	"golnx/providers/fierr"
)

// Receives in direct mode: posting, taking back, and their end.

// postDirect is the rest of post.
func (ep *Endpoint) postDirect(iov [][]byte, from Addr, tag, ignore uint64, opContext any, quiet bool) error {
	src, err := ep.sourceOf(from)
	if err != nil {
		return err
	}
	if ep.direct.posted >= ep.set.MaxPosted {
		return fierr.Again
	}
	slot, err := ep.core.AllocRx(false)
	if err != nil {
		return err
	}
	op := ep.rx.at(slot)
	op.ctx, op.quiet, op.from, op.tag, op.state, op.rail = opContext, quiet, from, tag, rxPosted, -1
	if err := ep.handRecv(slot, op, iov, src, tag, ignore, 0); err != nil {
		ep.releaseDirect(slot, op)
		return err
	}
	if c, ok := ep.user(opContext).(*call); ok {
		c.slot = slot
	}
	if from != AddrUnspec && ep.peerOf(from).err != nil { // it has sent all that it will
		return ep.takeBack(slot, op, fierr.EHostDown)
	}
	return nil
}

// sourceOf answers the rail address of a sender, or why it cannot be named any more.
func (ep *Endpoint) sourceOf(from Addr) (uint64, error) {
	if from == AddrUnspec {
		return providers.NoAddr, nil
	}
	state := ep.peerOf(from)
	if len(state.paths) == 0 { // it has closed, in this process
		return 0, state.err
	}
	return state.paths[0].addr, nil
}

// handRecv gives a receive to the provider. After an error its buffers are free.
func (ep *Endpoint) handRecv(slot providers.Slot, op *rxOp, iov [][]byte, src, tag, ignore, flags uint64) error {
	ep.setBuffers(slot, op, iov)
	size := uint64(0)
	for _, b := range iov {
		size += uint64(len(b))
	}
	if err := ep.direct.core.PostRecv(slot, src, tag, ignore, flags); err != nil {
		op.pin.Unpin()
		op.buf = nil
		return ep.refusedRecv(err)
	}
	ep.direct.age++
	op.age = ep.direct.age
	ep.direct.posted++
	if op.big = size > ep.inject[0]; op.big {
		ep.active++ // a transfer that takes several steps may fill it
	}
	ep.poll.busy(0)
	return nil
}

// refusedRecv explains the provider's no to a receive.
func (ep *Endpoint) refusedRecv(err error) error {
	if err == fierr.Again {
		ep.progress(1)
		return err
	}
	ep.stats[0].Error()
	return fmt.Errorf("receive over %s: %w", ep.link.Rails[0].Name(), err)
}

func (ep *Endpoint) releaseDirect(slot providers.Slot, op *rxOp) {
	op.ctx, op.buf, op.state, op.why, op.big = nil, nil, rxFree, 0, false
	ep.core.ReleaseRx(slot)
}

// takeBack asks for a receive, which completes with why if no message has met it.
func (ep *Endpoint) takeBack(slot providers.Slot, op *rxOp, why fierr.Errno) error {
	op.why = why
	if err := ep.direct.core.CancelRecv(slot); err != nil {
		op.why = 0
		return fmt.Errorf("cancel over %s: %w", ep.link.Rails[0].Name(), err)
	}
	return nil
}

// takeBackFrom does so with the receives that only one peer can meet.
func (ep *Endpoint) takeBackFrom(addr Addr, why fierr.Errno) {
	ep.rx.all(func(slot providers.Slot, op *rxOp) {
		if op.state == rxPosted && op.from == addr && op.why == 0 {
			_ = ep.takeBack(slot, op, why) // then it stays, as one that a message has met
		}
	})
}

// failDirect is failRecvs: it fails the receives from a peer that has ended. Those
// that the provider does not give back over shm a transfer had begun to fill.
func (ep *Endpoint) failDirect(addr Addr) {
	ep.takeBackFrom(addr, fierr.EHostDown)
	ep.takeIn()
	if !ep.link.Rails[0].NodeLocal {
		return
	}
	ep.rx.all(func(slot providers.Slot, op *rxOp) {
		if op.state == rxPosted && op.from == addr {
			ep.failRx(op, fierr.EHostDown)
			op.state = rxAbandoned
			if op.big {
				op.big = false
				ep.active--
			}
		}
	})
}

// cancelDirect is Cancel, of the oldest receive with a context.
func (ep *Endpoint) cancelDirect(opContext any) error {
	ep.takeAll() // what has come cannot be canceled
	found, oldest := providers.Slot(0), (*rxOp)(nil)
	ep.rx.all(func(slot providers.Slot, op *rxOp) {
		if op.state == rxPosted && op.why == 0 && (oldest == nil || op.age < oldest.age) && same(ep.user(op.ctx), opContext) {
			found, oldest = slot, op
		}
	})
	if oldest == nil {
		return fmt.Errorf("Cancel: no receive with this Context is posted: %w", fierr.ENoEnt)
	}
	return ep.takeBack(found, oldest, fierr.ECanceled)
}

// cancelCall is Future.Cancel: whether the provider gave the receive back at once.
func (ep *Endpoint) cancelCall(c *call) bool {
	if op := ep.rx.at(c.slot); op.why != 0 || ep.takeBack(c.slot, op, fierr.ECanceled) != nil {
		return false
	}
	ep.takeAll()
	return c.over.Load() && isCanceled(c.err)
}

func isCanceled(err error) bool {
	e, ok := err.(*ErrEntry)
	return ok && e.Err == fierr.ECanceled
}

// matched deals with the end of a receive that the provider had.
func (ep *Endpoint) matched(c *providers.Completion, op *rxOp) {
	r, state, code := int(c.Rail), op.state, fierr.Errno(c.Err)
	switch state {
	case rxPeeking, rxClaiming, rxDropping:
		ep.peeked(c, op)
		return
	case rxPosted, rxDropped, rxStray, rxAbandoned:
	default:
		ep.stats[r].Error() // completed twice
		return
	}
	arrived := code == 0 || code == fierr.ETrunc
	if arrived {
		ep.arrived(r, c.Src)
		ep.stats[r].Expected(c.Len + c.Olen)
	}
	if len(op.buf) > 0 && state == rxPosted && arrived {
		copy(op.buf, ep.core.Small(c.Slot)[:min(c.Len, providers.SmallRecv)])
	}
	op.pin.Unpin()
	ep.direct.posted--
	if op.big {
		ep.active--
	}
	ctx, quiet, from, tag, why := op.ctx, op.quiet, ep.sentBy(c, op.from), op.tag, op.why
	ep.releaseDirect(c.Slot, op)
	if c.Len > ep.inject[r] && ep.wait.polled&(1<<r) != 0 {
		ep.ring(from) // its sender waits to hear that it has arrived
	}
	if state == rxStray || state == rxAbandoned {
		return
	}
	entry := asEntry(c, ctx, from)
	if state == rxDropped {
		ep.peeking(true)
		defer ep.peeking(false)
		if code == fierr.ETrunc {
			entry.Len, code = int(c.Len+c.Olen), 0
		}
	}
	switch {
	case code == 0:
		ep.finish(r, &entry, quiet)
	case code == fierr.ECanceled && why != 0:
		ep.fail(-1, ErrEntry{Entry: Entry{Context: ctx, Flags: FlagTagged | FlagRecv, Tag: tag, Src: from}, Err: why})
	case code == fierr.ETrunc:
		ep.fail(r, ErrEntry{Entry: entry, Err: code, Olen: int(c.Olen), ProvErrno: int(c.ProvErrno)})
	default:
		ep.stats[r].Error()
		ep.fail(r, ErrEntry{
			Entry: Entry{Context: ctx, Flags: FlagTagged | FlagRecv, Tag: tag, Src: from},
			Err:   code, ProvErrno: int(c.ProvErrno),
		})
	}
}

// sentBy answers who sent a message, to a receive from somebody in particular also
// where the provider does not tell.
func (ep *Endpoint) sentBy(c *providers.Completion, asked Addr) Addr {
	if from := ep.senderOf(int(c.Rail), c.Src); from != nil {
		return from.named
	}
	return asked
}
