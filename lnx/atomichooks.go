package lnx

import (
	"fmt"
	"math"

	"golnx/providers/fierr"
	"golnx/rail/intercept"
)

// handOverAtomic hands the scratch operation over through the hooks of the rail, as
// handOver does a send.
func (h *hooked) handOverAtomic(p *path, op *txOp, o intercept.Op, a *atomicArgs) (replaced, provider bool, err error) {
	chain, s := h.rails[p.rail], &h.ep.atomics
	t := h.track(op.ctx, p.rail)
	t.quiet = op.quiet
	op.ctx = t
	for i := range s.call.RemoteCount {
		s.seen[i] = intercept.RemoteIOV(s.call.Remote[i])
	}
	h.atomic = intercept.Atomic{
		Op: o, To: p.remote, Do: a.op, Type: a.typ, Operands: a.operands, Compare: a.compare, Result: a.result,
		Remote: s.seen[:s.call.RemoteCount], Flags: uint64(a.flags), Context: t.user,
	}
	h.sending = tracking{tracked: t, op: op}
	h.delivered, h.readable = a.delivered, a.readable
	f := chain.Atomic[o]
	if f == nil {
		f = h.atomicBase
	}
	err = f(&h.atomic)
	provider = err != nil && err == h.sending.refused
	switch {
	case t.handed:
		t.failed, err = err, nil
	case err == nil:
		t.seen, replaced = h.atomic.Context, true
	default:
		op.ctx = nil
		h.untrack(t)
	}
	h.atomic, h.sending = intercept.Atomic{}, tracking{}
	return replaced, provider, err
}

// atomicBase is what the last hook of an atomic operation calls.
func (h *hooked) atomicBase(c *intercept.Atomic) error {
	ep, s := h.ep, &h.sending
	if s.tracked == nil {
		return fmt.Errorf("next of %v was called after its hook had returned: %w", c.Op, fierr.EOpBadState)
	}
	if s.handed {
		return fmt.Errorf("next of %v was called again after it had succeeded: %w", c.Op, fierr.EOpBadState)
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
	if n := len(c.Remote); n < 1 || n > ep.link.Info.RMAIOVLimit || size/uint64(a.typ.Size()) > uint64(limit) {
		return fmt.Errorf("%s: %d remote ranges of %d bytes: this link takes 1 to %d, and %d elements: %w", callName(c.Op), n, size, ep.link.Info.RMAIOVLimit, limit, fierr.EInval)
	}
	call, total := &ep.atomics.call, uint64(0)
	call.RemoteCount = len(c.Remote)
	for i, r := range c.Remote {
		call.Remote[i].Addr, call.Remote[i].Len, call.Remote[i].Key = r.Addr, r.Len, r.Key
		total += min(r.Len, math.MaxUint64-total)
	}
	if total != size {
		return fmt.Errorf("%s: %d bytes here and %d there: %w", callName(c.Op), size, total, fierr.EInval)
	}
	call.Kind, call.Op, call.Type = kind, a.op, a.typ
	s.op.len = size
	s.seen = c.Context
	if err := ep.handOverAtomic(int(s.op.rail), ep.peerOf(s.op.to), s.op, &a); err != nil {
		s.refused = err
		return err
	}
	s.handed = true
	return nil
}
