package lnx

import (
	"fmt"
	"math"
	"runtime"
	"unsafe"

	"golnx/mr"
	"golnx/providers"
	"golnx/providers/fierr"
	"golnx/rail/intercept"
)

// ErrNoAtomic says that the endpoint's link was not asked for CapAtomic. It is
// fierr.EOpNotSupp as well.
var ErrNoAtomic = fmt.Errorf("the link was opened without CapAtomic (FI_ATOMIC), which Options.Caps asks for: %w", fierr.EOpNotSupp)

// smallAtomic is how many bytes of operands, and of results, an operation can have so
// that they lie in its block: nothing is pinned, and the result is copied in the end.
const smallAtomic = 64

// atomicState is what an endpoint has for atomic operations, under the progress lock.
type atomicState struct {
	call   providers.AtomicCall // scratch of the path of an operation, as are the next four
	one    [3][1][]byte         // of the parts of a block
	bufs   [3][1][]byte         // of a call's sides
	remote [1]RemoteRange
	seen   [providers.MaxIOV]intercept.RemoteIOV
	free   []*atomicOp
	made   int            // those in free and those in use
	pin    runtime.Pinner // of the blocks
	// counts are how many elements an operation can have on all rails, and one more;
	// 0 is not known yet.
	counts [providers.NumAtomicKinds][providers.NumAtomicOps][providers.NumDatatypes]uint32
}

// atomicBlock is memory of an operation, for operands, what to compare with, and results.
type atomicBlock [3][smallAtomic]byte

// blockChunk is how many blocks are made at once: whole pages, so that each block is
// aligned for every datatype.
const blockChunk = 256

// atomicOp is what an atomic operation has besides a send's.
type atomicOp struct {
	block   *atomicBlock
	copied  []byte         // operands that are too long for the block
	sink    []byte         // for results that nobody wants
	results [][]byte       // where to put results that come into the block
	pin     runtime.Pinner // of buffers that the provider has
	leases  [3 * providers.MaxIOV]mr.Lease
	nleases int
}

// atomicArgs is one call.
type atomicArgs struct {
	op                        AtomicOp
	typ                       Datatype
	operands, compare, result [][]byte
	remote                    []RemoteRange
	flags                     Flags
	ctx                       any
	quiet                     bool
	// delivered has the completion say that it is done at the target, where that can be
	// had; readable says that the target can be read.
	delivered, readable bool
}

// kindOf is which of the three calls an operation is.
func kindOf(o intercept.Op) providers.AtomicKind {
	switch {
	case o >= intercept.OpCompareAtomic:
		return providers.AtomicCompare
	case o >= intercept.OpFetchAtomic:
		return providers.AtomicFetch
	}
	return providers.AtomicBase
}

// startAtomic starts one atomic operation, under the lock. It is as startRMA.
func (ep *Endpoint) startAtomic(o intercept.Op, a *atomicArgs) error {
	if err := ep.check(); err != nil {
		return err
	}
	if ep.set.Caps&CapAtomic == 0 {
		return ep.withoutCap(callName(o), ErrNoAtomic)
	}
	kind := kindOf(o)
	size, err := ep.checkAtomic(o, kind, a)
	if err != nil {
		return err
	}
	mem := a.remote[0].Mem
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
	path, err := ep.atomicPath(state, size)
	if err == nil {
		ep.atomics.call.RemoteCount, err = aim(path, a.remote, &ep.atomics.call.Remote, targetAccess(kind, a.op))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", callName(o), err)
	}
	slot, op, err := ep.begin(path, state, mem.to, size, 0, a.ctx, a.quiet)
	if err != nil {
		return err
	}
	op.rma = FlagAtomic | FlagWrite
	if kind != providers.AtomicBase {
		op.rma = FlagAtomic | FlagRead
	}
	c := &ep.atomics.call
	c.Kind, c.Op, c.Type, c.Dest, c.Slot = kind, a.op, a.typ, path.addr, slot
	var out handing
	if ep.hooks != nil {
		out = ep.hooks.handOverAtomic(path, op, o, a)
	} else if err := ep.handOverAtomic(path.rail, state, op, a); err != nil {
		out = handing{provider: true, err: err}
	}
	return ep.conclude(o, path, slot, op, a.flags, out)
}

