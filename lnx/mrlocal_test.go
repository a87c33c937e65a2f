package lnx

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/mr"
	"golnx/providers"
)

// No provider at hand asks for FI_MR_LOCAL, but all take the descriptors that it is
// about. So rails that are said to ask for it do what such a rail does, down to
// fi_mr_regattr(3) and fi_read(3).
func TestLocalRegistration(t *testing.T) {
	for _, links := range atomicLinks {
		t.Run(links, func(t *testing.T) {
			l, err := Links(Options{Links: links, Caps: CapAtomic, Lookup: env(nil)})
			require.NoError(t, err)
			link := l.Links[0]
			for i := range link.infos {
				link.infos[i].MRMode |= providers.MRLocal
				link.Rails[i].MRMode |= providers.MRLocal
			}
			a, err := Open(link)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, a.Close()) })
			b, _ := another(t, a)
			w := &atomicWorld{a: a, b: b, mem: make([]byte, 1<<20)}
			ctx, cancel := context.WithTimeout(t.Context(), pairLimit)
			defer cancel()
			w.ctx = ctx
			w.toB, err = a.AV().Insert(b.Name())
			require.NoError(t, err)
			w.all, err = b.Register(w.mem, anyRemote)
			require.NoError(t, err)
			key, err := w.all.RemoteKey()
			require.NoError(t, err)
			w.at, err = a.Import(w.toB, key)
			require.NoError(t, err)
			t.Cleanup(driveAlways(t, b))
			w.locally(t)
		})
	}
}

// locally writes, reads and adds with buffers that have to be registered.
func (w *atomicWorld) locally(t *testing.T) {
	buf, err := mr.Alloc(1 << 20)
	require.NoError(t, err)
	defer func() { require.NoError(t, buf.Free()) }()
	before := w.a.MRStats()
	for round := range uint64(2) {
		for _, size := range []int{8, 5000, 100_000, 1 << 20} {
			t.Run(fmt.Sprintf("round=%d/size=%d", round, size), func(t *testing.T) {
				out := buf.Bytes()[:size]
				copy(out, simNoise(round+uint64(size), size))
				want := bytes.Clone(out)
				require.NoError(t, w.at.WriteDataAt(w.ctx, out, round, 0))
				clear(out)
				require.NoError(t, w.at.ReadAt(w.ctx, out, 0))
				require.True(t, bytes.Equal(want, out))
				// two buffers, one of Go's memory
				half := make([]byte, size-size/2)
				m := &RMAMsg{IOV: [][]byte{out[:size/2], half}, Context: size, Remote: []RemoteRange{{Mem: w.at, Len: uint64(size)}}}
				clear(out)
				require.NoError(t, w.try(func() error { return w.a.ReadMsg(m, FlagCompletion) }))
				require.Equal(t, size, w.entry(t).Context)
				require.True(t, bytes.Equal(want, append(bytes.Clone(out[:size/2]), half...)))
			})
		}
	}
	// atomics of a block, and of more than fits there
	for _, n := range []int{8, 1024} {
		operands, results := bytes.Repeat(word(1), n/8), make([]byte, n)
		clear(buf.Bytes()[:n])
		require.NoError(t, w.at.WriteAt(w.ctx, buf.Bytes()[:n], 0))
		for i := range uint64(3) {
			require.NoError(t, w.try(func() error {
				return w.a.FetchAtomic(operands, results, w.at, 0, Uint64, AtomicSum, n)
			}))
			require.Equal(t, n, w.entry(t).Context)
			require.Equal(t, bytes.Repeat(word(i), n/8), results)
		}
	}
	after := w.a.MRStats()
	require.Positive(t, after.Misses-before.Misses)
	require.Greater(t, after.Hits-before.Hits, after.Misses-before.Misses, "the second round finds what the first has made")
	require.Positive(t, after.Entries)
	require.Zero(t, after.InUse, "%+v", after)
	require.Zero(t, after.Failed)
}
