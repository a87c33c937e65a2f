package lnx

import (
	"fmt"

	"golnx/linkspec"
	"golnx/peer"
	"golnx/providers"
	"golnx/providers/fierr"
	"golnx/rail/intercept"
)

// Direct mode (Options.Direct): the provider of the only rail has the receives, and
// matches. The queues of package srq and suq stay empty; the state of a receive is
// rxPosted until it completes, whether a message has met it or not.

// EnvDirect turns Options.Direct on.
const EnvDirect = "LNX_DIRECT"

// ErrNotSupported: the provider of a rail cannot do what was asked for. It is
// fierr.EOpNotSupp as well.
var ErrNotSupported = fmt.Errorf("not supported: %w", fierr.EOpNotSupp)

// directMode is what an endpoint in direct mode has besides.
type directMode struct {
	core   providers.Matcher // nil in every other endpoint
	posted int               // receives that the provider has
	age    uint64            // of the newest
	drops  []providers.Slot  // claimed messages that could not be dropped yet
}

// setDirect takes the option from the environment.
func (s *settings) setDirect() error {
	text, ok := s.Lookup(EnvDirect)
	if s.Direct || !ok {
		return nil
	}
	on, err := linkspec.ParseBool(text)
	if err != nil {
		return fmt.Errorf("%s: %w", EnvDirect, err)
	}
	s.Direct = on
	return nil
}

// checkDirect refuses a link that direct mode cannot have.
func (s *settings) checkDirect(rails []providers.Info) error {
	if !s.Direct || len(rails) == 1 {
		return nil
	}
	return fmt.Errorf("it has %d rails (%s): in direct mode (Options.Direct, %s) one provider matches all messages, so name one domain of one provider: %w",
		len(rails), railNames(rails), EnvDirect, fierr.EInval)
}

func railNames(rails []providers.Info) string {
	s := ""
	for i, r := range rails {
		if i > 0 {
			s += ", "
		}
		s += r.Name()
	}
	return s
}

// openDirect finds out whether the core matches.
func (ep *Endpoint) openDirect() error {
	if !ep.set.Direct {
		return nil
	}
	core, ok := ep.core.(providers.Matcher)
	if !ok || !core.Matches() {
		return fmt.Errorf("direct mode over %s: %w", ep.link.Name, ErrNotSupported)
	}
	ep.direct.core = core
	return nil
}

// onePath refuses a peer that reaches us from several addresses, of which a receive
// can only name one.
func (ep *Endpoint) onePath(common []peer.Path) error {
	if ep.direct.core == nil || len(common) == 1 {
		return nil
	}
	return fmt.Errorf("rail %s reaches it at %d addresses, and in direct mode a peer has one: %w",
		ep.link.Rails[0].Name(), len(common), ErrNotSupported)
}

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
			return fmt.Errorf("TRecvMsg: provider %s does not do %v: %w", ep.link.Rails[0].Provider, flags, ErrNotSupported)
		}
		return ep.refusedRecv(err)
	}
	if op.state == rxClaiming {
		ep.claims = append(ep.claims, slot)
	}
	ep.takeAll() // most providers answer at once
	return nil
}

func (ep *Endpoint) noMessage(opContext any, tag uint64) {
	ep.fail(-1, ErrEntry{
		Entry: Entry{Context: opContext, Flags: FlagTagged | FlagRecv, Tag: tag, Src: AddrUnspec},
		Err:   fierr.ENoMsg,
	})
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
	ep.finish(int(c.Rail), entry, false)
}

func (ep *Endpoint) unclaim(slot providers.Slot) {
	for i, s := range ep.claims {
		if s == slot {
			ep.claims = append(ep.claims[:i], ep.claims[i+1:]...)
			return
		}
	}
}

// asEntry is a completion as the user sees it.
func asEntry(c *providers.Completion, opContext any, from Addr) Entry {
	return Entry{
		Context: opContext,
		Flags:   FlagTagged | FlagRecv | Flags(c.Flags&providers.FlagRemoteCQData),
		Len:     int(c.Len),
		Tag:     c.Tag,
		Data:    c.Data,
		Src:     from,
	}
}

// senderOf answers who sent a message, to a receive from somebody in particular also
// where the provider does not tell.
func (ep *Endpoint) senderOf(c *providers.Completion, asked Addr) Addr {
	if from := ep.addrOf(int(c.Rail), c.Src); from != AddrUnspec {
		return from
	}
	return asked
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
	ctx, quiet, from, tag, why := op.ctx, op.quiet, ep.senderOf(c, op.from), op.tag, op.why
	ep.releaseDirect(c.Slot, op)
	if c.Len > ep.inject[r] && ep.wait.polled&(1<<r) != 0 {
		ep.ring(from) // its sender waits to hear that it has arrived
	}
	if state == rxStray || state == rxAbandoned {
		return
	}
	entry := asEntry(c, ctx, from)
	if state == rxDropped && code == fierr.ETrunc {
		entry.Len, code = int(c.Len+c.Olen), 0
	}
	switch {
	case code == 0:
		ep.finish(r, entry, quiet)
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

// withdrawDirect takes a call's receive back and waits for its end: its message, or why
// it was taken back. Nothing can be under way into the buffer then.
func (ep *Endpoint) withdrawDirect(c *call, why error) error {
	ep.waitFor(c)
	if !isCanceled(c.err) {
		return nil
	}
	c.free()
	return why
}

// directTraits answers the traits of a provider in direct mode.
func directTraits(traits providers.Traits, name string) (providers.Traits, error) {
	if traits.Direct != nil && traits.Name != name {
		return *traits.Direct, nil
	}
	if traits.Unsafe != "" {
		return traits, fmt.Errorf("%s in direct mode: %s: %w", traits.Name, traits.Unsafe, ErrNotSupported)
	}
	return traits, nil
}

// dropWaiting drops all that waits before the rail closes. shm 2.1 would free it twice, and
// write into the regions of the senders. Those of this process have to hear of it before
// they forget this endpoint: they look into its region then.
func (ep *Endpoint) dropWaiting() {
	if ep.direct.core != nil && ep.link.Rails[0].NodeLocal {
		ep.direct.core.DropUnexpected(providers.NoAddr)
	}
}

// dropOf drops what waits of a peer of this process that closes, for its region goes.
func (ep *Endpoint) dropOf(r int, addr uint64) {
	if ep.direct.core != nil && ep.link.Rails[r].NodeLocal {
		ep.direct.core.DropUnexpected(addr)
	}
}

// noUntagged is why there are no untagged messages: tcp 2.1 keeps none that nobody has
// posted a receive for, and reads nothing that comes behind it.
func (ep *Endpoint) noUntagged(o intercept.Op) error {
	return fmt.Errorf("%s: rail %s has no untagged messages in direct mode (Options.Direct): %w", callName(o), ep.link.Rails[0].Name(), ErrNotSupported)
}
