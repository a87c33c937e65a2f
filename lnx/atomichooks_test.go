package lnx

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/providers"
	"golnx/providers/fierr"
	"golnx/rail"
	"golnx/rail/intercept"
)

// Hooks see atomic operations, change them, do them in place of the rail, or fail them.
func TestAtomicHooks(t *testing.T) {
	var mu sync.Mutex // both endpoints have the hooks
	var seen []intercept.Op
	var done []intercept.Completion
	refused := errors.New("refused")
	see := func(r *intercept.Rail, c *intercept.Atomic, next func(*intercept.Atomic) error) error {
		mu.Lock()
		seen = append(seen, c.Op)
		mu.Unlock()
		switch {
		case c.Context == "replace":
			return nil
		case c.Context == "refuse":
			return refused
		case c.Context == "change":
			c.Operands = [][]byte{putInt(8, 100)}
		case c.Context == "spoil":
			c.Operands = [][]byte{make([]byte, 3)}
		case c.Context == "twice":
			if err := next(c); err != nil {
				return err
			}
			if err := next(c); !errors.Is(err, fierr.EOpBadState) {
				t.Error(err)
			}
			return nil
		}
		return next(c)
	}
	hooks := &intercept.Hooks{
		Name: "see", Atomic: see, AtomicV: see, AtomicMsg: see, InjectAtomic: see, FetchAtomic: see, FetchAtomicV: see, FetchAtomicMsg: see,
		CompareAtomic: see, CompareAtomicV: see, CompareAtomicMsg: see,
		Complete: func(r *intercept.Rail, c *intercept.Completion) {
			mu.Lock()
			done = append(done, *c)
			mu.Unlock()
		},
	}
	onRails(t, func(t *testing.T, links string) {
		w := newAtomicWorld(t, Options{Links: links, Hooks: []*intercept.Hooks{hooks}}, 24<<10)
		mu.Lock()
		seen, done = nil, nil
		mu.Unlock()
		one, result := putInt(8, 1), make([]byte, 8)
		call := func(opContext any) error {
			return w.try(func() error { return w.a.FetchAtomic(one, result, w.at, 0, Uint64, AtomicSum, opContext) })
		}
		for i, opContext := range []any{"plain", "change", "replace", "twice", "last"} {
			require.NoError(t, call(opContext))
			e := w.entry(t)
			require.Equal(t, opContext, e.Context)
			require.Equal(t, FlagAtomic|FlagRead, e.Flags)
			if opContext != "replace" {
				require.EqualValues(t, []uint64{0, 1, 0, 101, 102}[i], getInt(result))
			}
		}
		require.ErrorIs(t, call("refuse"), refused)
		require.ErrorIs(t, call("spoil"), fierr.EInval)
		mu.Lock()
		require.Len(t, done, 5)
		mu.Unlock()
		for kind := range AtomicKind(providers.NumAtomicKinds) {
			for form := range 3 {
				op := [...]AtomicOp{AtomicSum, AtomicSum, AtomicCSwap}[kind]
				require.NoError(t, w.try(func() error { return w.call(kind, form, one, one, result, 8, Uint64, op) }))
				w.entry(t)
			}
		}
		require.NoError(t, w.try(func() error { return w.a.InjectAtomic(one, w.at, 8, Uint64, AtomicSum) }))
		_, err := Load[uint64](w.ctx, w.at, 8)
		require.NoError(t, err)
		require.NoError(t, Add[uint64](w.ctx, w.at, 8, 1))
		v, err := Load[uint64](w.ctx, w.at, 0)
		require.NoError(t, err)
		require.EqualValues(t, 103, v)
		names := map[string]bool{}
		mu.Lock()
		defer mu.Unlock()
		for _, op := range seen {
			names[op.String()] = true
		}
		for op := intercept.OpAtomic; int(op) < intercept.NumOps; op++ {
			require.True(t, names[op.String()], "%v", op)
		}
	})
}

