package lnx

import (
	"fmt"
	"reflect"

	"golnx/providers"
	"golnx/providers/fierr"
	"golnx/rail/intercept"
)

// TRecv posts a receive (fi_trecv(3)): the oldest message from the peer, or from
// any with AddrUnspec, whose tag equals tag in the bits that are 0 in ignore. buf
// belongs to the endpoint until the completion, which has opContext as its Context.
//
// A message longer than buf fills it and completes with ETRUNC (see ErrEntry).
func (ep *Endpoint) TRecv(buf []byte, from Addr, tag, ignore uint64, opContext any) error {
	return ep.recv1(intercept.OpTRecv, buf, from, tag, ignore, opContext)
}

// recv1 posts a receive with one buffer. The scratch slice avoids an allocation for it.
func (ep *Endpoint) recv1(o intercept.Op, buf []byte, from Addr, tag, ignore uint64, opContext any) error {
	if ep.foreign {
		return ep.recvGuarded(o, buf, from, tag, ignore, opContext)
	}
	ep.lock()
	ep.one[0] = buf
	var err error
	if untagged(o) {
		err = ep.postMsg(o, ep.one[:], from, opContext, false)
	} else {
		err = ep.post(o, ep.one[:], from, tag, ignore, opContext, false)
	}
	ep.one[0] = nil
	ep.mu.Unlock()
	return err
}

// TRecvV posts a receive into several buffers (fi_trecvv(3)).
func (ep *Endpoint) TRecvV(iov [][]byte, from Addr, tag, ignore uint64, opContext any) error {
	return ep.trecvmsg(intercept.OpTRecvV, &Msg{IOV: iov, Addr: from, Tag: tag, Ignore: ignore, Context: opContext}, FlagCompletion)
}

// TRecvMsg receives with flags (fi_trecvmsg(3)):
//
//	0, FlagCompletion   post a receive; without FlagCompletion only failures
//	                    are reported
//	FlagPeek            complete with tag, length and sender of the message
//	                    that the receive would take, or with ENOMSG
//	FlagPeek|FlagClaim  and set it aside for Context, which must be comparable
//	FlagPeek|FlagDiscard  and drop it
//	FlagClaim           receive what Context claimed
//	FlagClaim|FlagDiscard  drop what Context claimed
func (ep *Endpoint) TRecvMsg(m *Msg, flags Flags) error {
	return ep.trecvmsg(intercept.OpTRecvMsg, m, flags)
}

func (ep *Endpoint) trecvmsg(o intercept.Op, m *Msg, flags Flags) error {
	ep.lock()
	defer ep.unlock()
	return ep.hookedReceive(o, m, flags)
}

// hookedReceive is receive, through the hooks if there are any.
func (ep *Endpoint) hookedReceive(o intercept.Op, m *Msg, flags Flags) error {
	if ep.hooks != nil {
		return ep.hooks.receive(o, m, flags)
	}
	return ep.receive(o, m, flags)
}

// receive does what the flags say, under the lock.
func (ep *Endpoint) receive(o intercept.Op, m *Msg, flags Flags) error {
	if untagged(o) {
		return ep.receiveMsg(o, m, flags)
	}
	quiet := flags&FlagCompletion == 0
	switch flags &^ FlagCompletion {
	case 0:
		return ep.post(o, m.IOV, m.Addr, m.Tag, m.Ignore, m.Context, quiet)
	case FlagPeek, FlagPeek | FlagClaim, FlagPeek | FlagDiscard:
		return ep.peek(m, flags)
	case FlagClaim, FlagClaim | FlagDiscard:
		return ep.claimed(m, flags, quiet)
	}
	return fmt.Errorf("TRecvMsg: %v do not go together for a receive: %w", flags, fierr.EBadFlags)
}

