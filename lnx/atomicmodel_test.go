package lnx

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
)

// The model of atomic operations: one element of a datatype is decoded, changed in Go, and
// encoded. It knows nothing of how libfabric does it.

// atomicModel answers what is at the target afterwards.
func atomicModel(typ Datatype, op AtomicOp, a, b, c []byte) []byte {
	switch typ {
	case Int8, Int16, Int32, Int64:
		return modelInt(op, true, a, b, c)
	case Uint8, Uint16, Uint32, Uint64:
		return modelInt(op, false, a, b, c)
	case Float32, Float64, LongDouble:
		n := len(a)
		return putFloat(n, modelReal(n, op, getFloat(a), getFloat(b), getFloat(c)))
	case Complex64, Complex128, LongDoubleComplex:
		n := len(a)
		v := modelComplex(n, op, getComplex(a), getComplex(b), getComplex(c))
		return append(putFloat(n/2, real(v)), putFloat(n/2, imag(v))...)
	}
	panic(fmt.Sprintf("no model of %v", typ))
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func modelInt(op AtomicOp, signed bool, ab, bb, cb []byte) []byte {
	n := len(ab)
	a, b, c := getInt(ab), getInt(bb), getInt(cb)
	less := func(x, y uint64) bool {
		if signed {
			shift := 64 - 8*n
			return int64(x<<shift) < int64(y<<shift)
		}
		return x < y
	}
	when := func(swap bool) {
		if swap {
			a = b
		}
	}
	switch op {
	case AtomicMin:
		when(less(b, a))
	case AtomicMax:
		when(less(a, b))
	case AtomicSum:
		a += b
	case AtomicDiff:
		a -= b
	case AtomicProd:
		a *= b
	case AtomicLOr:
		a = truth(a != 0 || b != 0)
	case AtomicLAnd:
		a = truth(a != 0 && b != 0)
	case AtomicLXor:
		a = truth((a != 0) != (b != 0))
	case AtomicBOr:
		a |= b
	case AtomicBAnd:
		a &= b
	case AtomicBXor:
		a ^= b
	case AtomicRead:
	case AtomicWrite:
		a = b
	case AtomicCSwap:
		when(c == a)
	case AtomicCSwapNE:
		when(c != a)
	case AtomicCSwapLE:
		when(!less(a, c))
	case AtomicCSwapLT:
		when(less(c, a))
	case AtomicCSwapGE:
		when(!less(c, a))
	case AtomicCSwapGT:
		when(less(a, c))
	case AtomicMSwap:
		a = b&c | a&^c
	default:
		panic(fmt.Sprintf("no model of %v", op))
	}
	return putInt(n, a)
}

func modelReal(n int, op AtomicOp, a, b, c float64) float64 {
	round := func(v float64) float64 { // the values are small integers, which all types hold
		if n == 4 {
			return float64(float32(v))
		}
		return v
	}
	when := func(swap bool) float64 {
		if swap {
			return b
		}
		return a
	}
	switch op {
	case AtomicMin:
		return min(a, b)
	case AtomicMax:
		return max(a, b)
	case AtomicSum:
		return round(a + b)
	case AtomicDiff:
		return round(a - b)
	case AtomicProd:
		return round(a * b)
	case AtomicLOr:
		return float64(truth(a != 0 || b != 0))
	case AtomicLAnd:
		return float64(truth(a != 0 && b != 0))
	case AtomicLXor:
		return float64(truth((a != 0) != (b != 0)))
	case AtomicRead:
		return a
	case AtomicWrite:
		return b
	case AtomicCSwap:
		return when(c == a)
	case AtomicCSwapNE:
		return when(c != a)
	case AtomicCSwapLE:
		return when(c <= a)
	case AtomicCSwapLT:
		return when(c < a)
	case AtomicCSwapGE:
		return when(c >= a)
	case AtomicCSwapGT:
		return when(c > a)
	}
	panic(fmt.Sprintf("no model of %v for reals", op))
}

func modelComplex(_ int, op AtomicOp, a, b, c complex128) complex128 {
	switch op {
	case AtomicSum:
		return a + b
	case AtomicDiff:
		return a - b
	case AtomicProd:
		return a * b
	case AtomicLOr:
		return complex(float64(truth(a != 0 || b != 0)), 0)
	case AtomicLAnd:
		return complex(float64(truth(a != 0 && b != 0)), 0)
	case AtomicLXor:
		return complex(float64(truth((a != 0) != (b != 0))), 0)
	case AtomicRead:
		return a
	case AtomicWrite:
		return b
	case AtomicCSwap:
		if c == a {
			return b
		}
		return a
	case AtomicCSwapNE:
		if c != a {
			return b
		}
		return a
	}
	panic(fmt.Sprintf("no model of %v for complex numbers", op))
}

func getInt(b []byte) (v uint64) {
	for i := range b {
		v |= uint64(b[i]) << (8 * i)
	}
	return v
}

func putInt(n int, v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v)[:n] }

// getFloat and putFloat know IEEE's formats and, in 16 bytes, amd64's long double: a
// fraction of 64 bits with its leading one, exponent and sign, and padding.
func getFloat(b []byte) float64 {
	switch len(b) {
	case 4:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case 8:
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	fraction, exp := binary.LittleEndian.Uint64(b), int(binary.LittleEndian.Uint16(b[8:]))
	v := math.Ldexp(float64(fraction), exp&0x7fff-16383-63)
	if exp&0x8000 != 0 {
		return -v
	}
	return v
}

func putFloat(n int, v float64) []byte {
	switch n {
	case 4:
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(v)))
	case 8:
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))
	}
	b := make([]byte, 16)
	if v != 0 {
		whole := uint64(math.Abs(v))
		zeros := bits.LeadingZeros64(whole)
		binary.LittleEndian.PutUint64(b, whole<<zeros)
		binary.LittleEndian.PutUint16(b[8:], uint16(16383+63-zeros))
	}
	if math.Signbit(v) {
		b[9] |= 0x80
	}
	return b
}

func getComplex(b []byte) complex128 {
	return complex(getFloat(b[:len(b)/2]), getFloat(b[len(b)/2:]))
}

// sameElement compares values: a long double has bytes that mean nothing, and zero signs.
func sameElement(typ Datatype, x, y []byte) bool {
	switch typ {
	case Float32, Float64, LongDouble:
		return getFloat(x) == getFloat(y)
	case Complex64, Complex128, LongDoubleComplex:
		return getComplex(x) == getComplex(y)
	}
	return string(x) == string(y)
}

// element makes one up. Few values are used, so that equal ones meet.
func element(r *rand.Rand, typ Datatype) []byte {
	n := typ.Size()
	small := func() float64 { return float64(r.IntN(9) - 4) }
	switch typ {
	case Float32, Float64, LongDouble:
		return putFloat(n, small())
	case Complex64, Complex128, LongDoubleComplex:
		return append(putFloat(n/2, small()), putFloat(n/2, small())...)
	}
	if r.IntN(3) == 0 {
		return putInt(n, r.Uint64())
	}
	return putInt(n, uint64(r.IntN(7)-3))
}

func elements(r *rand.Rand, typ Datatype, n int) (b []byte) {
	for range n {
		b = append(b, element(r, typ)...)
	}
	return b
}
