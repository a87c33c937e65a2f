package lnx_test

import (
	"context"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"golnx/internal/twoproc"
	"golnx/lnx"
	"golnx/mr"
)

// adderRole does atomic operations on another process's memory.
var adderRole = twoproc.NewRole("adder", func(c *twoproc.Child) {
	var s adding
	c.Get(&s)
	opts := s.Choice.options()
	opts.Caps = lnx.CapAtomic
	n := openNode(c, opts)
	defer func() { require.NoError(c, n.ep.Close()) }()
	mem := make([]uint64, 8)
	region, err := n.ep.Register(bytesOfWords(mem), mr.RemoteRead|mr.RemoteWrite)
	require.NoError(c, err)
	own, err := region.RemoteKey()
	require.NoError(c, err)
	c.Put(introduction{n.ep.Name(), own})
	var other introduction
	c.Get(&other)
	m, err := n.ep.Import(n.insert(other.Blob), other.Key)
	require.NoError(c, err)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Second)
	defer cancel()
	if s.Count == 0 { // to be driven until the end
		for c.Put(true); ; {
			n.poll()
		}
	}
	var seen []uint64
	for range s.Count {
		v, err := lnx.FetchAdd[uint64](ctx, m, 0, 1)
		require.NoError(c, err)
		seen = append(seen, v)
		require.NoError(c, lnx.Add[int32](ctx, m, 8, 3))
		for old := uint64(0); ; {
			got, err := lnx.CompareSwap(ctx, m, 16, old, old+5)
			require.NoError(c, err)
			if got == old {
				break
			}
			old = got
		}
	}
	c.Put(seen)
	var end bool
	c.Get(&end)
})

type adding struct {
	Choice choice
	Count  int
}

type introduction struct{ Blob, Key []byte }

// Processes add to the memory of this one, and it does itself: every sum is exact, and
// every number on the way was somebody's.
func TestAtomicProcesses(t *testing.T) {
	for _, c := range choices {
		t.Run(c.String(), func(t *testing.T) {
			const procs, each = 3, 150
			opts := c.options()
			opts.Caps = lnx.CapAtomic
			n := newNode(t, opts)
			mem := make([]uint64, 8)
			region, err := n.ep.Register(bytesOfWords(mem), mr.RemoteRead|mr.RemoteWrite)
			require.NoError(t, err)
			key, err := region.RemoteKey()
			require.NoError(t, err)
			var all []*twoproc.Proc
			for range procs {
				p := adderRole.Start(t, 60*time.Second)
				p.Put(adding{c, each})
				var who introduction
				p.Get(&who)
				n.insert(who.Blob)
				p.Put(introduction{n.ep.Name(), key})
				all = append(all, p)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
			defer cancel()
			self, err := n.ep.Import(n.insert(n.ep.Name()), key)
			require.NoError(t, err)
			var seen []uint64
			for range each {
				v, err := lnx.FetchAdd[uint64](ctx, self, 0, 1)
				require.NoError(t, err)
				seen = append(seen, v)
			}
			for _, p := range all {
				theirs := driven(t, func() (theirs []uint64) { p.Get(&theirs); return theirs }, n)
				require.Len(t, theirs, each)
				require.True(t, slices.IsSorted(theirs))
				seen = append(seen, theirs...)
			}
			slices.Sort(seen)
			for i, v := range seen {
				require.EqualValues(t, i, v)
			}
			sums := [3]uint64{}
			for i := range sums {
				sums[i], err = lnx.Load[uint64](ctx, self, uint64(8*i))
				require.NoError(t, err)
			}
			require.Equal(t, [3]uint64{(procs + 1) * each, 3 * procs * each, 5 * procs * each}, sums)
			for _, p := range all {
				p.Put(true)
			}
			for _, p := range all {
				driven(t, func() bool { p.Wait(); return true }, n)
			}
			require.NoError(t, region.Close())
		})
	}
}

// A process that is killed ends the operations on its memory.
func TestAtomicKilledTarget(t *testing.T) {
	for _, c := range choices {
		t.Run(c.String(), func(t *testing.T) {
			opts := c.options()
			opts.Caps = lnx.CapAtomic
			n := newNode(t, opts)
			mem := make([]uint64, 8)
			region, err := n.ep.Register(bytesOfWords(mem), mr.RemoteRead|mr.RemoteWrite)
			require.NoError(t, err)
			key, err := region.RemoteKey()
			require.NoError(t, err)
			p := adderRole.Start(t, 60*time.Second)
			p.Put(adding{c, 0})
			var who introduction
			p.Get(&who)
			m, err := n.ep.Import(n.insert(who.Blob), who.Key)
			require.NoError(t, err)
			p.Put(introduction{n.ep.Name(), key})
			driven(t, func() bool { var ok bool; p.Get(&ok); return ok }, n)
			ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
			defer cancel()
			_, err = lnx.FetchAdd[uint64](ctx, m, 0, 1)
			require.NoError(t, err)
			ended := make(chan error, 4)
			for range cap(ended) {
				go func() {
					for {
						if _, err := lnx.FetchAdd[uint64](ctx, m, 0, 1); err != nil {
							ended <- err
							return
						}
					}
				}()
			}
			p.Stop() // with operations under way
			p.Kill()
			for range cap(ended) {
				require.ErrorIs(t, inTime(t, func() error { return <-ended }), lnx.ErrPeerDead)
			}
			_, err = lnx.Load[uint64](ctx, m, 0)
			require.ErrorIs(t, err, lnx.ErrPeerDead)
			require.NoError(t, region.Close())
		})
	}
}

func bytesOfWords(v []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 8*len(v))
}
