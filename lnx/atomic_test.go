package lnx

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"golnx/mr"
	"golnx/providers"
	"golnx/providers/fierr"
)

const anyRemote = mr.RemoteRead | mr.RemoteWrite

// atomicWorld is two endpoints, of which b has memory and is driven all the time.
type atomicWorld struct {
	a, b *Endpoint
	toB  Addr
	mem  []byte // b's
	at   *RemoteMemory
	all  *Region
	ctx  context.Context
}

var atomicLinks = []string{"shm", "tcp:lo", "shm+tcp:lo"}

func onAtomicLinks(t *testing.T, f func(t *testing.T, w *atomicWorld)) {
	for _, links := range atomicLinks {
		t.Run(links, func(t *testing.T) { f(t, newAtomicWorld(t, Options{Links: links}, 24<<10)) })
	}
}

func newAtomicWorld(t *testing.T, opts Options, size int) *atomicWorld {
	t.Helper()
	opts.Caps |= CapAtomic
	w := &atomicWorld{}
	w.a, w.b, w.toB, _ = connected(t, opts)
	ctx, cancel := context.WithTimeout(t.Context(), pairLimit)
	t.Cleanup(cancel)
	w.ctx = ctx
	buf, err := mr.Alloc(size)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, buf.Free()) })
	w.mem = buf.Bytes()
	w.all, err = w.b.Register(w.mem, anyRemote)
	require.NoError(t, err)
	t.Cleanup(func() {
		soon(t, func() bool {
			_, _ = w.a.CQ().Read(nil) // ends what uses the memory
			_, _ = w.b.CQ().Read(nil)
			err := w.all.Close()
			return err == nil || errors.Is(err, mr.ErrClosed)
		}, "the region to be free")
	})
	key, err := w.all.RemoteKey()
	require.NoError(t, err)
	w.at, err = w.a.Import(w.toB, key)
	require.NoError(t, err)
	driven := driveAlways(t, w.b)
	t.Cleanup(driven)
	return w
}

// driveAlways drives an endpoint until stop, or the end of the test.
func driveAlways(t *testing.T, ep *Endpoint) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			_, _ = ep.CQ().Read(nil)
			runtime.Gosched()
		}
	})
	return sync.OnceFunc(func() { cancel(); wg.Wait() })
}

// entry waits for the next completion of a.
func (w *atomicWorld) entry(t *testing.T) Entry {
	t.Helper()
	var e [1]Entry
	n, err := w.a.CQ().Wait(w.ctx, e[:])
	if err == fierr.Avail {
		failed, _ := w.a.CQ().ReadErr()
		require.NoError(t, failed)
	}
	require.NoError(t, err)
	require.Equal(t, 1, n)
	return e[0]
}

// try repeats a call while it answers EAGAIN.
func (w *atomicWorld) try(call func() error) error {
	for {
		if err := call(); err != fierr.Again {
			return err
		}
		_, _ = w.a.CQ().Read(nil)
	}
}

// Every operation with every datatype that the rails claim, in every form, does what the
// model does: to one element, some, and as many as one call takes.
func TestAtomicModel(t *testing.T) {
	onAtomicLinks(t, func(t *testing.T, w *atomicWorld) {
		r := rand.New(rand.NewPCG(1, 2))
		claimed := 0
		for kind := range AtomicKind(providers.NumAtomicKinds) {
			for op := range AtomicOp(providers.NumAtomicOps) {
				for typ := range Datatype(providers.NumDatatypes) {
					valid := [...]func(Datatype, AtomicOp) (int, error){w.a.AtomicValid, w.a.FetchAtomicValid, w.a.CompareAtomicValid}[kind]
					limit, err := valid(typ, op)
					counts, qerr := w.a.QueryAtomic(kind, typ, op)
					require.NoError(t, qerr)
					require.Equal(t, limit, slices.Min(counts), "%d %v %v", kind, op, typ)
					if err != nil {
						require.True(t, kind.Takes(op) == (fierr.EOpNotSupp == errnoOf(err)), "%v", err)
						continue
					}
					if (typ == LongDouble || typ == LongDoubleComplex) && runtime.GOARCH != "amd64" {
						continue // has another format there
					}
					claimed++
					for form, n := range []int{1, 3, limit} {
						w.model(t, r, kind, op, typ, n, form)
					}
				}
			}
		}
		t.Logf("%d combinations", claimed)
		require.Greater(t, claimed, 200)
		require.Greater(t, w.a.Stats()[0].Atomics, uint64(3*200))
	})
}

func errnoOf(err error) fierr.Errno { e, _ := fierr.Of(err); return e }

