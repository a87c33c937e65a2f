package lnx

import (
	"context"
	"fmt"
	"reflect"
	"unsafe"

	"golnx/providers"
	"golnx/providers/fierr"
	"golnx/rail/intercept"
)

// Integer is the integer types that atomic operations have.
type Integer interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// Ordered is the types that Min and Max have.
type Ordered interface {
	Integer | ~float32 | ~float64
}

// Number is all types that atomic operations have in Go.
type Number interface {
	Ordered | ~complex64 | ~complex128
}

// The functions below do one atomic operation on one element of a peer's memory, at an
// offset in bytes, and return when it is done there. They wait while the rail takes no
// operation (EAGAIN). When the context ends after the operation was handed over, the error
// says so: it may be done all the same.
//
// Over shm, those that answer nothing read, too, to know that it is done; if the memory
// does not allow that they return when the target has the request, before it has the
// memory changed.

// Load answers the element.
func Load[T Number](ctx context.Context, m *RemoteMemory, off uint64) (T, error) {
	var none T
	return atomically(ctx, m, off, intercept.OpFetchAtomic, AtomicRead, none, none)
}

// Store puts v there.
func Store[T Number](ctx context.Context, m *RemoteMemory, off uint64, v T) error {
	return changed(atomically(ctx, m, off, intercept.OpAtomic, AtomicWrite, v, v))
}

// Swap puts v there, and answers what was there before.
func Swap[T Number](ctx context.Context, m *RemoteMemory, off uint64, v T) (T, error) {
	return atomically(ctx, m, off, intercept.OpFetchAtomic, AtomicWrite, v, v)
}

// CompareSwap puts new there if old is there, and answers what was there before: old, if
// it did.
func CompareSwap[T Number](ctx context.Context, m *RemoteMemory, off uint64, old, new T) (T, error) {
	return atomically(ctx, m, off, intercept.OpCompareAtomic, AtomicCSwap, new, old)
}

// Add adds v.
func Add[T Number](ctx context.Context, m *RemoteMemory, off uint64, v T) error {
	return changed(atomically(ctx, m, off, intercept.OpAtomic, AtomicSum, v, v))
}

// FetchAdd adds v, and answers what was there before.
func FetchAdd[T Number](ctx context.Context, m *RemoteMemory, off uint64, v T) (T, error) {
	return atomically(ctx, m, off, intercept.OpFetchAtomic, AtomicSum, v, v)
}

// Min puts v there if it is less.
func Min[T Ordered](ctx context.Context, m *RemoteMemory, off uint64, v T) error {
	return changed(atomically(ctx, m, off, intercept.OpAtomic, AtomicMin, v, v))
}

// FetchMin is Min, and answers what was there before.
func FetchMin[T Ordered](ctx context.Context, m *RemoteMemory, off uint64, v T) (T, error) {
	return atomically(ctx, m, off, intercept.OpFetchAtomic, AtomicMin, v, v)
}

// Max puts v there if it is greater.
func Max[T Ordered](ctx context.Context, m *RemoteMemory, off uint64, v T) error {
	return changed(atomically(ctx, m, off, intercept.OpAtomic, AtomicMax, v, v))
}

// FetchMax is Max, and answers what was there before.
func FetchMax[T Ordered](ctx context.Context, m *RemoteMemory, off uint64, v T) (T, error) {
	return atomically(ctx, m, off, intercept.OpFetchAtomic, AtomicMax, v, v)
}

// And clears the bits that v does not have.
func And[T Integer](ctx context.Context, m *RemoteMemory, off uint64, v T) error {
	return changed(atomically(ctx, m, off, intercept.OpAtomic, AtomicBAnd, v, v))
}

// FetchAnd is And, and answers what was there before.
func FetchAnd[T Integer](ctx context.Context, m *RemoteMemory, off uint64, v T) (T, error) {
	return atomically(ctx, m, off, intercept.OpFetchAtomic, AtomicBAnd, v, v)
}

// Or sets the bits of v.
func Or[T Integer](ctx context.Context, m *RemoteMemory, off uint64, v T) error {
	return changed(atomically(ctx, m, off, intercept.OpAtomic, AtomicBOr, v, v))
}

