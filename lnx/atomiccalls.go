package lnx

import (
	"fmt"

	"golnx/providers"
	"golnx/providers/fierr"
	"golnx/rail/intercept"
)

// AtomicOp is what an atomic operation does to each element at the target (enum fi_op).
type AtomicOp = providers.AtomicOp

// The operations, where a is the target's element, b the operand, and c what it is
// compared with. Logical ones answer 0 or 1.
const (
	AtomicMin     = providers.AtomicMin     // b if it is less than a
	AtomicMax     = providers.AtomicMax     // b if it is greater than a
	AtomicSum     = providers.AtomicSum     // a + b
	AtomicProd    = providers.AtomicProd    // a * b
	AtomicLOr     = providers.AtomicLOr     // a || b
	AtomicLAnd    = providers.AtomicLAnd    // a && b
	AtomicBOr     = providers.AtomicBOr     // a | b
	AtomicBAnd    = providers.AtomicBAnd    // a & b
	AtomicLXor    = providers.AtomicLXor    // whether one of a and b is 0, and not both
	AtomicBXor    = providers.AtomicBXor    // a ^ b
	AtomicRead    = providers.AtomicRead    // a; of FetchAtomic only
	AtomicWrite   = providers.AtomicWrite   // b
	AtomicCSwap   = providers.AtomicCSwap   // b if c == a; this and those below of CompareAtomic only
	AtomicCSwapNE = providers.AtomicCSwapNE // b if c != a
	AtomicCSwapLE = providers.AtomicCSwapLE // b if c <= a
	AtomicCSwapLT = providers.AtomicCSwapLT // b if c < a
	AtomicCSwapGE = providers.AtomicCSwapGE // b if c >= a
	AtomicCSwapGT = providers.AtomicCSwapGT // b if c > a
	AtomicMSwap   = providers.AtomicMSwap   // b where c has bits, a elsewhere
	AtomicDiff    = providers.AtomicDiff    // a - b
)

// Datatype is the type of the elements (enum fi_datatype).
type Datatype = providers.Datatype

// The datatypes. What a rail has of them say AtomicValid and its kin.
const (
	Int8              = providers.Int8
	Uint8             = providers.Uint8
	Int16             = providers.Int16
	Uint16            = providers.Uint16
	Int32             = providers.Int32
	Uint32            = providers.Uint32
	Int64             = providers.Int64
	Uint64            = providers.Uint64
	Float32           = providers.Float32
	Float64           = providers.Float64
	Complex64         = providers.Complex64
	Complex128        = providers.Complex128
	LongDouble        = providers.LongDouble // C's, of 16 bytes
	LongDoubleComplex = providers.LongDoubleComplex
	Int128            = providers.Int128
	Uint128           = providers.Uint128
	Float16           = providers.Float16
	BFloat16          = providers.BFloat16
	Float8E4M3        = providers.Float8E4M3
	Float8E5M2        = providers.Float8E5M2
)

// AtomicMsg is an operation of AtomicMsg, FetchAtomicMsg and CompareAtomicMsg (struct
// fi_msg_atomic). Each side has at most Link.Info.IOVLimit buffers, and all have the same
// number of elements. The slices of slices can be reused when the call returns.
type AtomicMsg struct {
	Op   AtomicOp
	Type Datatype
	// IOV is the operands, none for AtomicRead. Compare is of CompareAtomicMsg, Result
	// of that and FetchAtomicMsg.
	IOV, Compare, Result [][]byte
	// Remote is what it is done to, of one peer, at most Link.Info.RMAIOVLimit ranges.
	Remote  []RemoteRange
	Context any
}

// Atomic does op with each element of buf and its counterpart in a peer's memory, from an
// offset on (fi_atomic(3)). Each element is atomic by itself, with atomic operations of
// all peers and of the target on itself (Insert its own Name), not with what the target's
// program does to its memory otherwise. The target has to drive its rails.
//
// buf and the place in the peer's memory have to be aligned for the datatype. buf belongs
// to the endpoint until the completion, which has opContext as its Context; up to 64 bytes
// are copied, so that it can be used again at once. EAGAIN means that nothing was started:
// read the CQ, then try again.
//
// The completion says that buf can be used again; that the target has the result says
// FlagDeliveryComplete, for which shm needs memory that allows mr.RemoteRead as well.
func (ep *Endpoint) Atomic(buf []byte, to *RemoteMemory, off uint64, typ Datatype, op AtomicOp, opContext any) error {
	return ep.atomic1(intercept.OpAtomic, buf, nil, nil, to, off, &atomicArgs{typ: typ, op: op, ctx: opContext})
}