// NICs' atomic operations are atomic with those of the same NIC only: all take the first
// one of the target, whatever the policy and however far it is.
func TestAtomicPathOfNICs(t *testing.T) {
	rails := []providers.Info{{Provider: "shm", NodeLocal: true}, {Provider: "cxi", Domain: "cxi0", NICAtomics: true}, {Provider: "cxi", Domain: "cxi1", NICAtomics: true}}
	ep := &Endpoint{link: &Link{Rails: rails}}
	for _, c := range []struct {
		paths []path
		want  int
	}{
		{[]path{{rail: 0, entry: 0}, {rail: 1, entry: 2}, {rail: 2, entry: 1}}, 2},
		{[]path{{rail: 0, entry: 0}, {rail: 1, entry: 1}, {rail: 1, entry: 2}, {rail: 2, entry: 1}}, 1},
		{[]path{{rail: 2, entry: 5}, {rail: 2, entry: 4}}, 1},
	} {
		p, err := ep.atomicPath(&peerState{paths: c.paths}, 8)
		require.NoError(t, err)
		require.Equal(t, &c.paths[c.want], p)
	}
}

// Reads, writes and atomics count by what they do here, and, where rails count, there.
func TestCounterRemote(t *testing.T) {
	w := newAtomicWorld(t, Options{Links: "shm", Caps: CapRMAEvent}, 24<<10)
	reads, writes := openCounter(t, w.a, EventRead), openCounter(t, w.a, EventWrite)
	theirs, both := openCounter(t, w.b, EventRemoteWrite), openCounter(t, w.b, EventRemoteRead|EventRemoteWrite)
	for range 5 {
		require.NoError(t, Add[uint64](w.ctx, w.at, 0, 1))
	}
	require.NoError(t, w.try(func() error { return w.a.InjectAtomic(make([]byte, 8), w.at, 0, Uint64, AtomicSum) }))
	_, err := FetchAdd[uint64](w.ctx, w.at, 0, 1)
	require.NoError(t, err)
	require.NoError(t, writes.Wait(w.ctx, 6))
	require.NoError(t, reads.Wait(w.ctx, 1))
	require.NoError(t, both.Wait(w.ctx, 7))
	buf := make([]byte, 100)
	require.NoError(t, w.at.WriteAt(w.ctx, buf, 0))
	require.NoError(t, w.at.ReadAt(w.ctx, buf, 0))
	require.EqualValues(t, 7, writes.Read())
	require.EqualValues(t, 2, reads.Read())
	late := openCounter(t, w.b, EventRemoteWrite)
	require.Zero(t, late.Read(), "from when it was opened")
	require.NoError(t, w.try(func() error { return w.a.InjectAtomic(make([]byte, 8), w.at, 0, Uint64, AtomicSum) }))
	require.NoError(t, late.Wait(w.ctx, 1))
	require.NoError(t, both.Wait(w.ctx, 10))
	// of the writes, Add's read as well, to know that they are done
	require.EqualValues(t, 3, theirs.Read())
	require.EqualValues(t, 10, both.Read())

	_, err = Links(Options{Links: "shm+tcp:lo", Caps: CapRMAEvent, Lookup: env(nil)})
	require.ErrorIs(t, err, fierr.EOpNotSupp)
	require.ErrorContains(t, err, "tcp;ofi_rxm")
	require.ErrorContains(t, err, "rail tcp;ofi_rxm:lo cannot do FI_RMA_EVENT")
}

// Atomics go by the policy where processes do them.
func TestAtomicPolicies(t *testing.T) {
	w := newAtomicWorld(t, Options{Links: "tcp:lo", Policy: rail.PerMsg}, 24<<10)
	for i := range uint64(50) {
		v, err := FetchAdd[uint64](w.ctx, w.at, 0, 1)
		require.NoError(t, err)
		require.Equal(t, i, v)
	}
}
