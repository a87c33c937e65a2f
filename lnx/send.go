package lnx

import (
	"fmt"

	"golnx/internal/bitnames"
	"golnx/peer"
	"golnx/providers"
	"golnx/providers/fierr"
	"golnx/rail/intercept"
)

// Flags are the operation flags of fi_tagged(3) and fi_cq(3).
type Flags uint64

// Flags of operations and completions.
const (
	// FlagCompletion asks for a completion; calls without flags always give
	// one.
	FlagCompletion Flags = providers.FlagCompletion
	// FlagRemoteCQData sends Msg.Data with the message, and marks a
	// completion whose Data came with the message.
	FlagRemoteCQData Flags = providers.FlagRemoteCQData
	// FlagInject gives the buffer back when the call returns.
	FlagInject Flags = providers.FlagInject
	// FlagPeek looks for an unexpected message without receiving it.
	FlagPeek Flags = 1 << 19
	// FlagDiscard drops the message.
	FlagDiscard Flags = 1 << 58
	// FlagClaim with FlagPeek sets the message aside; alone it receives the
	// message that the same context claimed before.
	FlagClaim Flags = 1 << 59
	// FlagMultiRecv has a receive take messages until its buffer is used up, and marks
	// the completion with which the buffer is the caller's again.
	FlagMultiRecv Flags = 1 << 16
	// FlagTagged or FlagMsg (untagged), and FlagSend or FlagRecv, tell completions
	// apart, and so do FlagRMA and FlagAtomic with FlagRead, FlagWrite or, where a peer
	// wrote, FlagRemoteWrite.
	FlagTagged      Flags = providers.FlagTagged
	FlagMsg         Flags = providers.FlagMsg
	FlagSend        Flags = providers.FlagSend
	FlagRecv        Flags = providers.FlagRecv
	FlagRMA         Flags = providers.FlagRMA
	FlagAtomic      Flags = providers.FlagAtomic
	FlagRead        Flags = providers.FlagRead
	FlagWrite       Flags = providers.FlagWrite
	FlagRemoteWrite Flags = providers.FlagRemoteWrite
	// FlagInjectComplete, FlagTransmitComplete and FlagDeliveryComplete say when an RMA
	// operation is complete (fi_cq(3)): when its buffers can be used again, when it
	// has left this side for good, when the peer's memory has it. Without any it is
	// what the rail's provider does by itself.
	FlagInjectComplete   Flags = providers.FlagInjectComplete
	FlagTransmitComplete Flags = providers.FlagTransmitComplete
	FlagDeliveryComplete Flags = providers.FlagDeliveryComplete
)

// String names the bits, as FlagPeek|FlagClaim.
func (f Flags) String() string { return bitnames.Join(f, flagNames, "0x0") }

var flagNames = []bitnames.Name[Flags]{
	{Bit: FlagTagged, Name: "FlagTagged"}, {Bit: FlagMsg, Name: "FlagMsg"}, {Bit: FlagSend, Name: "FlagSend"},
	{Bit: FlagRecv, Name: "FlagRecv"}, {Bit: FlagCompletion, Name: "FlagCompletion"}, {Bit: FlagRemoteCQData, Name: "FlagRemoteCQData"},
	{Bit: FlagInject, Name: "FlagInject"}, {Bit: FlagMultiRecv, Name: "FlagMultiRecv"}, {Bit: FlagPeek, Name: "FlagPeek"},
	{Bit: FlagClaim, Name: "FlagClaim"}, {Bit: FlagDiscard, Name: "FlagDiscard"}, {Bit: FlagRMA, Name: "FlagRMA"},
	{Bit: FlagAtomic, Name: "FlagAtomic"}, {Bit: FlagRead, Name: "FlagRead"}, {Bit: FlagWrite, Name: "FlagWrite"},
	{Bit: FlagRemoteWrite, Name: "FlagRemoteWrite"}, {Bit: FlagInjectComplete, Name: "FlagInjectComplete"}, {Bit: FlagTransmitComplete, Name: "FlagTransmitComplete"},
	{Bit: FlagDeliveryComplete, Name: "FlagDeliveryComplete"},
}