// AtomicV has its operands in several buffers (fi_atomicv(3)).
func (ep *Endpoint) AtomicV(iov [][]byte, to *RemoteMemory, off uint64, typ Datatype, op AtomicOp, opContext any) error {
	return ep.atomicV(intercept.OpAtomicV, to, off, &atomicArgs{operands: iov, typ: typ, op: op, ctx: opContext})
}

// AtomicMsg takes flags (fi_atomicmsg(3)): FlagCompletion, without which only a failure
// is reported, FlagInject, and a completion level.
func (ep *Endpoint) AtomicMsg(m *AtomicMsg, flags Flags) error {
	if both := FlagInject | FlagDeliveryComplete; flags&both == both {
		return fmt.Errorf("AtomicMsg: %v exclude each other: %w", both, fierr.EBadFlags)
	}
	return ep.atomicMsg(intercept.OpAtomicMsg, m, flags, FlagInject)
}

// InjectAtomic takes a copy of buf, at most Link.Info.InjectSize bytes, and has no
// completion (fi_inject_atomic(3)). Should it fail after all, there is an error entry
// without context in the CQ.
func (ep *Endpoint) InjectAtomic(buf []byte, to *RemoteMemory, off uint64, typ Datatype, op AtomicOp) error {
	return ep.atomic1(intercept.OpInjectAtomic, buf, nil, nil, to, off, &atomicArgs{typ: typ, op: op, flags: FlagInject, quiet: true})
}

// FetchAtomic is Atomic that puts into result what was there before
// (fi_fetch_atomic(3)). Both belong to the endpoint until the completion. With AtomicRead
// buf is nil.
func (ep *Endpoint) FetchAtomic(buf, result []byte, from *RemoteMemory, off uint64, typ Datatype, op AtomicOp, opContext any) error {
	return ep.atomic1(intercept.OpFetchAtomic, buf, nil, result, from, off, &atomicArgs{typ: typ, op: op, ctx: opContext})
}

// FetchAtomicV has several buffers on each side (fi_fetch_atomicv(3)).
func (ep *Endpoint) FetchAtomicV(iov, result [][]byte, from *RemoteMemory, off uint64, typ Datatype, op AtomicOp, opContext any) error {
	return ep.atomicV(intercept.OpFetchAtomicV, from, off, &atomicArgs{operands: iov, result: result, typ: typ, op: op, ctx: opContext})
}

// FetchAtomicMsg takes flags (fi_fetch_atomicmsg(3)): FlagCompletion, without which only
// a failure is reported, and a completion level.
func (ep *Endpoint) FetchAtomicMsg(m *AtomicMsg, flags Flags) error {
	return ep.atomicMsg(intercept.OpFetchAtomicMsg, m, flags, 0)
}

// CompareAtomic is FetchAtomic for the operations that compare: each element of buf goes
// where that of compare says so (fi_compare_atomic(3)).
func (ep *Endpoint) CompareAtomic(buf, compare, result []byte, to *RemoteMemory, off uint64, typ Datatype, op AtomicOp, opContext any) error {
	return ep.atomic1(intercept.OpCompareAtomic, buf, compare, result, to, off, &atomicArgs{typ: typ, op: op, ctx: opContext})
}

// CompareAtomicV has several buffers on each side (fi_compare_atomicv(3)).
func (ep *Endpoint) CompareAtomicV(iov, compare, result [][]byte, to *RemoteMemory, off uint64, typ Datatype, op AtomicOp, opContext any) error {
	return ep.atomicV(intercept.OpCompareAtomicV, to, off, &atomicArgs{operands: iov, compare: compare, result: result, typ: typ, op: op, ctx: opContext})
}

// CompareAtomicMsg takes flags, those of FetchAtomicMsg (fi_compare_atomicmsg(3)).
func (ep *Endpoint) CompareAtomicMsg(m *AtomicMsg, flags Flags) error {
	return ep.atomicMsg(intercept.OpCompareAtomicMsg, m, flags, 0)
}

// AtomicValid answers how many elements one Atomic can have on this link, which is the
// least of its rails (fi_atomicvalid(3)). The error names a rail that cannot do it.
func (ep *Endpoint) AtomicValid(typ Datatype, op AtomicOp) (int, error) {
	return ep.atomicValid("AtomicValid", providers.AtomicBase, typ, op)
}

