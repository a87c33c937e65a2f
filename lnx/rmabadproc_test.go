package lnx_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
	"golnx/providers/fierr"
)

// badSize is how much memory the targets of bad input offer.
const badSize = 1 << 20

// onTargets runs a test with another process's memory on each link, and with a target
// that has one rail more than the initiator can use. For atomics there is a sound number
// at the beginning.
func onTargets(t *testing.T, f func(t *testing.T, c choice, n *node, p *target)) {
	type sides struct{ here, there choice }
	var all []sides
	for _, c := range choices {
		all = append(all, sides{c, c})
	}
	all = append(all, sides{choice{Links: "tcp:lo"}, choice{Links: "shm+tcp:lo"}})
	for _, s := range all {
		name := s.here.String()
		if s.here != s.there {
			name += " to " + s.there.String()
		}
		t.Run(name, func(t *testing.T) {
			opts := s.here.rma()
			opts.Caps |= lnx.CapAtomic
			n := newNode(t, opts)
			p := startTarget(t, n, rmaOrder{Choice: s.there, Caps: lnx.CapAtomic, Size: badSize})
			number := make([]byte, 8)
			require.NoError(t, p.mem.WriteAt(within(t), number, 0))
			require.NoError(t, p.mem.ReadAt(within(t), number, 0)) // it has arrived
			f(t, s.here, n, p)
			p.Wait()
		})
	}
}

// sameAs asserts that nothing was done to the target's memory.
func (p *target) sameAs(t *testing.T, fill byte) {
	t.Helper()
	got := p.holds(0, badSize)
	if fill != closedFill {
		require.Equal(t, make([]byte, 8), got[:8])
		got = got[8:]
	}
	require.Equal(t, len(got), bytes.Count(got, []byte{fill}), "somebody wrote")
}

// What lies outside, and atomics that are not aligned, do not reach the other process.
func TestBadRangesTwoProcesses(t *testing.T) {
	onTargets(t, func(t *testing.T, _ choice, n *node, p *target) {
		ctx := within(t)
		raw := make([]byte, 32)
		for _, off := range []uint64{badSize - 15, badSize, badSize + 1, 1 << 40, math.MaxUint64 - 7, math.MaxUint64} {
			require.ErrorIs(t, p.mem.WriteAt(ctx, raw[:16], off), fierr.EInval, "%d", off)
			require.ErrorIs(t, p.mem.WriteDataAt(ctx, raw[:16], 1, off), fierr.EInval, "%d", off)
			require.ErrorIs(t, p.mem.ReadAt(ctx, raw[:16], off), fierr.EInval, "%d", off)
			require.ErrorIs(t, lnx.Add[uint64](ctx, p.mem, off, 1), fierr.EInval, "%d", off)
		}
		for _, off := range []uint64{1, 4, 12, badSize - 9} {
			require.ErrorIs(t, lnx.Add[uint64](ctx, p.mem, off, 1), fierr.EInval, "%d", off)
			_, err := lnx.CompareSwap[uint64](ctx, p.mem, off, 0, 1)
			require.ErrorIs(t, err, fierr.EInval, "%d", off)
		}
		require.ErrorIs(t, n.ep.Atomic(raw[1:9], p.mem, 0, lnx.Uint64, lnx.AtomicSum, nil), fierr.EInval)
		require.ErrorIs(t, n.ep.FetchAtomic(raw[:8], raw[9:17], p.mem, 0, lnx.Uint64, lnx.AtomicSum, nil), fierr.EInval)
		p.sameAs(t, 0xee)
		v, err := lnx.FetchAdd[uint64](ctx, p.mem, 0, 1)
		require.NoError(t, err)
		require.Zero(t, v)
	})
}

// misplaced gives each rail of a key what belongs to another one; one alone becomes
// another rail's.
func misplaced(key []byte) []byte {
	key = bytes.Clone(key)
	inner := key[48:]
	var records [][]byte // address and key of each rail
	at := 28
	for range inner[10] {
		records = append(records, inner[at+4:at+20])
		at += 2 + int(binary.LittleEndian.Uint16(inner[at:]))
	}
	if len(records) == 1 {
		inner[28+2] ^= 1
		return sealed(key)
	}
	first := bytes.Clone(records[0])
	for i := range records[1:] {
		copy(records[i], records[i+1])
	}
	copy(records[len(records)-1], first)
	return sealed(key)
}