// checkAtomic looks at everything that the call has, and answers how many bytes are
// changed or fetched.
func (ep *Endpoint) checkAtomic(o intercept.Op, kind providers.AtomicKind, a *atomicArgs) (uint64, error) {
	limit, err := ep.atomicCount(kind, a.op, a.typ)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", callName(o), err)
	}
	if err := ep.checkLevels(o, a.flags); err != nil {
		return 0, err
	}
	n, err := ep.checkBuffers(o, kind, a)
	if err != nil {
		return 0, err
	}
	if count := n / uint64(a.typ.Size()); count > uint64(limit) {
		return 0, tooManyElements(o, a, count, limit)
	}
	if a.flags&FlagInject != 0 && n > ep.link.Info.InjectSize {
		return 0, tooLongToInject(o, n, ep.link.Info.InjectSize)
	}
	return n, ep.checkTargets(o, kind, a, n)
}

// checkBuffers looks at the local side.
func (ep *Endpoint) checkBuffers(o intercept.Op, kind providers.AtomicKind, a *atomicArgs) (n uint64, err error) {
	read := a.op == AtomicRead
	for _, side := range [...]struct {
		name string
		bufs [][]byte
		none bool
	}{
		{"operands", a.operands, read},
		{"values to compare with", a.compare, kind != providers.AtomicCompare},
		{"results", a.result, kind == providers.AtomicBase},
	} {
		if side.none {
			if len(side.bufs) > 0 && (len(side.bufs) > 1 || len(side.bufs[0]) > 0) {
				return 0, fmt.Errorf("%s: %v has no %s: %w", callName(o), a.op, side.name, fierr.EInval)
			}
			continue
		}
		total, err := ep.checkSide(o, a.typ, side.name, side.bufs)
		if err != nil {
			return 0, err
		}
		if n != 0 && total != n {
			return 0, fmt.Errorf("%s: %d bytes of %s, %d are needed: %w", callName(o), total, side.name, n, fierr.EInval)
		}
		n = total
	}
	return n, nil
}

func (ep *Endpoint) checkSide(o intercept.Op, typ Datatype, name string, bufs [][]byte) (total uint64, err error) {
	if len(bufs) > ep.link.Info.IOVLimit {
		return 0, fmt.Errorf("%s: %d buffers for %s, this link takes %d: %w", callName(o), len(bufs), name, ep.link.Info.IOVLimit, fierr.EInval)
	}
	for _, b := range bufs {
		if len(b) == 0 || len(b)%typ.Size() != 0 {
			return 0, fmt.Errorf("%s: a buffer of %d bytes for %s: %v takes multiples of %d, at least 1: %w", callName(o), len(b), name, typ, typ.Size(), fierr.EInval)
		}
		if at := uintptr(unsafe.Pointer(unsafe.SliceData(b))); at%uintptr(typ.Align()) != 0 {
			return 0, fmt.Errorf("%s: a buffer for %s at %#x: %v is aligned to %d bytes: %w", callName(o), name, at, typ, typ.Align(), fierr.EInval)
		}
		total += uint64(len(b))
	}
	if total == 0 {
		return 0, fmt.Errorf("%s: no %s given: at least 1 element of %v is needed: %w", callName(o), name, typ, fierr.EInval)
	}
	return total, nil
}

// checkTargets looks at the remote side.
func (ep *Endpoint) checkTargets(o intercept.Op, kind providers.AtomicKind, a *atomicArgs, size uint64) error {
	if _, err := ep.checkRanges(o, a.remote, size, targetAccess(kind, a.op)); err != nil {
		return err
	}
	a.readable = true
	for i := range a.remote {
		r := &a.remote[i]
		if r.Len == 0 || r.Len%uint64(a.typ.Size()) != 0 {
			return fmt.Errorf("%s: a remote range of %d bytes: %v takes multiples of %d, at least 1: %w", callName(o), r.Len, a.typ, a.typ.Size(), fierr.EInval)
		}
		if (r.Mem.base+r.Mem.off+r.Off)%uint64(a.typ.Align()) != 0 {
			return fmt.Errorf("%s: offset %d of the remote memory is not aligned to the %d bytes of %v: %w", callName(o), r.Off, a.typ.Align(), a.typ, fierr.EInval)
		}
		a.readable = a.readable && r.Mem.Access()&mr.RemoteRead != 0
	}
	return nil
}

// targetAccess is what the target's memory has to allow.
func targetAccess(kind providers.AtomicKind, op AtomicOp) mr.Access {
	switch {
	case op == AtomicRead:
		return mr.RemoteRead
	case kind == providers.AtomicBase:
		return mr.RemoteWrite
	}
	return mr.RemoteRead | mr.RemoteWrite
}

