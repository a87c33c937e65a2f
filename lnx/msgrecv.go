package lnx

import (
	"fmt"
	"iter"

	"golnx/providers"
	"golnx/providers/fierr"
	"golnx/rail/intercept"
	"golnx/srq"
	"golnx/suq"
)

// msgQueues are the queues of untagged messages. Their tag is 0, so that only sources
// are compared.
type msgQueues struct {
	srq *srq.Queue
	suq *suq.Queue
	// released are multi-receives that no completion of a message releases.
	released []*multiRecv
	free     []*multiRecv
	one      [1][]byte // scratch
	iov      [1]providers.IOVec
}

// queued answers the queue that an unexpected message is in.
func (ep *Endpoint) queued(op *rxOp) *suq.Queue {
	if op.msg {
		return ep.msgs.suq
	}
	return ep.suq
}

// unpost takes a receive out of its queue.
func (ep *Endpoint) unpost(slot providers.Slot, op *rxOp) {
	if op.msg {
		ep.msgs.srq.Cancel(slot)
	} else {
		ep.posted.Cancel(slot)
	}
}

// allPosted iterates over the posted receives, tagged ones first. The loop may cancel
// the one that it was given.
func (ep *Endpoint) allPosted() iter.Seq[providers.Slot] {
	return func(yield func(providers.Slot) bool) {
		more := true
		for slot := range ep.posted.All() {
			if more = yield(slot); !more {
				return
			}
		}
		ep.msgs.srq.All()(yield)
	}
}

// receiveMsg does what the flags say, under the lock.
func (ep *Endpoint) receiveMsg(o intercept.Op, m *Msg, flags Flags) error {
	quiet := flags&FlagCompletion == 0
	switch flags &^ FlagCompletion {
	case 0:
		return ep.postMsg(o, m.IOV, m.Addr, m.Context, quiet)
	case FlagMultiRecv:
		return ep.postMulti(o, m, quiet)
	}
	return fmt.Errorf("MRecvMsg: %v are not for untagged receives: %w", flags, fierr.EBadFlags)
}

// postMsg takes an unexpected message or posts the receive.
func (ep *Endpoint) postMsg(o intercept.Op, iov [][]byte, from Addr, opContext any, quiet bool) error {
	if err := ep.checkRecv(o, iov, from); err != nil {
		return err
	}
	ep.settle()
	if slot, ok := ep.msgs.suq.Match(uint64(from), 0, 0); ok {
		op := ep.rx.at(slot)
		op.ctx, op.quiet = opContext, quiet
		ep.give(slot, op, iov)
		return nil
	}
	slot, err := ep.allocPosted(from)
	if err != nil {
		return err
	}
	ep.describePosted(slot, iov, from, opContext, quiet)
	op := ep.rx.at(slot)
	op.tag, op.msg = 0, true
	ep.msgs.srq.Post(slot, uint64(from), 0, 0)
	return nil
}

// MatchMsg implements providers.Owner.
func (o *owner) MatchMsg(r int, src, size uint64) (providers.Slot, bool) {
	ep := (*Endpoint)(o)
	if size == 0 && ep.isProbe(r, src) {
		return ep.stray(r), true
	}
	from := ep.arrived(r, src)
	if slot, ok := ep.takeMsg(from, size); ok {
		ep.met(slot, r, from, size)
		return slot, true
	}
	return ep.unexpected(r, from, size, 0, true), false
}

// stray answers a slot that a message is dropped into.
func (ep *Endpoint) stray(r int) providers.Slot {
	slot, err := ep.core.AllocRx(true)
	if err != nil {
		panic("lnx: out of memory for a probe")
	}
	op := ep.rx.at(slot)
	op.state, op.rail, op.msg = rxStray, int8(r), true
	ep.core.SetBuffers(slot, nil)
	ep.active++
	return slot
}

// takeMsg answers where a message goes: the oldest receive for it, or a place in its
// buffer.
func (ep *Endpoint) takeMsg(from Addr, size uint64) (providers.Slot, bool) {
	for {
		slot, ok := ep.msgs.srq.Find(uint64(from), 0)
		if !ok {
			return 0, false
		}
		m := ep.rx.at(slot).multi
		if m == nil {
			ep.msgs.srq.Cancel(slot)
			return slot, true
		}
		if off, n, ok := ep.reserve(m, size); ok {
			return ep.newPiece(m, off, n), true
		}
	}
}
