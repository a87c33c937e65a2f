package lnx

import (
	"fmt"
	"math"

	"golnx/providers"
	"golnx/providers/fierr"
	"golnx/rail/intercept"
)

// handOverRMA hands the scratch operation over through the hooks of the rail, as
// handOver does a send.
func (h *hooked) handOverRMA(p *path, op *txOp, o intercept.Op, iov [][]byte, flags Flags) handing {
	chain, s := h.rails[p.rail], h.ep.rma
	f := chain.RMA[o]
	if f == nil {
		if chain.Complete == nil { // nobody asks
			return unhooked(h.ep.handOverRMA(p.rail, op.peer, op, iov, flags))
		}
		f = h.rmaBase
	}
	c, user := &h.rma, h.enter(p, s.op.Slot, op, flags)
	c.Op, c.To, c.IOV, c.Data, c.Flags, c.Context = o, op.peer.remote(p), iov, s.op.Data, uint64(flags), user
	c.Remote = rangesForHooks(&s.seen, &s.op.Remote, s.op.RemoteCount)
	h.under.inside++
	err := f(c)
	h.under.inside--
	out := h.leave(c.Context, err)
	c.IOV, c.Remote, c.Context = nil, nil, nil
	return out
}

// rmaBase is what the last hook of a read or write calls.
func (h *hooked) rmaBase(c *intercept.RMA) error {
	ep, s := h.ep, &h.sending
	if err := s.tracked.handable(c.Op); err != nil {
		return err
	}
	size, err := ep.setLocal(c.Op, c.IOV, Flags(c.Flags))
	if err != nil {
		return err
	}
	op := &ep.rma.op
	if op.RemoteCount, err = ep.rangesOfHooks(c.Op, &op.Remote, c.Remote, size); err != nil {
		return err
	}
	s.op.len, op.Data = size, c.Data
	return s.answered(c.Context, ep.handOverRMA(int(s.op.rail), s.op.peer, s.op, c.IOV, Flags(c.Flags)))
}

// rangesForHooks shows the remote side of an operation to hooks.
func rangesForHooks(to *[providers.MaxIOV]intercept.RemoteIOV, from *[providers.MaxIOV]providers.RMAIOV, n int) []intercept.RemoteIOV {
	for i := range n {
		to[i] = intercept.RemoteIOV(from[i])
	}
	return to[:n]
}

// rangesOfHooks takes over what hooks made of it.
func (ep *Endpoint) rangesOfHooks(o intercept.Op, to *[providers.MaxIOV]providers.RMAIOV, from []intercept.RemoteIOV, size uint64) (int, error) {
	if n := len(from); n < 1 || n > ep.link.Info.RMAIOVLimit {
		return 0, fmt.Errorf("%s: %d remote ranges, this link takes 1 to %d: %w", callName(o), n, ep.link.Info.RMAIOVLimit, fierr.EInval)
	}
	total := uint64(0)
	for i, r := range from {
		to[i].Addr, to[i].Len, to[i].Key = r.Addr, r.Len, r.Key
		total += min(r.Len, math.MaxUint64-total)
	}
	if total != size {
		return 0, fmt.Errorf("%s: %d bytes here and %d there: %w", callName(o), size, total, fierr.EInval)
	}
	return len(from), nil
}
