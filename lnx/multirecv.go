package lnx

import (
	"fmt"
	"slices"

	"golnx/providers"
	"golnx/providers/fierr"
	"golnx/rail/intercept"
)

// multiRecv is a receive with FlagMultiRecv. Its op keeps the buffer, which is pinned,
// until the release. A message that goes into it has a slot of its own, and a part of
// the buffer that no other message gets.
type multiRecv struct {
	slot  providers.Slot // of the receive
	off   int            // where the next message goes
	under int            // messages on their way into the buffer
	over  bool           // no further message goes into it
}

// postMulti gives a buffer to the unexpected messages that fit, and to those to come.
func (ep *Endpoint) postMulti(o intercept.Op, msg *Msg, quiet bool) error {
	if err := ep.checkRecv(o, msg.IOV, msg.Addr); err != nil {
		return err
	}
	if len(msg.IOV) != 1 || len(msg.IOV[0]) == 0 {
		return fmt.Errorf("MRecvMsg: FlagMultiRecv needs one buffer that is not empty: %w", fierr.EInval)
	}
	ep.settle()
	dead := ep.canHear(msg.Addr)
	if _, waits := ep.msgs.suq.Peek(uint64(msg.Addr), 0, 0); dead != nil && !waits {
		return dead
	}
	if ep.posted.Len()+ep.msgs.srq.Len() >= ep.set.MaxPosted {
		return fierr.Again
	}
	slot, err := ep.core.AllocRx(false)
	if err != nil {
		return err
	}
	m := ep.newMulti(slot)
	op := ep.rx.at(slot)
	op.ctx, op.quiet, op.from, op.tag, op.state, op.rail, op.msg = msg.Context, quiet, msg.Addr, 0, rxPosted, -1, true
	op.buf, op.multi = msg.IOV[0], m
	pinSlice(&op.pin, op.buf)
	ep.takeWaiting(m, op)
	if op.multi != m {
		return nil // the last message has released it
	}
	m.over = m.over || dead != nil
	switch {
	case !m.over:
		ep.msgs.srq.Post(slot, uint64(op.from), 0, 0)
	case m.under == 0:
		ep.releaseMulti(m)
	}
	return nil
}

// takeWaiting gives the buffer to unexpected messages.
func (ep *Endpoint) takeWaiting(m *multiRecv, op *rxOp) {
	for !m.over {
		slot, ok := ep.msgs.suq.Peek(uint64(op.from), 0, 0)
		if !ok {
			return
		}
		off, n, ok := ep.reserve(m, ep.core.Unexpected(slot).Size)
		if !ok {
			return
		}
		ep.msgs.suq.Remove(slot)
		piece := ep.rx.at(slot)
		piece.ctx, piece.quiet, piece.multi, piece.off = op.ctx, op.quiet, m, off
		m.under++
		ep.msgs.one[0] = op.buf[off : off+n : off+n]
		ep.give(slot, piece, ep.msgs.one[:])
		ep.msgs.one[0] = nil
	}
}

func (ep *Endpoint) newMulti(slot providers.Slot) *multiRecv {
	n := len(ep.msgs.free)
	if n == 0 {
		return &multiRecv{slot: slot}
	}
	m := ep.msgs.free[n-1]
	ep.msgs.free = ep.msgs.free[:n-1]
	*m = multiRecv{slot: slot}
	return m
}

// reserve takes a part of the buffer for a message, or ends the receive if the message
// does not fit behind others.
func (ep *Endpoint) reserve(m *multiRecv, size uint64) (off, n int, ok bool) {
	left := len(ep.rx.at(m.slot).buf) - m.off
	fits := size <= uint64(left)
	if ok = fits || m.off == 0; ok {
		if n = left; fits {
			n = int(size)
		}
		off = m.off
		m.off += max(n, 1)
		left -= max(n, 1)
	}
	if !ok || uint64(left) < ep.minMultiRecv || left == 0 {
		m.over = true
		if ep.msgs.srq.Cancel(m.slot) && !ok && m.under == 0 {
			ep.msgs.released = append(ep.msgs.released, m)
		}
	}
	return off, n, ok
}

// newPiece answers a slot for a message that goes into the buffer.
func (ep *Endpoint) newPiece(m *multiRecv, off, n int) providers.Slot {
	slot, err := ep.core.AllocRx(true)
	if err != nil {
		panic("lnx: out of memory for a multi-receive")
	}
	whole, op := ep.rx.at(m.slot), ep.rx.at(slot)
	op.ctx, op.quiet, op.tag, op.msg, op.multi, op.off = whole.ctx, whole.quiet, 0, true, m, off
	m.under++
	ep.msgs.iov[0] = iovOf(whole.buf[off : off+n])
	ep.core.SetBuffers(slot, ep.msgs.iov[:])
	ep.msgs.iov[0] = providers.IOVec{}
	return slot
}

// endPiece completes the entry of a receive that has ended, if its message went into
// the buffer of a multi-receive. It answers whether a success has no completion.
func (ep *Endpoint) endPiece(op *rxOp, e *Entry) (quiet bool) {
	m := op.multi
	if m == nil {
		return op.quiet
	}
	e.Off, op.multi, op.off = op.off, nil, 0
	m.under--
	if !m.over || m.under > 0 {
		return op.quiet
	}
	e.Flags |= FlagMultiRecv
	ep.freeMulti(m)
	return false
}

// releaseMultis reports buffers that were used up by messages which have completed.
func (ep *Endpoint) releaseMultis() {
	for len(ep.msgs.released) > 0 {
		m := ep.msgs.released[0]
		ep.msgs.released = slices.Delete(ep.msgs.released, 0, 1)
		ep.releaseMulti(m)
	}
}

func (ep *Endpoint) releaseMulti(m *multiRecv) {
	ctx := ep.freeMulti(m)
	ep.finish(-1, &Entry{Context: ctx, Flags: FlagMultiRecv, Src: AddrUnspec}, false)
}

// cancelMulti fails a multi-receive that is posted.
func (ep *Endpoint) cancelMulti(m *multiRecv, why fierr.Errno) {
	ep.msgs.srq.Cancel(m.slot)
	m.over = true
	op := ep.rx.at(m.slot)
	e := ErrEntry{Entry: Entry{Context: op.ctx, Flags: FlagMsg | FlagRecv, Src: op.from}, Err: why}
	if m.under == 0 {
		e.Flags |= FlagMultiRecv
		ep.freeMulti(m)
	}
	ep.fail(-1, e)
}

// freeMulti gives the buffer back, and answers the receive's context.
func (ep *Endpoint) freeMulti(m *multiRecv) any {
	op := ep.rx.at(m.slot)
	op.pin.Unpin()
	ctx := op.ctx
	*op = rxOp{}
	ep.core.ReleaseRx(m.slot)
	ep.msgs.free = append(ep.msgs.free, m)
	return ctx
}