// Msg is a message of TSendMsg and TRecvMsg (struct fi_msg_tagged), or of MSendMsg and
// MRecvMsg (struct fi_msg), which do not look at Tag and Ignore.
type Msg struct {
	// IOV is the message's buffers, at most Link.Info.IOVLimit. The slice of
	// slices can be reused when the call returns.
	IOV [][]byte
	// Addr is the receiver of a send; of a receive the sender, or AddrUnspec.
	Addr Addr
	Tag  uint64
	// Ignore has the tag bits that a receive does not compare.
	Ignore  uint64
	Context any
	// Data goes with the message if FlagRemoteCQData is given.
	Data uint64
}

// TSend sends buf (fi_tsend(3)). The completion has opContext as its Context; buf
// belongs to the endpoint until then. EAGAIN means that the message was not
// sent: read the CQ, then try again. The first send to a peer answers EAGAIN until
// both sides have driven their rails, which connects them.
func (ep *Endpoint) TSend(buf []byte, to Addr, tag uint64, opContext any) error {
	return ep.tsend1(intercept.OpTSend, buf, to, tag, 0, 0, opContext, false)
}

// TSendData sends buf with 64 bits of remote CQ data (fi_tsenddata(3)).
func (ep *Endpoint) TSendData(buf []byte, data uint64, to Addr, tag uint64, opContext any) error {
	return ep.tsend1(intercept.OpTSendData, buf, to, tag, data, FlagRemoteCQData, opContext, false)
}

// TInject sends a copy of buf, at most Link.Info.InjectSize bytes, without a
// completion (fi_tinject(3)). Should the message fail after all, there is an
// error entry without context in the CQ.
func (ep *Endpoint) TInject(buf []byte, to Addr, tag uint64) error {
	return ep.tsend1(intercept.OpTInject, buf, to, tag, 0, FlagInject, nil, true)
}

// TInjectData is TInject with remote CQ data (fi_tinjectdata(3)).
func (ep *Endpoint) TInjectData(buf []byte, data uint64, to Addr, tag uint64) error {
	return ep.tsend1(intercept.OpTInjectData, buf, to, tag, data, FlagInject|FlagRemoteCQData, nil, true)
}

// TSendV sends several buffers as one message (fi_tsendv(3)).
func (ep *Endpoint) TSendV(iov [][]byte, to Addr, tag uint64, opContext any) error {
	ep.lock()
	defer ep.unlock()
	return ep.send(intercept.OpTSendV, iov, to, tag, 0, 0, opContext, false)
}

// TSendMsg sends with flags (fi_tsendmsg(3)): FlagCompletion, without which only
// a failure is reported, FlagRemoteCQData and FlagInject.
func (ep *Endpoint) TSendMsg(m *Msg, flags Flags) error {
	if bad := flags &^ (FlagCompletion | FlagRemoteCQData | FlagInject); bad != 0 {
		return fmt.Errorf("TSendMsg: %v is not for sends: %w", bad, fierr.EBadFlags)
	}
	ep.lock()
	defer ep.unlock()
	return ep.send(intercept.OpTSendMsg, m.IOV, m.Addr, m.Tag, m.Data, flags, m.Context, flags&FlagCompletion == 0)
}

// tsend1 sends one buffer. The scratch slice avoids an allocation for it.
func (ep *Endpoint) tsend1(op intercept.Op, buf []byte, to Addr, tag, data uint64, flags Flags, opContext any, quiet bool) error {
	if ep.foreign {
		return ep.sendGuarded(op, buf, to, tag, data, flags, opContext, quiet)
	}
	ep.lock()
	ep.one[0] = buf
	err := ep.send(op, ep.one[:], to, tag, data, flags, opContext, quiet)
	ep.one[0] = nil
	ep.mu.Unlock()
	return err
}

// send starts one message, under the lock.
func (ep *Endpoint) send(o intercept.Op, iov [][]byte, to Addr, tag, data uint64, flags Flags, opContext any, quiet bool) error {
	if p, state := ep.arrives(o, iov, to, flags, opContext); p != nil {
		return ep.sendAtOnce(o, p, state, iov[0], tag, data, flags, opContext, quiet)
	}
	path, op, err := ep.prepare(o, iov, to, tag, data, flags, opContext, quiet)
	if err != nil {
		return err
	}
	if ep.hooks != nil {
		return ep.conclude(o, path, ep.op.Slot, op, flags, ep.hooks.handOver(path, op, o, iov, flags))
	}
	if err := ep.handOver(path.rail, op, iov, flags); err != nil {
		return ep.refused(o, path, op, err)
	}
	ep.accepted(path, op, flags)
	return nil
}