// model does one operation and compares.
func (w *atomicWorld) model(t *testing.T, r *rand.Rand, kind AtomicKind, op AtomicOp, typ Datatype, n, form int) {
	t.Helper()
	size := typ.Size()
	off := uint64(size * (1 + r.IntN(20)))
	if off%uint64(typ.Align()) != 0 {
		off = uint64(typ.Align())
	}
	before, operands, compare := elements(r, typ, n), elements(r, typ, n), elements(r, typ, n)
	copy(w.mem, untouched)
	copy(w.mem[off:], before)
	result := bytes.Repeat([]byte{0x77}, n*size)
	if op == AtomicRead {
		operands = nil
	}
	require.NoError(t, w.try(func() error {
		return w.call(kind, form, operands, compare, result, off, typ, op)
	}), "%d %v %v n=%d form=%d", kind, op, typ, n, form)
	e := w.entry(t)
	require.Equal(t, "atomic", e.Context)
	want := FlagAtomic | FlagRead
	if kind == AtomicBase {
		want = FlagAtomic | FlagWrite
	}
	require.Equal(t, want, e.Flags)
	if kind == AtomicBase {
		// The completion does not say that it is done there; the next one's answer does.
		_, err := Load[uint8](w.ctx, w.at, 0)
		require.NoError(t, err)
	}
	if operands == nil {
		operands = before
	}
	for i := range n {
		at := i * size
		model := atomicModel(typ, op, before[at:at+size], operands[at:at+size], compare[at:at+size])
		if got := w.mem[int(off)+at:][:size]; !sameElement(typ, model, got) {
			require.Fail(t, "wrong", "%d %v %v: element %d of %d: %x with %x (%x) became %x, want %x",
				kind, op, typ, i, n, before[at:at+size], operands[at:at+size], compare[at:at+size], got, model)
		}
		if kind != AtomicBase && !sameElement(typ, before[at:at+size], result[at:at+size]) {
			require.Fail(t, "wrong result", "%d %v %v: element %d of %d: %x, want %x", kind, op, typ, i, n, result[at:at+size], before[at:at+size])
		}
	}
	require.True(t, outside(w.mem[:off]) && outside(w.mem[int(off)+n*size:]), "%d %v %v n=%d: bytes outside changed", kind, op, typ, n)
}

var untouched = bytes.Repeat([]byte{0xee}, 24<<10)

func outside(b []byte) bool { return bytes.Equal(b, untouched[:len(b)]) }

// call is one operation, in one of three forms.
func (w *atomicWorld) call(kind AtomicKind, form int, operands, compare, result []byte, off uint64, typ Datatype, op AtomicOp) error {
	halves := func(b []byte) [][]byte { // at an element's edge
		if b == nil {
			return nil
		}
		mid := len(b) / typ.Size() / 2 * typ.Size()
		if mid == 0 {
			return [][]byte{b}
		}
		return [][]byte{b[:mid], b[mid:]}
	}
	const ctx = "atomic"
	if form == 2 {
		ranges := []RemoteRange{{w.at, off, uint64(len(result))}}
		if mid := uint64(len(result) / typ.Size() / 3 * typ.Size()); mid > 0 {
			ranges = []RemoteRange{{w.at, off, mid}, {w.at, off + mid, uint64(len(result)) - mid}}
		}
		m := &AtomicMsg{Op: op, Type: typ, IOV: halves(operands), Remote: ranges, Context: ctx}
		switch kind {
		case AtomicBase:
			return w.a.AtomicMsg(m, FlagCompletion)
		case AtomicFetch:
			m.Result = [][]byte{result}
			return w.a.FetchAtomicMsg(m, FlagCompletion)
		}
		m.Result, m.Compare = halves(result), [][]byte{compare}
		return w.a.CompareAtomicMsg(m, FlagCompletion)
	}
	switch {
	case kind == AtomicBase && form == 0:
		return w.a.Atomic(operands, w.at, off, typ, op, ctx)
	case kind == AtomicBase:
		return w.a.AtomicV(halves(operands), w.at, off, typ, op, ctx)
	case kind == AtomicFetch && form == 0:
		return w.a.FetchAtomic(operands, result, w.at, off, typ, op, ctx)
	case kind == AtomicFetch:
		return w.a.FetchAtomicV(halves(operands), halves(result), w.at, off, typ, op, ctx)
	case form == 0:
		return w.a.CompareAtomic(operands, compare, result, w.at, off, typ, op, ctx)
	}
	return w.a.CompareAtomicV(halves(operands), halves(compare), halves(result), w.at, off, typ, op, ctx)
}

