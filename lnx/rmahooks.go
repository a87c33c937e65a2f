package lnx

import (
	"fmt"
	"math"

	"golnx/providers/fierr"
	"golnx/rail/intercept"
)

// handOverRMA hands the scratch operation over through the hooks of the rail, as
// handOver does a send.
func (h *hooked) handOverRMA(p *path, op *txOp, o intercept.Op, iov [][]byte, flags Flags) (replaced, provider bool, err error) {
	chain, s := h.rails[p.rail], h.ep.rma
	t := h.track(op.ctx, p.rail)
	t.quiet = op.quiet
	op.ctx = t
	for i := range s.op.RemoteCount {
		s.seen[i] = intercept.RemoteIOV(s.op.Remote[i])
	}
	h.rma = intercept.RMA{
		Op: o, To: p.remote, IOV: iov, Remote: s.seen[:s.op.RemoteCount], Data: s.op.Data, Flags: uint64(flags), Context: t.user,
	}
	h.sending = tracking{tracked: t, op: op}
	f := chain.RMA[o]
	if f == nil {
		f = h.rmaBase
	}
	err = f(&h.rma)
	provider = err != nil && err == h.sending.refused
	switch {
	case t.handed:
		t.failed, err = err, nil
	case err == nil:
		t.seen, replaced = h.rma.Context, true
	default:
		op.ctx = nil
		h.untrack(t)
	}
	h.rma.IOV, h.rma.Remote, h.rma.Context, h.sending = nil, nil, nil, tracking{}
	return replaced, provider, err
}

// rmaBase is what the last hook of a read or write calls.
func (h *hooked) rmaBase(c *intercept.RMA) error {
	ep, s := h.ep, &h.sending
	if s.tracked == nil {
		return fmt.Errorf("next of %v was called after its hook had returned: %w", c.Op, fierr.EOpBadState)
	}
	if s.handed {
		return fmt.Errorf("next of %v was called again after it had succeeded: %w", c.Op, fierr.EOpBadState)
	}
	size, err := ep.setLocal(c.Op, c.IOV, Flags(c.Flags))
	if err != nil {
		return err
	}
	if n := len(c.Remote); n < 1 || n > ep.link.Info.RMAIOVLimit {
		return fmt.Errorf("%s: %d remote ranges, this link takes 1 to %d: %w", callName(c.Op), n, ep.link.Info.RMAIOVLimit, fierr.EInval)
	}
	op, total := &ep.rma.op, uint64(0)
	op.RemoteCount = len(c.Remote)
	for i, r := range c.Remote {
		op.Remote[i].Addr, op.Remote[i].Len, op.Remote[i].Key = r.Addr, r.Len, r.Key
		total += min(r.Len, math.MaxUint64-total)
	}
	if total != size {
		return fmt.Errorf("%s: %d bytes here and %d there: %w", callName(c.Op), size, total, fierr.EInval)
	}
	s.op.len, op.Data = size, c.Data
	s.seen = c.Context
	r := int(s.op.rail)
	if err := ep.handOverRMA(r, ep.peerOf(s.op.to), s.op, c.IOV, Flags(c.Flags)); err != nil {
		s.refused = err
		return err
	}
	s.handed = true
	return nil
}