// prepare describes a message in ep.op and takes a slot for it, or says why it cannot be
// sent.
func (ep *Endpoint) prepare(o intercept.Op, iov [][]byte, to Addr, tag, data uint64, flags Flags, opContext any, quiet bool) (*path, *txOp, error) {
	if err := ep.allowed(o); err != nil {
		return nil, nil, err
	}
	state := ep.peerOf(to)
	if state == nil {
		return nil, nil, unknownAddr(callName(o), to)
	}
	if state.err != nil {
		return nil, nil, state.err
	}
	size, err := ep.setIOV(o, iov)
	if err != nil {
		return nil, nil, err
	}
	if flags&FlagInject != 0 && size > ep.link.Info.InjectSize {
		return nil, nil, tooLongToInject(o, size, ep.link.Info.InjectSize)
	}
	if err := ep.room(); err != nil {
		return nil, nil, err
	}
	path, err := ep.choose(state, size)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", callName(o), err)
	}
	slot, op, err := ep.begin(path, state, to, size, tag, opContext, quiet)
	if err != nil {
		return nil, nil, err
	}
	op.msg = untagged(o)
	ep.op.Dest, ep.op.Tag, ep.op.Data, ep.op.Slot = path.addr, tag, data, slot
	return path, op, nil
}

// room answers EAGAIN while no more operations may be under way.
func (ep *Endpoint) room() error {
	if ep.cq.full() {
		return fierr.Again
	}
	if ep.sends >= ep.set.MaxSends {
		ep.progress(1)
		return fierr.Again
	}
	return nil
}

// begin takes a slot for an operation towards a peer.
func (ep *Endpoint) begin(path *path, state *peerState, to Addr, size, tag uint64, opContext any, quiet bool) (providers.Slot, *txOp, error) {
	slot, err := ep.core.AllocTx()
	if err != nil {
		ep.progress(1)
		return 0, nil, err
	}
	op := ep.tx.at(slot)
	ep.seq++
	op.ctx, op.peer, op.to, op.len, op.tag, op.seq, op.rail, op.quiet = opContext, state, to, size, tag, ep.seq, int8(path.rail), quiet
	return slot, op, nil
}

// handing is what became of an operation on its way to the provider: err tells that it
// was not accepted, and provider whose answer that is; replaced that a hook took it in
// place of the provider.
type handing struct {
	replaced, provider bool
	err                error
}

// conclude ends the call that started an operation.
func (ep *Endpoint) conclude(o intercept.Op, path *path, slot providers.Slot, op *txOp, flags Flags, out handing) error {
	switch {
	case out.err != nil:
		state := op.peer
		ep.dropTx(slot, op)
		if out.provider {
			return ep.unsent(o, state, path, out.err)
		}
		return out.err
	case out.replaced:
		e, quiet := Entry{Context: op.ctx, Flags: op.flags(), Tag: op.tag, Src: AddrUnspec}, op.quiet
		ep.dropTx(slot, op)
		ep.finish(path.rail, &e, quiet)
	default:
		ep.accepted(path, op, flags)
	}
	return nil
}

// accepted notes that a rail has taken an operation.
func (ep *Endpoint) accepted(path *path, op *txOp, flags Flags) {
	state, r := op.peer, path.rail
	state.refused = nil
	path.up(state)
	state.sends++
	ep.sends++
	ep.peers.Acquire(peer.Addr(op.to))
	switch {
	case op.rma != 0:
		ep.countRMA(r, op)
	case op.msg:
		ep.countMsg(path, op, flags)
	default:
		ep.countSend(r, op.len, flags)
	}
	ep.poll.busy(r)
	if ep.wait.polled&(1<<r) == 0 {
		return
	}
	if state.bell != nil {
		state.bell.Ring()
	}
	if op.len > ep.inject[r] || op.rma != 0 {
		ep.wait.kick() // who sleeps until the bell rings has to look for its steps
	}
}

// refused takes the message in ep.op back, which its rail has not taken.
func (ep *Endpoint) refused(o intercept.Op, path *path, op *txOp, err error) error {
	state := op.peer
	ep.dropTx(ep.op.Slot, op)
	return ep.unsent(o, state, path, err)
}