// Endpoints of one process, with several goroutines each, add to the same elements, and the
// target does so itself: nothing is lost, and every number between is answered once.
func TestAtomicFetchAddConcurrent(t *testing.T) {
	onAtomicLinks(t, func(t *testing.T, w *atomicWorld) {
		const goroutines, each = 3, 200
		seen := make(chan uint64, 3*goroutines*each)
		var wg sync.WaitGroup
		add := func(m *RemoteMemory) {
			for range goroutines {
				wg.Go(func() {
					for range each {
						v, err := FetchAdd[uint64](w.ctx, m, 8, 1)
						if err == nil {
							err = Add[int32](w.ctx, m, 20, -2)
						}
						if err != nil {
							t.Error(err)
							return
						}
						seen <- v
					}
				})
			}
		}
		add(w.at)
		other, toB := another(t, w.b)
		key, err := w.all.RemoteKey()
		require.NoError(t, err)
		m, err := other.Import(toB, key)
		require.NoError(t, err)
		add(m)
		self, err := w.b.AV().Insert(w.b.Name())
		require.NoError(t, err)
		m, err = w.b.Import(self, key)
		require.NoError(t, err)
		add(m)
		wg.Wait()
		close(seen)
		all := slices.Sorted(func(yield func(uint64) bool) {
			for v := range seen {
				if !yield(v) {
					return
				}
			}
		})
		require.Equal(t, cap(seen), len(all))
		for i, v := range all {
			require.EqualValues(t, i, v, "among %d", len(all))
		}
		v, err := Load[uint64](w.ctx, w.at, 8)
		require.NoError(t, err)
		require.EqualValues(t, cap(seen), v)
		n, err := Load[int32](w.ctx, w.at, 20)
		require.NoError(t, err)
		require.EqualValues(t, -2*cap(seen), n)
	})
}

type celsius float64

func TestAtomicValues(t *testing.T) {
	values := func(t *testing.T, w *atomicWorld) {
		ctx := w.ctx
		is := func(want any, v any, err error) {
			t.Helper()
			require.NoError(t, err)
			require.Equal(t, want, v)
		}
		load := func(want int64) {
			t.Helper()
			v, err := Load[int64](ctx, w.at, 64)
			is(want, v, err)
		}
		require.NoError(t, Store[int64](ctx, w.at, 64, 100))
		load(100)
		v, err := Swap[int64](ctx, w.at, 64, 6)
		is(int64(100), v, err)
		v, err = CompareSwap[int64](ctx, w.at, 64, 7, 1)
		is(int64(6), v, err)
		load(6)
		v, err = CompareSwap[int64](ctx, w.at, 64, 6, 1)
		is(int64(6), v, err)
		load(1)
		require.NoError(t, Add[int64](ctx, w.at, 64, -5))
		v, err = FetchAdd[int64](ctx, w.at, 64, 10)
		is(int64(-4), v, err)
		require.NoError(t, Min[int64](ctx, w.at, 64, -9))
		load(-9)
		v, err = FetchMin[int64](ctx, w.at, 64, -3)
		is(int64(-9), v, err)
		require.NoError(t, Max[int64](ctx, w.at, 64, 12))
		v, err = FetchMax[int64](ctx, w.at, 64, 99)
		is(int64(12), v, err)
		load(99)
		require.NoError(t, And[int64](ctx, w.at, 64, 0x60))
		v, err = FetchAnd[int64](ctx, w.at, 64, 0x40)
		is(int64(0x60), v, err)
		require.NoError(t, Or[int64](ctx, w.at, 64, 1))
		v, err = FetchOr[int64](ctx, w.at, 64, 2)
		is(int64(0x41), v, err)
		require.NoError(t, Xor[int64](ctx, w.at, 64, 0x3))
		v, err = FetchXor[int64](ctx, w.at, 64, 0xf)
		is(int64(0x40), v, err)
		load(0x4f)
		err = Add(ctx, w.at, 96, 3+4i)
		require.ErrorIs(t, err, fierr.EOpNotSupp)
		require.ErrorContains(t, err, "no SUM of DOUBLE_COMPLEX")
		require.NoError(t, Store[complex64](ctx, w.at, 32, 1+2i))
		c64, err := Load[complex64](ctx, w.at, 32)
		is(complex64(1+2i), c64, err)
		require.NoError(t, Store[celsius](ctx, w.at, 8, 20.5))
		f, err := FetchAdd[celsius](ctx, w.at, 8, 0.25)
		is(celsius(20.5), f, err)
		for _, c := range []struct{ got, want Datatype }{
			{DatatypeOf[int8](), Int8}, {DatatypeOf[uint8](), Uint8}, {DatatypeOf[int16](), Int16}, {DatatypeOf[uint16](), Uint16},
			{DatatypeOf[int32](), Int32}, {DatatypeOf[uint32](), Uint32}, {DatatypeOf[int64](), Int64}, {DatatypeOf[uint64](), Uint64},
			{DatatypeOf[float32](), Float32}, {DatatypeOf[celsius](), Float64}, {DatatypeOf[complex64](), Complex64}, {DatatypeOf[complex128](), Complex128},
		} {
			require.Equal(t, c.want, c.got)
		}
	}
	onAtomicLinks(t, values)
	t.Run("shm direct", func(t *testing.T) { values(t, newAtomicWorld(t, Options{Links: "shm direct"}, 24<<10)) })
}

