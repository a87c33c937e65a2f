package lnx

import (
	"fmt"
	"math"

	"golnx/internal/livekeys"
	"golnx/mr"
	"golnx/providers"
	"golnx/providers/fierr"
	"golnx/rail/intercept"
)

// startRMA starts one operation on a peer's memory, under the lock. It is as send.
func (ep *Endpoint) startRMA(o intercept.Op, iov [][]byte, remote []RemoteRange, data uint64, flags Flags, opContext any, quiet bool) error {
	if err := ep.check(); err != nil {
		return err
	}
	if ep.rma == nil {
		return ep.withoutCap(callName(o), ErrNoRMA)
	}
	write := writes(o)
	size, err := ep.setLocal(o, iov, flags)
	if err != nil {
		return err
	}
	mem, err := ep.checkRanges(o, remote, size, accessOf(write))
	if err != nil {
		return err
	}
	state := mem.state
	if ep.peerOf(mem.to) != state {
		return unknownAddr(callName(o), mem.to)
	}
	if state.err != nil {
		return state.err
	}
	if err := ep.room(); err != nil {
		return err
	}
	path, err := ep.chooseRMA(state, size)
	if err == nil {
		ep.rma.op.RemoteCount, err = aim(path, remote, &ep.rma.op.Remote, accessOf(write))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", callName(o), err)
	}
	slot, op, err := ep.begin(path, state, mem.to, size, 0, opContext, quiet)
	if err != nil {
		return err
	}
	op.rma = FlagRMA | FlagRead
	if write {
		op.rma = FlagRMA | FlagWrite
	}
	ep.rma.op.Dest, ep.rma.op.Data, ep.rma.op.Slot, ep.rma.op.Write = path.addr, data, slot, write
	var out handing
	if ep.hooks != nil {
		out = ep.hooks.handOverRMA(path, op, o, iov, flags)
	} else if err := ep.handOverRMA(path.rail, state, op, iov, flags); err != nil {
		out = handing{provider: true, err: err}
	}
	return ep.conclude(o, path, slot, op, flags, out)
}

// countRMA counts an operation on a peer's memory that a rail has taken.
func (ep *Endpoint) countRMA(r int, op *txOp) {
	switch {
	case op.rma&FlagAtomic != 0:
		ep.stats[r].Atomic(op.len)
	case op.rma&FlagWrite != 0:
		ep.stats[r].Write(op.len)
	default:
		ep.stats[r].Read(op.len)
	}
}

// chooseRMA is choose for an operation whose completion comes when the peer's side is
// done, whatever its size.
func (ep *Endpoint) chooseRMA(state *peerState, size uint64) (*path, error) {
	p, err := ep.choose(state, max(size, 1))
	if err == nil && ep.shm[p.rail].blocked {
		if p = ep.round(state); p == nil {
			err = ErrRailBroken
		}
	}
	return p, err
}

func writes(o intercept.Op) bool { return o >= intercept.OpWrite && o <= intercept.OpInjectWriteData }

// setLocal describes the local side in the scratch operation.
func (ep *Endpoint) setLocal(o intercept.Op, iov [][]byte, flags Flags) (size uint64, err error) {
	info := &ep.link.Info
	if len(iov) > info.IOVLimit {
		return 0, fmt.Errorf("%s: %d buffers, this link takes %d: %w", callName(o), len(iov), info.IOVLimit, fierr.EInval)
	}
	op := &ep.rma.op
	op.Count = max(1, len(iov))
	op.IOV[0] = providers.IOVec{}
	for i, b := range iov {
		op.IOV[i] = iovOf(b)
		size += uint64(len(b))
	}
	if size > info.MaxMsgSize {
		return 0, fmt.Errorf("%s: %d bytes, the longest operation of this link has %d: %w", callName(o), size, info.MaxMsgSize, fierr.EMsgSize)
	}
	if flags&FlagInject != 0 && size > info.InjectSize {
		return 0, tooLongToInject(o, size, info.InjectSize)
	}
	return size, ep.checkLevels(o, flags)
}

// levels are the flags that choose when an operation is complete.
const levels = FlagInjectComplete | FlagTransmitComplete | FlagDeliveryComplete

func (ep *Endpoint) checkLevels(o intercept.Op, flags Flags) error {
	want := flags & levels
	if want&(want-1) != 0 {
		return fmt.Errorf("%s: %v: one level at a time is possible: %w", callName(o), want, fierr.EBadFlags)
	}
	if want&^Flags(ep.link.Info.Levels) == 0 {
		return nil
	}
	for _, r := range ep.link.Rails {
		if want&^Flags(r.Levels) != 0 {
			return fmt.Errorf("%s: rail %s does not offer %v: %w", callName(o), r.Name(), want, fierr.EOpNotSupp)
		}
	}
	return nil
}

// checkRanges looks at the remote side, and answers the memory of the first range.
func (ep *Endpoint) checkRanges(o intercept.Op, remote []RemoteRange, size uint64, access mr.Access) (*RemoteMemory, error) {
	if n := len(remote); n < 1 || n > ep.link.Info.RMAIOVLimit {
		return nil, fmt.Errorf("%s: %d remote ranges, this link takes 1 to %d: %w", callName(o), n, ep.link.Info.RMAIOVLimit, fierr.EInval)
	}
	total := uint64(0)
	for i := range remote {
		m := remote[i].Mem
		if m == nil {
			return nil, fmt.Errorf("%s: no remote memory given; Import answers it: %w", callName(o), fierr.EInval)
		}
		if m.ep != ep {
			return nil, fmt.Errorf("%s: the remote memory was imported by another endpoint: %w", callName(o), mr.ErrForeign)
		}
		if m.state != remote[0].Mem.state {
			return nil, fmt.Errorf("%s: memory of peers %v and %v in one operation: %w", callName(o), remote[0].Mem.to, m.to, fierr.EInval)
		}
		if err := m.within(remote[i].Off, remote[i].Len); err != nil {
			return nil, fmt.Errorf("%s: %w", callName(o), err)
		}
		if m.Access()&access != access {
			return nil, fmt.Errorf("%s: the remote memory allows %v, %v is needed: %w", callName(o), m.Access(), access, fierr.EPerm)
		}
		total += min(remote[i].Len, math.MaxUint64-total)
	}
	if total != size {
		return nil, fmt.Errorf("%s: %d bytes here and %d there: %w", callName(o), size, total, fierr.EInval)
	}
	return remote[0].Mem, nil
}

