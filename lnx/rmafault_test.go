package lnx

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/mr"
	"golnx/providers/fault"
	"golnx/providers/fierr"
)

// memoryRun is a faultRun whose A reads and writes B's memory.
type memoryRun struct {
	*faultRun
	counts *Counter
	mem    []byte // of B: a number, then what is written
	region *Region
	at     *RemoteMemory
	told   int
	ops    uint64
	before int // failures while it was prepared
}

const memoryTop = 8 // where the written part begins

func newMemoryRun(t *testing.T, plan *fault.Plan, link *Link) *memoryRun {
	r := &memoryRun{faultRun: &faultRun{t: t, plan: plan}, mem: make([]byte, 10_000)}
	r.open(link, openCore)
	a, b := r.nodes[0].ep, r.nodes[1].ep
	r.nodes[1].stray = func(e Entry, err error) {
		require.NoError(t, err)
		require.NotZero(t, e.Flags&FlagRemoteCQData)
		r.told++
	}
	toB, err := a.AV().Insert(b.Name())
	require.NoError(t, err)
	toA, err := b.AV().Insert(a.Name())
	require.NoError(t, err)
	r.exchange(toA, toB, 1, 8, true) // connected, so that no call answers EAGAIN by itself
	r.before = len(r.errs)
	var key []byte
	r.do(func() (err error) {
		if r.region, err = b.Register(r.mem, mr.RemoteRead|mr.RemoteWrite); err != nil {
			return err
		}
		if key, err = r.region.RemoteKey(); err != nil {
			err = errors.Join(err, r.region.Close())
		}
		return err
	})
	r.do(func() (err error) { r.at, err = a.Import(toB, key); return })
	r.counts, err = a.OpenCounter(EventRead | EventWrite)
	require.NoError(t, err)
	return r
}

// do1 does an operation once: one whose call fails was not done, one whose completion
// fails was. It answers whether that was a success.
func (r *memoryRun) do1(call func(op *simOp) error) bool {
	op := &simOp{}
	r.do(func() error { return call(op) })
	r.ops++
	r.until("completion", func() bool { return op.times > 0 })
	return r.note(op)
}

// all does every kind of operation.
func (r *memoryRun) all() {
	a, at := r.nodes[0].ep, r.at
	for i, size := range []int{8, 5000} {
		data := simNoise(uint64(i), size)
		r.do1(func(op *simOp) error { return a.Write(data, at, memoryTop, op) })
		r.lands(data)
		in := make([]byte, size)
		if r.do1(func(op *simOp) error { return a.Read(in, at, memoryTop, op) }) {
			require.True(r.t, bytes.Equal(data, in), r.plan)
		}
		data = simNoise(uint64(i)+10, size)
		r.do1(func(op *simOp) error { return a.WriteData(data, 7, at, memoryTop, op) })
		r.lands(data)
		r.until("the target to be told", func() bool { return r.told == i+1 })
	}
	one, was := word(1), word(77)
	r.do1(func(op *simOp) error { return a.Atomic(one, at, 0, Uint64, AtomicSum, op) })
	if r.do1(func(op *simOp) error { return a.FetchAtomic(one, was, at, 0, Uint64, AtomicSum, op) }) {
		require.Equal(r.t, word(1), was, r.plan)
	}
	if r.do1(func(op *simOp) error { return a.CompareAtomic(word(9), word(2), was, at, 0, Uint64, AtomicCSwap, op) }) {
		require.Equal(r.t, word(2), was, r.plan)
	}
	r.until("the sum", func() bool { return bytes.Equal(word(9), r.mem[:8]) })
}

// lands waits for what was written.
func (r *memoryRun) lands(data []byte) {
	r.until("the bytes", func() bool { return bytes.Equal(data, r.mem[memoryTop:][:len(data)]) })
}

func word(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }

// end closes all, and asserts that each operation was counted once.
func (r *memoryRun) end() {
	for range 1000 { // what came twice, or late, would show
		r.poll()
	}
	require.EqualValues(r.t, r.ops, r.counts.Read()+r.counts.ReadErr(), r.plan)
	require.EqualValues(r.t, len(r.errs)-r.before-r.refused(), r.counts.ReadErr(), r.plan)
	require.Equal(r.t, 2, r.told, r.plan)
	r.until("the region to be free", func() bool {
		err := r.region.Close()
		require.True(r.t, err == nil || errors.Is(err, mr.ErrBusy), "%v: %v", r.plan, err)
		return err == nil
	})
	r.close()
}

// refused is how many failures were answers of calls.
func (r *memoryRun) refused() int {
	if op := r.plan.Where(); op == "" || op == fault.Transmit {
		return 0
	}
	return len(r.errs) - r.before
}

// Whatever fails, or comes late, of what an endpoint does with memory is reported once,
// and all the rest is done once.
func TestMemoryFaults(t *testing.T) {
	for _, links := range atomicLinks {
		t.Run(links, func(t *testing.T) {
			listing, err := Links(Options{Links: links, Caps: CapAtomic, Lookup: env(nil)})
			require.NoError(t, err)
			for _, c := range []struct {
				op    fault.Op
				err   fierr.Errno
				late  int
				shown bool // as an error
				times int
			}{
				{fault.RMA, fierr.EIO, 0, true, 6},
				{fault.RMA, fierr.EAgain, 0, false, 6},
				{fault.Atomic, fierr.EIO, 0, true, 3},
				{fault.Atomic, fierr.EAgain, 0, false, 3},
				{fault.Transmit, fierr.EIO, 0, true, 10},
				{fault.Transmit, 0, 1, false, 10},
				{fault.Transmit, 0, 2000, false, 10},
				{fault.Register, fierr.ENoMem, 0, true, len(listing.Links[0].Rails)},
			} {
				t.Run(fmt.Sprintf("%s/%v/late=%d", c.op, c.err, c.late), func(t *testing.T) {
					fired := 0
					for plan := range fault.Each(c.op, c.err) {
						plan.Late = c.late
						r := newMemoryRun(t, plan, listing.Links[0])
						r.all()
						r.end()
						if !plan.Fired() {
							require.Empty(t, r.errs)
							break
						}
						fired++
						if !c.shown {
							require.Empty(t, r.errs, plan)
							continue
						}
						require.Len(t, r.errs, 1, plan)
						require.ErrorIs(t, r.errs[0], c.err, plan)
					}
					require.Equal(t, c.times, fired)
				})
			}
		})
	}
}