// A part of the memory, and memory that begins at an odd place.
func TestAtomicSlicesAndBases(t *testing.T) {
	onAtomicLinks(t, func(t *testing.T, w *atomicWorld) {
		part, err := w.at.Slice(1024, 64)
		require.NoError(t, err)
		require.NoError(t, Store[uint32](w.ctx, part, 4, 0xabcd))
		require.EqualValues(t, 0xabcd, getInt(w.mem[1028:1032]))
		require.ErrorIs(t, Store[uint32](w.ctx, part, 64, 1), fierr.EInval)
		require.ErrorIs(t, Store[uint32](w.ctx, part, 61, 1), fierr.EInval)
		part, err = w.at.Slice(1026, 64)
		require.NoError(t, err)
		require.ErrorIs(t, Store[uint32](w.ctx, part, 4, 1), fierr.EInval)
		require.NoError(t, Store[uint32](w.ctx, part, 2, 5))
		require.EqualValues(t, 5, getInt(w.mem[1028:1032]))

		odd, err := w.b.Register(w.mem[2049:2049+64], anyRemote)
		require.NoError(t, err)
		defer func() { require.NoError(t, odd.Close()) }()
		key, err := odd.RemoteKey()
		require.NoError(t, err)
		m, err := w.a.Import(w.toB, key)
		require.NoError(t, err)
		err = Store[uint64](w.ctx, m, 0, 1)
		require.ErrorIs(t, err, fierr.EInval)
		require.ErrorContains(t, err, "not aligned to the 8 bytes of UINT64")
		require.ErrorIs(t, Store[uint64](w.ctx, m, 8, 1), fierr.EInval)
		require.NoError(t, Store[uint64](w.ctx, m, 7, 77))
		require.EqualValues(t, 77, getInt(w.mem[2056:2064]))
		require.NoError(t, Store[uint8](w.ctx, m, 0, 7))
		require.EqualValues(t, 7, w.mem[2049])
	})
}

// Quiet operations have no completion; injected buffers can be used again at once.
func TestAtomicInject(t *testing.T) {
	onAtomicLinks(t, func(t *testing.T, w *atomicWorld) {
		n := int(w.a.link.Info.InjectSize)
		buf := make([]byte, n)
		for round := range 20 {
			for i := range buf {
				buf[i] = byte(round)
			}
			require.NoError(t, w.try(func() error { return w.a.InjectAtomic(buf, w.at, 0, Uint8, AtomicSum) }))
			clear(buf)
			require.NoError(t, w.try(func() error {
				return w.a.AtomicMsg(&AtomicMsg{Op: AtomicSum, Type: Uint8, IOV: [][]byte{buf[:8]}, Remote: []RemoteRange{{w.at, 0, 8}}}, FlagInject)
			}))
			require.NoError(t, w.try(func() error {
				return w.a.AtomicMsg(&AtomicMsg{Op: AtomicSum, Type: Uint8, IOV: [][]byte{buf}, Remote: []RemoteRange{{w.at, 0, uint64(n)}}}, 0)
			}))
		}
		_, err := Load[uint8](w.ctx, w.at, 0)
		require.NoError(t, err)
		for i := range n {
			require.EqualValues(t, 190, w.mem[i])
		}
		k, err := w.a.CQ().Read(make([]Entry, 1))
		require.Zero(t, k)
		require.ErrorIs(t, err, fierr.EAgain)
	})
}

// FlagDeliveryComplete: the target has it when the completion comes.
func TestAtomicDelivered(t *testing.T) {
	onAtomicLinks(t, func(t *testing.T, w *atomicWorld) {
		buf := make([]byte, 128)
		buf[0] = 1
		for round := range 200 {
			err := w.try(func() error {
				return w.a.AtomicMsg(&AtomicMsg{Op: AtomicSum, Type: Uint64, IOV: [][]byte{buf}, Remote: []RemoteRange{{w.at, 0, 128}}, Context: 1},
					FlagCompletion|FlagDeliveryComplete)
			})
			if w.a.link.Info.Levels&providers.FlagDeliveryComplete == 0 {
				require.ErrorIs(t, err, fierr.EOpNotSupp)
				return
			}
			require.NoError(t, err)
			w.entry(t)
			require.EqualValues(t, round+1, getInt(w.mem[:8]))
		}
	})
}