// atomicPath is the policy's path, unless NICs do the operations: those that are done by
// different NICs, or by a NIC and a process, are not atomic with each other. Then all take
// the target's first NIC that this side reaches.
func (ep *Endpoint) atomicPath(state *peerState, size uint64) (best *path, err error) {
	for i := range state.paths {
		p := &state.paths[i]
		if ep.link.Rails[p.rail].NICAtomics && (best == nil || p.entry < best.entry) {
			best = p
		}
	}
	if best != nil {
		return best, nil
	}
	return ep.chooseRMA(state, size)
}

// handOverAtomic gives the scratch operation to its provider.
func (ep *Endpoint) handOverAtomic(r int, state *peerState, op *txOp, a *atomicArgs) error {
	c := &ep.atomics.call
	ep.letGo(op) // a hook may hand over again
	c.Flags = uint64(a.flags & levels)
	confirm, err := ep.confirm(r, a)
	if err != nil {
		return err
	}
	if op.atomic == nil { // a hook may try again
		op.atomic = ep.atomics.take()
	}
	if err := ep.placeAtomic(r, op, a, confirm); err != nil {
		return err
	}
	op.state = txActive
	if ep.link.Rails[r].NodeLocal && !ep.enter(state, op, c.Remote[:c.RemoteCount], targetAccess(c.Kind, a.op)) {
		return errKeyGone
	}
	return ep.core.(providers.AtomicCore).Atomic(r, c)
}

// confirm sees to it that the completion says that the target has the result, if that is
// wanted, and answers whether something has to be fetched for that.
func (ep *Endpoint) confirm(r int, a *atomicArgs) (fetch bool, err error) {
	c, info := &ep.atomics.call, &ep.link.Rails[r]
	want := a.delivered || a.flags&FlagDeliveryComplete != 0
	switch {
	case !want || c.Kind != providers.AtomicBase:
		c.Flags &^= providers.FlagDeliveryComplete // what fetches has it by itself
	case !info.FetchToConfirm:
		c.Flags |= info.Levels & providers.FlagDeliveryComplete
	case a.readable:
		c.Flags &^= providers.FlagDeliveryComplete
		c.Kind = providers.AtomicFetch
		return true, nil
	case !a.delivered:
		return false, fmt.Errorf("rail %s confirms atomics by reading: FlagDeliveryComplete needs memory that allows %v as well: %w", info.Name(), mr.RemoteRead, fierr.EOpNotSupp)
	}
	return false, nil
}

// atomicCount is how many elements one operation can have on every rail.
func (ep *Endpoint) atomicCount(kind providers.AtomicKind, op AtomicOp, typ Datatype) (int, error) {
	if !typ.Valid() || int(op) >= providers.NumAtomicOps {
		return 0, fmt.Errorf("operation %d of datatype %d: there are 0 to %d and 0 to %d: %w", op, typ, providers.NumAtomicOps-1, providers.NumDatatypes-1, fierr.EInval)
	}
	if !kind.Takes(op) {
		return 0, fmt.Errorf("%v is not for this call: those that compare, and reading, have calls of their own: %w", op, fierr.EInval)
	}
	known := &ep.atomics.counts[kind][op][typ]
	if *known == 0 {
		least := math.MaxInt32
		for r := range ep.link.Rails {
			least = min(least, ep.atomicCountOn(r, kind, op, typ))
		}
		*known = uint32(least) + 1
	}
	if *known > 1 {
		return int(*known - 1), nil
	}
	for r := range ep.link.Rails {
		if ep.atomicCountOn(r, kind, op, typ) == 0 {
			return 0, fmt.Errorf("rail %s has no %v of %v: %w", ep.link.Rails[r].Name(), op, typ, fierr.EOpNotSupp)
		}
	}
	return 0, fierr.EOpNotSupp
}

// atomicCountOn is that of one rail, 0 if it cannot do it.
func (ep *Endpoint) atomicCountOn(r int, kind providers.AtomicKind, op AtomicOp, typ Datatype) int {
	core, ok := ep.core.(providers.AtomicCore)
	if !ok {
		return 0
	}
	n, err := core.QueryAtomic(r, kind, op, typ)
	if err != nil {
		return 0
	}
	return min(n, math.MaxInt32)
}