// FetchAtomicValid is AtomicValid for FetchAtomic (fi_fetch_atomicvalid(3)).
func (ep *Endpoint) FetchAtomicValid(typ Datatype, op AtomicOp) (int, error) {
	return ep.atomicValid("FetchAtomicValid", providers.AtomicFetch, typ, op)
}

// CompareAtomicValid is AtomicValid for CompareAtomic (fi_compare_atomicvalid(3)).
func (ep *Endpoint) CompareAtomicValid(typ Datatype, op AtomicOp) (int, error) {
	return ep.atomicValid("CompareAtomicValid", providers.AtomicCompare, typ, op)
}

// AtomicKind is which of the calls an operation is: AtomicBase, AtomicFetch or
// AtomicCompare.
type AtomicKind = providers.AtomicKind

// The kinds.
const (
	AtomicBase    = providers.AtomicBase
	AtomicFetch   = providers.AtomicFetch
	AtomicCompare = providers.AtomicCompare
)

// QueryAtomic answers for each rail, in the link's order, how many elements an operation
// can have there (fi_query_atomic(3)); 0 if the rail cannot do it.
func (ep *Endpoint) QueryAtomic(kind AtomicKind, typ Datatype, op AtomicOp) ([]int, error) {
	if kind >= providers.NumAtomicKinds {
		return nil, fmt.Errorf("QueryAtomic: kind %d: AtomicBase, AtomicFetch and AtomicCompare are possible: %w", kind, fierr.EInval)
	}
	ep.lock()
	defer ep.unlock()
	if err := ep.canAtomic("QueryAtomic"); err != nil {
		return nil, err
	}
	counts := make([]int, len(ep.link.Rails))
	for r := range counts {
		counts[r] = ep.atomicCountOn(r, kind, op, typ)
	}
	return counts, nil
}

func (ep *Endpoint) atomicValid(call string, kind AtomicKind, typ Datatype, op AtomicOp) (int, error) {
	ep.lock()
	defer ep.unlock()
	if err := ep.canAtomic(call); err != nil {
		return 0, err
	}
	n, err := ep.atomicCount(kind, op, typ)
	if err != nil {
		err = fmt.Errorf("%s: %w", call, err)
	}
	return n, err
}

func (ep *Endpoint) canAtomic(call string) error {
	if err := ep.check(); err != nil {
		return err
	}
	if ep.set.Caps&CapAtomic == 0 {
		return ep.withoutCap(call, ErrNoAtomic)
	}
	return nil
}

// atomic1 uses one buffer a side; nil is none. The scratch slices avoid allocations.
func (ep *Endpoint) atomic1(o intercept.Op, buf, compare, result []byte, m *RemoteMemory, off uint64, a *atomicArgs) error {
	ep.lock()
	defer ep.unlock()
	one := &ep.atomics.bufs
	one[0][0], one[1][0], one[2][0] = buf, compare, result
	a.operands, a.compare, a.result = one[0][:], one[1][:], one[2][:]
	err := ep.atomicAt(o, m, off, uint64(max(len(buf), len(result))), a)
	*one = [3][1][]byte{}
	return err
}

func (ep *Endpoint) atomicV(o intercept.Op, m *RemoteMemory, off uint64, a *atomicArgs) error {
	n := 0
	for _, b := range a.operands {
		n += len(b)
	}
	if a.op == AtomicRead {
		for _, b := range a.result {
			n += len(b)
		}
	}
	ep.lock()
	defer ep.unlock()
	return ep.atomicAt(o, m, off, uint64(n), a)
}

// atomicAt uses one range, under the lock.
func (ep *Endpoint) atomicAt(o intercept.Op, m *RemoteMemory, off, n uint64, a *atomicArgs) error {
	ep.atomics.remote[0] = RemoteRange{m, off, n}
	a.remote = ep.atomics.remote[:]
	err := ep.startAtomic(o, a)
	ep.atomics.remote[0].Mem = nil
	return err
}

func (ep *Endpoint) atomicMsg(o intercept.Op, m *AtomicMsg, flags, more Flags) error {
	if bad := flags &^ (FlagCompletion | levels | more); bad != 0 {
		return fmt.Errorf("%s: %v is not for it: %w", callName(o), bad, fierr.EBadFlags)
	}
	ep.lock()
	defer ep.unlock()
	return ep.startAtomic(o, &atomicArgs{
		op: m.Op, typ: m.Type, operands: m.IOV, compare: m.Compare, result: m.Result, remote: m.Remote,
		flags: flags, ctx: m.Context, quiet: flags&FlagCompletion == 0,
	})
}