// post takes an unexpected message or posts the receive.
func (ep *Endpoint) post(o intercept.Op, iov [][]byte, from Addr, tag, ignore uint64, opContext any, quiet bool) error {
	if err := ep.checkRecv(o, iov, from); err != nil {
		return err
	}
	if ep.direct.core != nil {
		return ep.postDirect(iov, from, tag, ignore, opContext, quiet)
	}
	ep.settle()
	if slot, ok := ep.suq.Match(uint64(from), tag, ignore); ok {
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
	op.tag, op.ignore = tag, ignore
	if err := ep.posted.Post(slot); err != nil {
		op.pin.Unpin()
		op.buf = nil
		ep.freeRx(slot, op)
		return err
	}
	return nil
}

// describePosted notes a receive that will be posted.
func (ep *Endpoint) describePosted(slot providers.Slot, iov [][]byte, from Addr, opContext any, quiet bool) {
	op := ep.rx.at(slot)
	op.ctx, op.quiet, op.from, op.state, op.rail = opContext, quiet, from, rxPosted, -1
	if c, ok := ep.user(opContext).(*call); ok {
		c.slot = slot
	}
	ep.setBuffers(slot, op, iov)
}

// allocPosted takes a slot for a receive that will be posted.
func (ep *Endpoint) allocPosted(from Addr) (providers.Slot, error) {
	if err := ep.canHear(from); err != nil {
		return 0, err
	}
	if ep.posted.Len()+ep.msgs.srq.Len() >= ep.set.MaxPosted {
		return 0, fierr.Again
	}
	return ep.core.AllocRx(false)
}

// canHear answers whether messages from a peer, or from any, can still arrive.
func (ep *Endpoint) canHear(from Addr) error {
	if from == AddrUnspec {
		return nil
	}
	state := ep.peerOf(from)
	if state.err != nil {
		return state.err
	}
	if ep.broken > 0 {
		return ep.hears(state)
	}
	return nil
}

func (ep *Endpoint) checkRecv(o intercept.Op, iov [][]byte, from Addr) error {
	if err := ep.allowed(o); err != nil {
		return err
	}
	if from != AddrUnspec && ep.peerOf(from) == nil {
		return unknownAddr(callName(o), from)
	}
	if len(iov) > ep.link.Info.IOVLimit {
		return fmt.Errorf("%s: %d buffers, this link takes %d: %w", callName(o), len(iov), ep.link.Info.IOVLimit, fierr.EInval)
	}
	if ep.cq.full() {
		return fierr.Again
	}
	return nil
}

// setBuffers tells the core where a message goes: a small one into the slot, so
// that nothing has to be pinned, others into the buffers.
func (ep *Endpoint) setBuffers(slot providers.Slot, op *rxOp, iov [][]byte) {
	if len(iov) == 1 && len(iov[0]) <= providers.SmallRecv {
		op.buf = iov[0]
		ep.core.SetSmall(slot, len(op.buf))
		return
	}
	for i, b := range iov {
		ep.op.IOV[i] = iovOf(b)
		pinSlice(&op.pin, b)
	}
	ep.core.SetBuffers(slot, ep.op.IOV[:len(iov)])
}

// startRecv hands a message that waited to its provider, with the buffers set. One
// that cannot take them now is asked again by progress.
func (ep *Endpoint) startRecv(slot providers.Slot, op *rxOp, state rxState) {
	op.state = state
	ep.active++
	ep.wait.kick()
	ep.poll.busy(int(op.rail))
	if len(ep.starting) > 0 || !ep.startNow(slot, op) { // behind those that wait
		ep.starting = append(ep.starting, slot)
	}
}

// startNow answers false if the provider cannot take the buffers yet.
func (ep *Endpoint) startNow(slot providers.Slot, op *rxOp) bool {
	err := ep.core.Start(slot)
	if err == nil {
		return true
	}
	if err == fierr.Again {
		return false
	}
	why, ok := fierr.Of(err)
	if !ok {
		why = fierr.EIO
	}
	ep.stats[op.rail].Error()
	if op.state == rxActive {
		ep.failRx(op, why)
	}
	ep.active--
	*op = rxOp{}
	ep.core.ReleaseRx(slot)
	return true
}

// restart asks again for the messages whose providers could not take buffers.
func (ep *Endpoint) restart() {
	for n, slot := range ep.starting {
		if !ep.startNow(slot, ep.rx.at(slot)) {
			ep.starting = append(ep.starting[:0], ep.starting[n:]...)
			return
		}
	}
	ep.starting = ep.starting[:0]
}

// peek answers about the oldest unexpected message that matches. It always ends
// with an entry in the CQ, and drives the rails first.
func (ep *Endpoint) peek(m *Msg, flags Flags) error {
	if err := ep.checkRecv(intercept.OpTRecvMsg, nil, m.Addr); err != nil {
		return err
	}
	if flags&FlagClaim != 0 {
		if err := ep.checkClaim(ep.user(m.Context)); err != nil {
			return err
		}
	}
	ep.takeAll()
	if ep.direct.core != nil {
		return ep.peekDirect(m, flags)
	}
	ep.peeking(true) // which counters leave out
	defer ep.peeking(false)
	slot, ok := ep.suq.Peek(uint64(m.Addr), m.Tag, m.Ignore)
	if !ok {
		ep.noMessage(m.Context, m.Tag)
		return nil
	}
	entry, r := ep.describe(slot, m.Context), int(ep.rx.at(slot).rail)
	switch {
	case flags&FlagClaim != 0:
		ep.suq.Remove(slot)
		op := ep.rx.at(slot)
		op.state, op.ctx = rxClaimed, ep.user(m.Context)
		ep.claims = append(ep.claims, slot)
	case flags&FlagDiscard != 0:
		ep.suq.Remove(slot)
		ep.discard(slot)
	}
	ep.finish(r, &entry, false)
	return nil
}

// noMessage is the answer to a peek that found none.
func (ep *Endpoint) noMessage(opContext any, tag uint64) {
	ep.fail(-1, ErrEntry{
		Entry: Entry{Context: opContext, Flags: FlagTagged | FlagRecv, Tag: tag, Src: AddrUnspec},
		Err:   fierr.ENoMsg,
	})
}

// describe is the completion of a peek.
func (ep *Endpoint) describe(slot providers.Slot, opContext any) Entry {
	msg := ep.core.Unexpected(slot)
	return Entry{
		Context: opContext,
		Flags:   FlagTagged | FlagRecv | Flags(msg.Flags&providers.FlagRemoteCQData),
		Len:     int(msg.Size),
		Tag:     msg.Tag,
		Data:    msg.Data,
		Src:     ep.rx.at(slot).from,
	}
}

// checkClaim refuses a context that could not be found again.
func (ep *Endpoint) checkClaim(opContext any) error {
	if opContext == nil || !reflect.ValueOf(opContext).Comparable() {
		return fmt.Errorf("TRecvMsg: a claim needs a comparable Context to be found by, not %T: %w", opContext, fierr.EInval)
	}
	if ep.findClaim(opContext) >= 0 {
		return fmt.Errorf("TRecvMsg: Context holds a claim already: %w", fierr.EBusy)
	}
	return nil
}

// same compares contexts, of which b is comparable; a of another type is different,
// and of the same type it may hold what is not.
func same(a, b any) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.ValueOf(a).Comparable() && a == b
}