// everyUse makes the operations that a bad key has to fail, all of which need an answer
// of the target, or of its table of keys.
func everyUse(t *testing.T, n *node, m *lnx.RemoteMemory, failed func(what string, err error)) {
	ctx := within(t)
	buf := make([]byte, 5000)
	failed("read", m.ReadAt(ctx, buf[:8], 0))
	failed("large read", m.ReadAt(ctx, buf, 0))
	_, err := lnx.FetchAdd[uint64](ctx, m, 0, 1)
	failed("fetch", err)
	_, err = lnx.CompareSwap[uint64](ctx, m, 0, 0, 1)
	failed("compare", err)
	for _, size := range []int{8, 5000} {
		op := &pending{}
		msg := &lnx.RMAMsg{IOV: [][]byte{buf[:size]}, Context: op, Remote: []lnx.RemoteRange{{Mem: m, Len: uint64(size)}}}
		var err error
		n.until(func() bool {
			err = n.ep.WriteMsg(msg, lnx.FlagCompletion|lnx.FlagDeliveryComplete)
			return err != fierr.Again
		})
		if err == nil {
			n.until(func() bool { return op.done })
			require.Equal(t, 1, op.times)
			if op.err != nil {
				err = op.err
			}
		}
		failed("write", err)
	}
}

// The key of another rail fails on this one, and does no harm.
func TestKeyOfAnotherRail(t *testing.T) {
	onTargets(t, func(t *testing.T, c choice, n *node, p *target) {
		m, err := n.ep.Import(p.to, misplaced(p.key))
		require.NoError(t, err)
		everyUse(t, n, m, func(what string, err error) {
			require.Error(t, err, what)
			if !c.network() {
				require.ErrorIs(t, err, fierr.ENoKey, what)
			}
		})
		p.sameAs(t, 0xee)
	})
}

// A key whose memory the other process has closed.
func TestFreedKeyTwoProcesses(t *testing.T) {
	onTargets(t, func(t *testing.T, c choice, n *node, p *target) {
		p.close()
		everyUse(t, n, p.mem, func(what string, err error) {
			require.Error(t, err, what)
			if !c.network() {
				require.ErrorIs(t, err, fierr.ENoKey, what)
			}
		})
		p.sameAs(t, closedFill)
	})
}

// close has the target close its memory, and fill it.
func (p *target) close() {
	p.Put(rmaOrder{Do: "close"})
	var ok bool
	p.Get(&ok)
}

// The other process closes memory while this one reads, writes and adds: each operation
// completes once, and nothing is done after the close, except that over a network a write
// which had begun to arrive goes on to its end.
func TestClosedInFlightTwoProcesses(t *testing.T) {
	onTargets(t, func(t *testing.T, c choice, n *node, p *target) {
		const largest = 300_000
		var ops []*pending
		start := func(i int) error {
			size := []int{8, 5000, largest}[i/4%3]
			op := &pending{buf: make([]byte, size)}
			var err error
			switch i % 4 {
			case 0:
				err = n.ep.Write(op.buf, p.mem, 8, op)
			case 1:
				err = n.ep.Read(op.buf, p.mem, 8, op)
			case 2:
				err = n.ep.WriteData(op.buf, 1, p.mem, 8, op)
			case 3:
				err = n.ep.FetchAtomic(op.buf[:8], make([]byte, 8), p.mem, 0, lnx.Uint64, lnx.AtomicSum, op)
			}
			if err == nil {
				ops = append(ops, op)
			}
			return err
		}
		n.until(func() bool { return start(0) == nil }) // one is under way when it closes
		p.Put(rmaOrder{Do: "close"})
		var closed bool
		answer := make(chan bool, 1)
		go func() { p.Get(&closed); answer <- closed }()
		refused := 0
		for i, late := 0, deadline(); len(answer) == 0 || i < 40; i++ {
			require.False(t, late(), "the memory is not closed: %v", n.ep.Stats())
			if len(ops) < 4000 && start(i) != nil {
				refused++
			}
			n.poll()
		}
		require.True(t, <-answer)
		n.until(func() bool {
			for _, op := range ops {
				if !op.done {
					return false
				}
			}
			return true
		})
		failed := 0
		for _, op := range ops {
			require.Equal(t, 1, op.times)
			if op.err != nil {
				failed++
			}
		}
		t.Logf("%d operations, %d failed, %d refused", len(ops), failed, refused)
		require.NotEmpty(t, ops)
		if !c.network() {
			p.sameAs(t, closedFill)
			return
		}
		kept := bytes.Trim(p.holds(0, badSize), string([]byte{closedFill}))
		require.Less(t, len(kept), largest)
		require.Equal(t, len(kept), bytes.Count(kept, []byte{0}), "more than the rest of one write")
	})
}
