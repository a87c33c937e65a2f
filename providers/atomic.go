package providers

// FlagAtomic marks atomic operations and their completions (FI_ATOMIC).
const FlagAtomic = 1 << 4

// AtomicOp is what an atomic operation does to each element at the target (enum fi_op,
// fi_atomic(3)).
type AtomicOp uint8

// The operations. a is the target's element, b the operand, c what it is compared with.
const (
	AtomicMin     AtomicOp = iota // b if it is less than a
	AtomicMax                     // b if it is greater than a
	AtomicSum                     // a + b
	AtomicProd                    // a * b
	AtomicLOr                     // a || b, as 0 or 1
	AtomicLAnd                    // a && b
	AtomicBOr                     // a | b
	AtomicBAnd                    // a & b
	AtomicLXor                    // whether one of a and b is 0
	AtomicBXor                    // a ^ b
	AtomicRead                    // a; for fetching only
	AtomicWrite                   // b
	AtomicCSwap                   // b if c == a; this one and the rest for comparing only
	AtomicCSwapNE                 // b if c != a
	AtomicCSwapLE                 // b if c <= a
	AtomicCSwapLT                 // b if c < a
	AtomicCSwapGE                 // b if c >= a
	AtomicCSwapGT                 // b if c > a
	AtomicMSwap                   // b where c has bits, a elsewhere
	AtomicDiff                    // a - b

	NumAtomicOps = iota
)

var atomicOpNames = [NumAtomicOps]string{
	"MIN", "MAX", "SUM", "PROD", "LOR", "LAND", "BOR", "BAND", "LXOR", "BXOR", "ATOMIC_READ", "ATOMIC_WRITE",
	"CSWAP", "CSWAP_NE", "CSWAP_LE", "CSWAP_LT", "CSWAP_GE", "CSWAP_GT", "MSWAP", "DIFF",
}

// String is the name in C, without FI_.
func (o AtomicOp) String() string {
	if int(o) < NumAtomicOps {
		return atomicOpNames[o]
	}
	return "unknown operation"
}

// Compares says whether the operation needs something to compare with.
func (o AtomicOp) Compares() bool { return o >= AtomicCSwap && o <= AtomicMSwap }

// Datatype is the type of the elements of an atomic operation (enum fi_datatype).
type Datatype uint8

// The datatypes. C's long double is 16 bytes of which 10 count on amd64.
const (
	Int8 Datatype = iota
	Uint8
	Int16
	Uint16
	Int32
	Uint32
	Int64
	Uint64
	Float32
	Float64
	Complex64
	Complex128
	LongDouble
	LongDoubleComplex
	Int128
	Uint128
	Float16
	BFloat16
	Float8E4M3
	Float8E5M2

	NumDatatypes = iota
)

var datatypes = [NumDatatypes]struct {
	name        string
	size, align uint8
}{
	{"INT8", 1, 1}, {"UINT8", 1, 1}, {"INT16", 2, 2}, {"UINT16", 2, 2}, {"INT32", 4, 4}, {"UINT32", 4, 4},
	{"INT64", 8, 8}, {"UINT64", 8, 8}, {"FLOAT", 4, 4}, {"DOUBLE", 8, 8}, {"FLOAT_COMPLEX", 8, 4}, {"DOUBLE_COMPLEX", 16, 8},
	{"LONG_DOUBLE", 16, 16}, {"LONG_DOUBLE_COMPLEX", 32, 16}, {"INT128", 16, 16}, {"UINT128", 16, 16},
	{"FLOAT16", 2, 2}, {"BFLOAT16", 2, 2}, {"FLOAT8_E4M3", 1, 1}, {"FLOAT8_E5M2", 1, 1},
}

// Valid says whether the number is one of the above.
func (d Datatype) Valid() bool { return int(d) < NumDatatypes }

// String is the name in C, without FI_.
func (d Datatype) String() string {
	if d.Valid() {
		return datatypes[d].name
	}
	return "unknown datatype"
}

// Size is the size of an element in bytes; Align is what its address has to be a multiple
// of, C's _Alignof. Both are 0 of numbers that are not Valid.
func (d Datatype) Size() int {
	if d.Valid() {
		return int(datatypes[d].size)
	}
	return 0
}

// Align is described with Size.
func (d Datatype) Align() int {
	if d.Valid() {
		return int(datatypes[d].align)
	}
	return 0
}

// AtomicKind is which of the three calls an atomic operation is.
type AtomicKind uint8

// The kinds.
const (
	AtomicBase    AtomicKind = iota // fi_atomic(3)
	AtomicFetch                     // fi_fetch_atomic(3): answers what was there before
	AtomicCompare                   // fi_compare_atomic(3): that, too

	NumAtomicKinds = iota
)

// Takes says whether a kind of call has an operation (fi_atomic(3)).
func (k AtomicKind) Takes(o AtomicOp) bool {
	switch {
	case int(o) >= NumAtomicOps:
		return false
	case o.Compares():
		return k == AtomicCompare
	case o == AtomicRead:
		return k == AtomicFetch
	}
	return k != AtomicCompare
}

// AtomicBufs are the buffers of one side of an atomic operation, of which the lengths are
// multiples of the datatype's size.
type AtomicBufs struct {
	IOV   [MaxIOV]IOVec
	Desc  [MaxIOV]uintptr // fi_mr_desc(3), 0 where none is needed
	Count int
}

// AtomicCall is one atomic operation (fi_atomicmsg(3) and its kin). A Core does not keep
// it. All sides have the same number of elements; Compare is of AtomicCompare only,
// Result of that and AtomicFetch.
type AtomicCall struct {
	Kind                      AtomicKind
	Op                        AtomicOp
	Type                      Datatype
	Operands, Compare, Result AtomicBufs
	// Remote is what it is done to; lengths are in bytes.
	Remote      [MaxIOV]RMAIOV
	RemoteCount int
	Dest        uint64 // rail address
	// Flags is FlagDeliveryComplete or 0.
	Flags uint64
	Slot  Slot
}

// AtomicCore is implemented by Cores whose rails have atomic operations; a rail does if
// its Info.Caps have CapAtomic. The context of an operation is a send's, and so is its
// completion.
type AtomicCore interface {
	Atomic(rail int, call *AtomicCall) error
	// QueryAtomic answers how many elements one operation can have
	// (fi_query_atomic(3)), or fierr.EOpNotSupp.
	QueryAtomic(rail int, kind AtomicKind, op AtomicOp, typ Datatype) (int, error)
}