func (ep *Endpoint) findClaim(opContext any) int {
	for i, slot := range ep.claims {
		if same(ep.user(ep.rx.at(slot).ctx), opContext) {
			return i
		}
	}
	return -1
}

// claimed receives or drops what a peek set aside.
func (ep *Endpoint) claimed(m *Msg, flags Flags, quiet bool) error {
	if err := ep.checkRecv(intercept.OpTRecvMsg, m.IOV, AddrUnspec); err != nil {
		return err
	}
	i := -1
	if user := ep.user(m.Context); user != nil && reflect.ValueOf(user).Comparable() {
		i = ep.findClaim(user)
	}
	if i < 0 {
		return fmt.Errorf("TRecvMsg: Context has claimed no message: peek with FlagPeek|FlagClaim first: %w", fierr.EInval)
	}
	if ep.direct.core != nil {
		return ep.claimedDirect(i, m, flags, quiet)
	}
	slot := ep.claims[i]
	ep.claims = append(ep.claims[:i], ep.claims[i+1:]...)
	op := ep.rx.at(slot)
	op.quiet = quiet
	if flags&FlagDiscard != 0 {
		entry, r := ep.describe(slot, m.Context), int(op.rail)
		ep.discard(slot)
		ep.peeking(true)
		ep.finish(r, &entry, quiet)
		ep.peeking(false)
		return nil
	}
	op.ctx = m.Context
	ep.give(slot, op, m.IOV)
	return nil
}

// discard receives a message into nothing: discard_tag of fi_peer(3) is not
// usable in shm 2.1, which writes into its peer's region then.
func (ep *Endpoint) discard(slot providers.Slot) {
	op := ep.rx.at(slot)
	op.ctx = nil
	switch op.fetch {
	case fetching:
		op.state = rxStray
		ep.active++
		return
	case fetched:
		ep.release(slot, op)
		return
	}
	ep.noFetch(slot)
	ep.core.SetBuffers(slot, nil)
	ep.startRecv(slot, op, rxStray)
}

// Cancel takes back the oldest posted receive with this context (fi_cancel(3)), of
// tagged messages before untagged ones, which completes with ECANCELED. It answers ENOENT if there is none: it was
// never posted, or a message has met it already.
func (ep *Endpoint) Cancel(opContext any) error {
	if opContext == nil || !reflect.ValueOf(opContext).Comparable() {
		return fmt.Errorf("Cancel: a comparable Context is needed to find the receive, not %T: %w", opContext, fierr.EInval)
	}
	ep.lock()
	defer ep.unlock()
	if err := ep.check(); err != nil {
		return err
	}
	if ep.direct.core != nil {
		return ep.cancelDirect(opContext)
	}
	for slot := range ep.allPosted() {
		if same(ep.user(ep.rx.at(slot).ctx), opContext) {
			ep.cancel(slot, fierr.ECanceled)
			return nil
		}
	}
	return fmt.Errorf("Cancel: no receive with this Context is posted: %w", fierr.ENoEnt)
}

// cancel fails one posted receive.
func (ep *Endpoint) cancel(slot providers.Slot, why fierr.Errno) {
	op := ep.rx.at(slot)
	if op.multi != nil {
		ep.cancelMulti(op.multi, why)
		return
	}
	ep.unpost(slot, op)
	ep.failRx(op, why)
	*op = rxOp{}
	ep.core.ReleaseRx(slot)
}

// failRx reports a receive's failure and gives its buffers back.
func (ep *Endpoint) failRx(op *rxOp, why fierr.Errno) {
	op.pin.Unpin()
	ctx := op.ctx
	op.ctx, op.buf = nil, nil
	e := ErrEntry{
		Entry: Entry{Context: ctx, Flags: op.kind() | FlagRecv, Tag: op.tag, Src: op.from},
		Err:   why,
	}
	ep.endPiece(op, &e.Entry)
	ep.fail(int(op.rail), e)
}