// Endpoints close, on either side, with operations under way.
func TestAtomicCloseInFlight(t *testing.T) {
	for _, links := range atomicLinks {
		for _, side := range []string{"initiator", "target"} {
			t.Run(fmt.Sprintf("%s/%s", links, side), func(t *testing.T) {
				w := newAtomicWorld(t, Options{Links: links}, 64<<10)
				big := make([]byte, 2048)
				results := make([]byte, 2048)
				started := 0
				for i := range 500 {
					var err error
					switch i % 3 {
					case 0:
						err = w.a.FetchAtomic(big[:8], results[:8], w.at, 0, Uint64, AtomicSum, i)
					case 1:
						err = w.a.FetchAtomic(big, results, w.at, 0, Uint64, AtomicSum, i)
					case 2:
						err = w.a.Atomic(big, w.at, 0, Uint64, AtomicSum, i)
					}
					if err == nil {
						started++
					} else {
						require.ErrorIs(t, err, fierr.EAgain)
					}
				}
				require.Greater(t, started, 10)
				waits := make(chan error, 3)
				for range cap(waits) {
					go func() { _, err := FetchAdd[uint64](w.ctx, w.at, 0, 1); waits <- err }()
				}
				closed := w.a
				if side == "target" {
					closed = w.b
				}
				require.NoError(t, closed.Close())
				if side == "initiator" {
					for range cap(waits) {
						if err := outcome(t, waits, "FetchAdd"); err != nil {
							require.ErrorIs(t, err, ErrClosed)
						}
					}
				}
				runtime.GC()
			})
		}
	}
}

// The target need not have the initiator in its AV, and goes on when that closes.
func TestAtomicStrangers(t *testing.T) {
	onAtomicLinks(t, func(t *testing.T, w *atomicWorld) {
		key, err := w.all.RemoteKey()
		require.NoError(t, err)
		for i := range uint64(15) {
			c, err := Open(w.a.link)
			require.NoError(t, err)
			to, err := c.AV().Insert(w.b.Name())
			require.NoError(t, err)
			m, err := c.Import(to, key)
			require.NoError(t, err)
			if i%3 > 0 { // otherwise it closes as soon as it is known
				v, err := FetchAdd[uint64](w.ctx, m, 0, 1)
				require.NoError(t, err)
				require.EqualValues(t, i/3*2+i%3-1, v)
			}
			for range i % 4 {
				_ = c.FetchAtomic(make([]byte, 8), make([]byte, 8), m, 8, Uint64, AtomicSum, nil)
			}
			require.NoError(t, c.Close())
		}
	})
}

// When the context ends the operation may still be done, and does no harm.
func TestAtomicContext(t *testing.T) {
	onAtomicLinks(t, func(t *testing.T, w *atomicWorld) {
		ctx, cancel := context.WithCancel(w.ctx)
		cancel()
		_, err := FetchAdd[uint64](ctx, w.at, 0, 1)
		require.ErrorIs(t, err, context.Canceled)
		require.EqualValues(t, 0, getInt(w.mem[:8]))

		c, b, toB, _ := connected(t, Options{Links: w.a.link.Name, Caps: CapAtomic})
		mem := make([]uint64, 8)
		r, err := b.Register(bytesOf(mem), anyRemote)
		require.NoError(t, err)
		key, err := r.RemoteKey()
		require.NoError(t, err)
		m, err := c.Import(toB, key)
		require.NoError(t, err)
		ctx, cancel = context.WithCancel(w.ctx)
		got := make(chan error, 1)
		go func() { _, err := FetchAdd[uint64](ctx, m, 0, 1); got <- err }() // b is not driven
		soon(t, func() bool { return atomicsOf(c) == 1 }, "the operation to start")
		cancel()
		err = outcome(t, got, "FetchAdd")
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "may still be done")
		runtime.GC()
		stop := driveAlways(t, b)
		v, err := FetchAdd[uint64](w.ctx, m, 0, 1)
		require.NoError(t, err)
		require.EqualValues(t, 1, v)
		stop()
	})
}

func atomicsOf(ep *Endpoint) (n uint64) {
	for _, s := range ep.Stats() {
		n += s.Atomics
	}
	return n
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func bytesOf(v []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 8*len(v))
}
