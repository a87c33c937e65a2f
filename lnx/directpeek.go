package lnx

import (
	"fmt"

	"golnx/providers"
	"golnx/providers/fierr"
)

// Peeks and claims in direct mode.

// peekDirect asks the provider about a message. A message to be dropped is claimed
// first and then received into nothing, since shm 2.1 writes into its sender's region
// when it is to discard one.
func (ep *Endpoint) peekDirect(m *Msg, flags Flags) error {
	src, err := ep.sourceOf(m.Addr)
	if err != nil {
		return err
	}
	slot, err := ep.core.AllocRx(false)
	if err != nil {
		return err
	}
	op := ep.rx.at(slot)
	op.ctx, op.quiet, op.from, op.tag, op.rail = m.Context, false, m.Addr, m.Tag, 0
	ask := uint64(providers.FlagPeek | providers.FlagClaim)
	switch {
	case flags&FlagClaim != 0:
		op.state = rxClaiming
	case flags&FlagDiscard != 0:
		op.state = rxDropping
	default:
		op.state, ask = rxPeeking, providers.FlagPeek
	}
	if err := ep.direct.core.PostRecv(slot, src, m.Tag, m.Ignore, ask); err != nil {
		ctx := op.ctx
		ep.releaseDirect(slot, op)
		switch e, _ := fierr.Of(err); e {
		case fierr.ENoMsg:
			ep.peeking(true)
			ep.noMessage(ctx, m.Tag)
			ep.peeking(false)
			return nil
		case fierr.ENoSys, fierr.EOpNotSupp, fierr.EBadFlags, fierr.EInval:
			return fmt.Errorf("TRecvMsg: rail %s does not do %v: %w", ep.link.Rails[0].Name(), flags, ErrNotSupported)
		}
		return ep.refusedRecv(err)
	}
	if op.state == rxClaiming {
		ep.claims = append(ep.claims, slot)
	}
	ep.takeAll() // most providers answer at once
	return nil
}

// peeked deals with the answer to a peek.
func (ep *Endpoint) peeked(c *providers.Completion, op *rxOp) {
	ep.peeking(true)
	defer ep.peeking(false)
	slot, ctx, state, from := c.Slot, op.ctx, op.state, op.from
	if c.Err != 0 {
		if state == rxClaiming {
			ep.unclaim(slot)
		}
		tag := op.tag
		ep.releaseDirect(slot, op)
		if fierr.Errno(c.Err) == fierr.ENoMsg {
			ep.noMessage(ctx, tag)
			return
		}
		ep.stats[c.Rail].Error()
		ep.fail(int(c.Rail), ErrEntry{
			Entry: Entry{Context: ctx, Flags: FlagTagged | FlagRecv, Tag: tag, Src: from},
			Err:   fierr.Errno(c.Err), ProvErrno: int(c.ProvErrno),
		})
		return
	}
	entry := asEntry(c, ctx, from) // the providers of libfabric 2.1 leave the sender of another in Src
	switch state {
	case rxClaiming:
		op.state, op.ctx = rxClaimed, ep.user(ctx)
	case rxDropping:
		op.ctx = nil
		ep.drop(slot, op)
	default:
		ep.releaseDirect(slot, op)
	}
	ep.finish(int(c.Rail), &entry, false)
}

func (ep *Endpoint) unclaim(slot providers.Slot) {
	for i, s := range ep.claims {
		if s == slot {
			ep.claims = append(ep.claims[:i], ep.claims[i+1:]...)
			return
		}
	}
}

// drop receives a claimed message into nothing, now or when the provider can.
func (ep *Endpoint) drop(slot providers.Slot, op *rxOp) {
	op.state = rxStray
	ep.core.SetBuffers(slot, nil)
	switch err := ep.direct.core.PostRecv(slot, providers.NoAddr, 0, ^uint64(0), providers.FlagClaim); {
	case err == fierr.Again:
		ep.direct.drops = append(ep.direct.drops, slot)
	case err != nil:
		ep.stats[0].Error()
		ep.releaseDirect(slot, op)
	default:
		ep.direct.posted++
	}
}

// dropRest tries again with what could not be dropped.
func (ep *Endpoint) dropRest() {
	rest := ep.direct.drops
	ep.direct.drops = nil
	for _, slot := range rest {
		ep.drop(slot, ep.rx.at(slot))
	}
}

// claimedDirect receives or drops what a peek claimed as ep.claims[i].
func (ep *Endpoint) claimedDirect(i int, m *Msg, flags Flags, quiet bool) error {
	slot := ep.claims[i]
	op := ep.rx.at(slot)
	if op.state == rxClaiming {
		return fierr.Again // the peek has not completed
	}
	iov := m.IOV
	op.state = rxPosted
	if flags&FlagDiscard != 0 {
		iov, op.state = nil, rxDropped
	}
	held := op.ctx
	op.ctx, op.quiet = m.Context, quiet
	if err := ep.handRecv(slot, op, iov, providers.NoAddr, 0, ^uint64(0), providers.FlagClaim); err != nil {
		op.state, op.ctx = rxClaimed, held
		return err
	}
	if c, ok := ep.user(m.Context).(*call); ok {
		c.slot = slot
	}
	ep.unclaim(slot)
	return nil
}
