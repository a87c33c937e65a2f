package lnx

import (
	"fmt"

	"golnx/providers/fierr"
	"golnx/rail/intercept"
)

// handOverAtomic hands the scratch operation over through the hooks of the rail, as
// handOver does a send.
func (h *hooked) handOverAtomic(p *path, op *txOp, o intercept.Op, a *atomicArgs) handing {
	chain, s := h.rails[p.rail], &h.ep.atomics
	f := chain.Atomic[o]
	if f == nil {
		if chain.Complete == nil { // nobody asks
			return unhooked(h.ep.handOverAtomic(p.rail, op.peer, op, a))
		}
		f = h.atomicBase
	}
	h.delivered, h.readable = a.delivered, a.readable
	user := h.enter(p, s.call.Slot, op, a.flags)
	h.atomic = intercept.Atomic{
		Op: o, To: op.peer.remote(p), Do: a.op, Type: a.typ, Operands: a.operands, Compare: a.compare, Result: a.result,
		Remote: rangesForHooks(&s.seen, &s.call.Remote, s.call.RemoteCount), Flags: uint64(a.flags), Context: user,
	}
	h.under.inside++
	err := f(&h.atomic)
	h.under.inside--
	out := h.leave(h.atomic.Context, err)
	h.atomic = intercept.Atomic{}
	return out
}

// atomicBase is what the last hook of an atomic operation calls.
func (h *hooked) atomicBase(c *intercept.Atomic) error {
	ep, s := h.ep, &h.sending
	if err := s.tracked.handable(c.Op); err != nil {
		return err
	}
	kind := kindOf(c.Op)
	a := atomicArgs{
		op: c.Do, typ: c.Type, operands: c.Operands, compare: c.Compare, result: c.Result, flags: Flags(c.Flags), delivered: h.delivered, readable: h.readable,
	}
	limit, err := ep.atomicCount(kind, a.op, a.typ)
	if err != nil {
		return fmt.Errorf("%s: %w", callName(c.Op), err)
	}
	size, err := ep.checkBuffers(c.Op, kind, &a)
	if err != nil {
		return err
	}
	if n := size / uint64(a.typ.Size()); n > uint64(limit) {
		return tooManyElements(c.Op, &a, n, limit)
	}
	call := &ep.atomics.call
	if call.RemoteCount, err = ep.rangesOfHooks(c.Op, &call.Remote, c.Remote, size); err != nil {
		return err
	}
	call.Kind, call.Op, call.Type = kind, a.op, a.typ
	s.op.len = size
	return s.answered(c.Context, ep.handOverAtomic(int(s.op.rail), s.op.peer, s.op, &a))
}

func tooManyElements(o intercept.Op, a *atomicArgs, n uint64, limit int) error {
	return fmt.Errorf("%s: %d elements: %v of %v takes at most %d at once on this link: %w", callName(o), n, a.op, a.typ, limit, fierr.EMsgSize)
}