// handOver gives the message in ep.op to its provider.
func (ep *Endpoint) handOver(r int, op *txOp, iov [][]byte, flags Flags) error {
	ep.pin(r, op, iov, flags)
	return ep.core.Send(r, &ep.op)
}

// pin holds the buffers of the message in ep.op for its provider.
func (ep *Endpoint) pin(r int, op *txOp, iov [][]byte, flags Flags) {
	ep.op.Flags = uint64(flags & FlagRemoteCQData)
	if op.msg {
		ep.op.Flags |= providers.FlagMsg
	}
	if op.len <= ep.inject[r] {
		// the provider copies it, so that nothing has to be pinned
		ep.op.Flags |= providers.FlagInject
	} else {
		for _, b := range iov {
			pinSlice(&op.pin, b)
		}
		op.pinned = true
	}
	op.state = txActive
}

// callName is the method of an operation, for errors.
func callName(o intercept.Op) string { return callNames[o] }

var callNames = [intercept.NumOps]string{
	intercept.OpTSend: "TSend", intercept.OpTSendV: "TSendV", intercept.OpTSendMsg: "TSendMsg",
	intercept.OpTSendData: "TSendData", intercept.OpTInject: "TInject", intercept.OpTInjectData: "TInjectData",
	intercept.OpSend: "MSend", intercept.OpSendV: "MSendV", intercept.OpSendMsg: "MSendMsg",
	intercept.OpSendData: "MSendData", intercept.OpInject: "MInject", intercept.OpInjectData: "MInjectData",
	intercept.OpRecv: "MRecv", intercept.OpRecvV: "MRecvV", intercept.OpRecvMsg: "MRecvMsg",
	intercept.OpTRecv: "TRecv", intercept.OpTRecvV: "TRecvV", intercept.OpTRecvMsg: "TRecvMsg",
	intercept.OpRead: "Read", intercept.OpReadV: "ReadV", intercept.OpReadMsg: "ReadMsg",
	intercept.OpWrite: "Write", intercept.OpWriteV: "WriteV", intercept.OpWriteMsg: "WriteMsg",
	intercept.OpInjectWrite: "InjectWrite", intercept.OpWriteData: "WriteData", intercept.OpInjectWriteData: "InjectWriteData",
	intercept.OpAtomic: "Atomic", intercept.OpAtomicV: "AtomicV", intercept.OpAtomicMsg: "AtomicMsg", intercept.OpInjectAtomic: "InjectAtomic",
	intercept.OpFetchAtomic: "FetchAtomic", intercept.OpFetchAtomicV: "FetchAtomicV", intercept.OpFetchAtomicMsg: "FetchAtomicMsg",
	intercept.OpCompareAtomic: "CompareAtomic", intercept.OpCompareAtomicV: "CompareAtomicV", intercept.OpCompareAtomicMsg: "CompareAtomicMsg",
}

func tooLongToInject(o intercept.Op, size, limit uint64) error {
	return fmt.Errorf("%s: %d bytes, at most %d can be injected over this link: %w", callName(o), size, limit, fierr.EMsgSize)
}

// setIOV describes the buffers of a send in ep.op.
func (ep *Endpoint) setIOV(o intercept.Op, iov [][]byte) (size uint64, err error) {
	if len(iov) > ep.link.Info.IOVLimit {
		return 0, fmt.Errorf("%s: %d buffers, this link takes %d: %w", callName(o), len(iov), ep.link.Info.IOVLimit, fierr.EInval)
	}
	ep.op.Count = max(1, len(iov))
	ep.op.IOV[0] = providers.IOVec{}
	for i, b := range iov {
		ep.op.IOV[i] = iovOf(b)
		size += uint64(len(b))
	}
	if size > ep.link.Info.MaxMsgSize {
		return 0, fmt.Errorf("%s: %d bytes, the longest message of this link has %d: %w", callName(o), size, ep.link.Info.MaxMsgSize, fierr.EMsgSize)
	}
	return size, nil
}

// dropTx frees the slot of a send that is over.
func (ep *Endpoint) dropTx(slot providers.Slot, op *txOp) {
	if op.pinned {
		op.pin.Unpin()
		op.pinned = false
	}
	ep.endRMA(op)
	ep.endAtomic(op)
	op.ctx, op.peer, op.state = nil, nil, txFree
	ep.core.FreeTx(slot)
}