func accessOf(write bool) mr.Access {
	if write {
		return mr.RemoteWrite
	}
	return mr.RemoteRead
}

// aim leaves the addresses and keys of ranges, for a path, in an operation.
func aim(p *path, remote []RemoteRange, to *[providers.MaxIOV]providers.RMAIOV, access mr.Access) (n int, err error) {
	for i := range remote {
		r, at := &remote[i], &to[i]
		at.Len = r.Len
		if at.Addr, at.Key, err = r.Mem.remote.AtLocked(p.rail, p.entry, r.Mem.off+r.Off, r.Len, access); err != nil {
			return 0, err
		}
	}
	return len(remote), nil
}

// handOverRMA gives the scratch operation to its provider.
func (ep *Endpoint) handOverRMA(r int, state *peerState, op *txOp, iov [][]byte, flags Flags) error {
	s := &ep.rma.op
	ep.letGo(op) // a hook may hand over again
	s.Flags = uint64(flags & (FlagRemoteCQData | levels))
	s.Desc = [providers.MaxIOV]uintptr{}
	switch {
	case s.Write && op.len <= ep.inject[r] && flags&FlagDeliveryComplete == 0:
		// the provider copies it, so that nothing has to be pinned
		s.Flags |= providers.FlagInject
	case ep.rma.local[r]:
		if err := ep.lease(r, op, iov); err != nil {
			return err
		}
	default:
		for _, b := range iov {
			pinSlice(&op.pin, b)
		}
		op.pinned = true
	}
	op.state = txActive
	if ep.link.Rails[r].NodeLocal && !ep.enter(state, op, s.Remote[:s.RemoteCount], accessOf(s.Write)) {
		return errKeyGone
	}
	return ep.rma.core.RMA(r, s)
}

// enter asks the table of a peer on this node whether the keys are good, and holds them
// there until the operation ends.
func (ep *Endpoint) enter(state *peerState, op *txOp, remote []providers.RMAIOV, access mr.Access) bool {
	h := ep.hold(op)
	if state.keys == nil { // the memory was imported when the peer was not reached so
		return false
	}
	h.view = state.keys
	ep.rma.near++
	for i := range remote {
		at := &remote[i]
		if !h.view.Enter(at.Key, livekeys.Memory{Start: at.Addr, Len: at.Len, Access: uint64(access)}) {
			return false // dropTx leaves the others
		}
		h.keys[i] = at.Key
		h.nkey++
	}
	return true
}

func (ep *Endpoint) hold(op *txOp) *held {
	if op.held != nil {
		return op.held
	}
	free := ep.rma.free
	if n := len(free); n > 0 {
		op.held, ep.rma.free = free[n-1], free[:n-1]
	} else {
		op.held = &held{}
	}
	return op.held
}

// errKeyGone is what the table of a peer on this node says of a key.
var errKeyGone error = fmt.Errorf("the peer has closed the memory, or never had it: %w", fierr.ENoKey)

// lease has the buffers registered, for a rail that wants that.
func (ep *Endpoint) lease(r int, op *txOp, iov [][]byte) (err error) {
	s, h := ep.rma, ep.hold(op)
	access := mr.Read
	if s.op.Write {
		access = mr.Write
	}
	for i, b := range iov {
		l := &h.leases[i]
		if *l, err = s.mem.AcquireLocked(r, b, access); err != nil {
			return err // dropTx gives the others back
		}
		h.nlease++
		s.op.Desc[i] = l.Desc
	}
	return nil
}

// endRMA lets go of what an operation used besides its slot.
func (ep *Endpoint) endRMA(op *txOp) {
	op.rma = 0
	if op.held != nil {
		ep.letGo(op)
		ep.rma.free = append(ep.rma.free, op.held)
		op.held = nil
	}
}

// letGo empties what an operation holds.
func (ep *Endpoint) letGo(op *txOp) {
	h := op.held
	if h == nil {
		return
	}
	for _, l := range h.leases[:h.nlease] {
		ep.rma.mem.ReleaseLocked(l)
	}
	if h.view != nil {
		ep.rma.near--
	}
	for _, key := range h.keys[:h.nkey] {
		h.view.Leave(key)
	}
	*h = held{}
}

// mayWrite says that an operation's buffer can be written to although the peer has ended:
// a read over a network, whose answer may be on its way. Its provider notices the broken
// connection and fails it.
func (ep *Endpoint) mayWrite(op *txOp) bool {
	return op.rma&(FlagRMA|FlagRead) == FlagRMA|FlagRead && !ep.link.Rails[op.rail].NodeLocal
}

// written deals with a peer's write with remote CQ data.
func (ep *Endpoint) written(c *providers.Completion) {
	ep.arrivals++
	ep.poll.busy(int(c.Rail))
	ep.cq.push(&Entry{
		Flags: FlagRMA | FlagRemoteWrite | FlagRemoteCQData, Len: int(c.Len), Data: c.Data, Src: ep.senderOf(int(c.Rail), c.Src).name(),
	})
}