// FetchOr is Or, and answers what was there before.
func FetchOr[T Integer](ctx context.Context, m *RemoteMemory, off uint64, v T) (T, error) {
	return atomically(ctx, m, off, intercept.OpFetchAtomic, AtomicBOr, v, v)
}

// Xor flips the bits of v.
func Xor[T Integer](ctx context.Context, m *RemoteMemory, off uint64, v T) error {
	return changed(atomically(ctx, m, off, intercept.OpAtomic, AtomicBXor, v, v))
}

// FetchXor is Xor, and answers what was there before.
func FetchXor[T Integer](ctx context.Context, m *RemoteMemory, off uint64, v T) (T, error) {
	return atomically(ctx, m, off, intercept.OpFetchAtomic, AtomicBXor, v, v)
}

func changed[T any](_ T, err error) error { return err }

// DatatypeOf is the datatype of a Go type.
func DatatypeOf[T Number]() Datatype {
	var d Datatype
	switch reflect.TypeFor[T]().Kind() {
	case reflect.Int8:
		d = Int8
	case reflect.Uint8:
		d = Uint8
	case reflect.Int16:
		d = Int16
	case reflect.Uint16:
		d = Uint16
	case reflect.Int32:
		d = Int32
	case reflect.Uint32:
		d = Uint32
	case reflect.Int64:
		d = Int64
	case reflect.Uint64:
		d = Uint64
	case reflect.Float32:
		d = Float32
	case reflect.Float64:
		d = Float64
	case reflect.Complex64:
		d = Complex64
	case reflect.Complex128:
		d = Complex128
	}
	return d
}

// value is room for one element.
type value [2]uint64

func (v *value) bytes(n int) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(v)), n) }

func put[T Number](to *value, v T) { *(*T)(unsafe.Pointer(to)) = v }

// atomically does one operation. Operands and result lie in the call, which outlives the
// operation.
func atomically[T Number](ctx context.Context, m *RemoteMemory, off uint64, o intercept.Op, op AtomicOp, v, compare T) (old T, err error) {
	if m == nil {
		return old, fmt.Errorf("%v: no remote memory given; Import answers it: %w", op, fierr.EInval)
	}
	c := newCall(m.ep)
	put(&c.operand, v)
	put(&c.compare, compare)
	if err := m.atomically(ctx, c, off, o, op, DatatypeOf[T]()); err != nil {
		return old, err
	}
	old = *(*T)(unsafe.Pointer(&c.result))
	c.free()
	return old, nil
}

func (m *RemoteMemory) atomically(ctx context.Context, c *call, off uint64, o intercept.Op, op AtomicOp, typ Datatype) error {
	fail := func(what string, err error) error {
		return fmt.Errorf("%v of %v at offset %d of peer %v%s: %w", op, typ, off, m.to, what, err)
	}
	if err := m.startValue(ctx, c, off, o, op, typ); err != nil {
		c.free()
		return fail("", err)
	}
	if err := m.ep.await(ctx, &c.waiter, c.over.Load); err != nil && !c.over.Load() {
		return fail(", which is under way and may still be done", err)
	}
	if err := c.err; err != nil {
		c.free()
		return err
	}
	return nil
}

func (m *RemoteMemory) startValue(ctx context.Context, c *call, off uint64, o intercept.Op, op AtomicOp, typ Datatype) error {
	n := typ.Size()
	buf, compare, result := c.operand.bytes(n), c.compare.bytes(n), c.result.bytes(n)
	if op == AtomicRead {
		buf = nil
	}
	kind := kindOf(o)
	if kind != providers.AtomicCompare {
		compare = nil
	}
	if kind == providers.AtomicBase {
		result = nil
	}
	for try := 0; ; try++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := m.ep.atomic1(o, buf, compare, result, m, off, &atomicArgs{op: op, typ: typ, ctx: c, delivered: true})
		if err == fierr.Again {
			err = m.ep.pause(ctx, try)
			if err == nil {
				continue
			}
		}
		return err
	}
}
