package lnx

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/mr"
	"golnx/providers/fierr"
)

func TestAtomicBadInput(t *testing.T) {
	onAtomicLinks(t, func(t *testing.T, w *atomicWorld) {
		a, at := w.a, w.at
		raw := make([]byte, 24<<10)
		b8 := raw[:8]
		region := func(access mr.Access) *RemoteMemory {
			r, err := w.b.Register(w.mem[4096:8192], access)
			require.NoError(t, err)
			t.Cleanup(func() { _ = r.Close() })
			key, err := r.RemoteKey()
			require.NoError(t, err)
			m, err := a.Import(w.toB, key)
			require.NoError(t, err)
			return m
		}
		readable, writable := region(mr.RemoteRead), region(mr.RemoteWrite)
		other, toB := another(t, w.b)
		key, err := w.all.RemoteKey()
		require.NoError(t, err)
		others, err := other.Import(toB, key)
		require.NoError(t, err)
		cases := []struct {
			name string
			err  error
			want error
			text string
		}{
			{"no memory", a.Atomic(b8, nil, 0, Uint64, AtomicSum, nil), fierr.EInval, "no remote memory"},
			{"no memory", Add[uint64](w.ctx, nil, 0, 1), fierr.EInval, "no remote memory"},
			{"another's memory", a.Atomic(b8, others, 0, Uint64, AtomicSum, nil), mr.ErrForeign, ""},
			{"behind the end", a.Atomic(b8, at, at.Len(), Uint64, AtomicSum, nil), fierr.EInval, "the remote memory has"},
			{"across the end", a.Atomic(raw[:16], at, at.Len()-8, Uint64, AtomicSum, nil), fierr.EInval, "the remote memory has"},
			{"overflow", a.Atomic(b8, at, ^uint64(0)-7, Uint64, AtomicSum, nil), fierr.EInval, "the remote memory has"},
			{"unaligned there", a.Atomic(b8, at, 4, Uint64, AtomicSum, nil), fierr.EInval, "not aligned"},
			{"unaligned there", a.FetchAtomic(b8, raw[8:16], at, 12, Uint64, AtomicSum, nil), fierr.EInval, "not aligned"},
			{"unaligned here", a.Atomic(raw[1:9], at, 0, Uint64, AtomicSum, nil), fierr.EInval, "aligned to 8"},
			{"unaligned result", a.FetchAtomic(b8, raw[9:17], at, 0, Uint64, AtomicSum, nil), fierr.EInval, "aligned to 8"},
			{"half an element", a.Atomic(raw[:12], at, 0, Uint64, AtomicSum, nil), fierr.EInval, "multiples of 8"},
			{"nothing", a.Atomic(nil, at, 0, Uint64, AtomicSum, nil), fierr.EInval, "operands"},
			{"nothing", a.AtomicV(nil, at, 0, Uint64, AtomicSum, nil), fierr.EInval, "operands"},
			{"no result", a.FetchAtomic(b8, nil, at, 0, Uint64, AtomicSum, nil), fierr.EInval, "results"},
			{"short result", a.FetchAtomic(raw[:16], raw[16:24], at, 0, Uint64, AtomicSum, nil), fierr.EInval, "8 bytes of results, 16 are needed"},
			{"no comparison", a.CompareAtomic(b8, nil, raw[16:24], at, 0, Uint64, AtomicCSwap, nil), fierr.EInval, "compare"},
			{"operands to read", a.FetchAtomic(b8, raw[16:24], at, 0, Uint64, AtomicRead, nil), fierr.EInval, "ATOMIC_READ has no operands"},
			{"read without fetching", a.Atomic(b8, at, 0, Uint64, AtomicRead, nil), fierr.EInval, "ATOMIC_READ"},
			{"compare without comparing", a.FetchAtomic(b8, raw[16:24], at, 0, Uint64, AtomicCSwap, nil), fierr.EInval, "CSWAP"},
			{"sum by comparing", a.CompareAtomic(b8, raw[8:16], raw[16:24], at, 0, Uint64, AtomicSum, nil), fierr.EInval, "SUM"},
			{"unknown operation", a.Atomic(b8, at, 0, Uint64, 77, nil), fierr.EInval, "operation 77"},
			{"unknown datatype", a.Atomic(b8, at, 0, 99, AtomicSum, nil), fierr.EInval, ""},
			{"bits of reals", a.Atomic(b8, at, 0, Float64, AtomicBOr, nil), fierr.EOpNotSupp, "has no BOR of DOUBLE"},
			{"128 bits", a.Atomic(raw[:16], at, 0, Uint128, AtomicSum, nil), fierr.EOpNotSupp, a.link.Rails[0].Name()},
			{"too many", a.Atomic(raw, at, 0, Uint8, AtomicSum, nil), fierr.EMsgSize, "at most"},
			{"too long to inject", a.InjectAtomic(raw[:a.link.Info.InjectSize+8], at, 0, Uint8, AtomicSum), fierr.EMsgSize, ""},
			{"not readable", a.FetchAtomic(b8, raw[8:16], writable, 0, Uint64, AtomicSum, nil), fierr.EPerm, "allows remote_write"},
			{"not readable", a.FetchAtomic(nil, raw[8:16], writable, 0, Uint64, AtomicRead, nil), fierr.EPerm, "allows remote_write"},
			{"not writable", a.Atomic(b8, readable, 0, Uint64, AtomicSum, nil), fierr.EPerm, "allows remote_read"},
			{"not writable", a.CompareAtomic(b8, raw[8:16], raw[16:24], readable, 0, Uint64, AtomicCSwap, nil), fierr.EPerm, "allows remote_read"},
			{"no ranges", a.AtomicMsg(&AtomicMsg{Type: Uint64, IOV: [][]byte{b8}}, 0), fierr.EInval, "0 remote ranges"},
			{"ranges and buffers differ", a.AtomicMsg(&AtomicMsg{Type: Uint64, IOV: [][]byte{b8}, Remote: []RemoteRange{{at, 0, 16}}}, 0), fierr.EInval, "8 bytes here and 16 there"},
			{"many buffers", a.AtomicV(slices.Repeat([][]byte{b8}, 9), at, 0, Uint64, AtomicSum, nil), fierr.EInval, "9 buffers"},
			{"flags", a.AtomicMsg(&AtomicMsg{}, FlagRemoteCQData), fierr.EBadFlags, "FlagRemoteCQData"},
			{"flags", a.FetchAtomicMsg(&AtomicMsg{}, FlagInject), fierr.EBadFlags, "FlagInject"},
			{"flags", a.AtomicMsg(&AtomicMsg{}, FlagInject|FlagDeliveryComplete), fierr.EBadFlags, "exclude"},
			{"results of a base call", a.AtomicMsg(&AtomicMsg{Type: Uint64, IOV: [][]byte{b8}, Result: [][]byte{raw[8:16]}, Remote: []RemoteRange{{at, 0, 8}}}, 0), fierr.EInval, "has no results"},
		}
		for _, c := range cases {
			require.ErrorIs(t, c.err, c.want, c.name)
			require.ErrorContains(t, c.err, c.text, c.name)
		}
		// what may only be read can be read, and so on
		_, err = Load[uint64](w.ctx, readable, 0)
		require.NoError(t, err)
		require.NoError(t, Add[uint64](w.ctx, writable, 0, 1))
		_, err = a.QueryAtomic(9, Uint64, AtomicSum)
		require.ErrorIs(t, err, fierr.EInval)
		n, _ := a.CQ().Read(make([]Entry, 1))
		require.Zero(t, n, "nothing was started")
	})
}

func TestAtomicWithoutCapability(t *testing.T) {
	a, b, toB, _ := connected(t, Options{Links: "shm", Caps: CapRMA})
	mem := make([]byte, 8)
	r, err := b.Register(mem, anyRemote)
	require.NoError(t, err)
	key, err := r.RemoteKey()
	require.NoError(t, err)
	m, err := a.Import(toB, key)
	require.NoError(t, err)
	require.ErrorIs(t, Add[uint64](t.Context(), m, 0, 1), ErrNoAtomic)
	_, err = a.AtomicValid(Uint64, AtomicSum)
	require.ErrorIs(t, err, ErrNoAtomic)
	_, err = a.QueryAtomic(AtomicBase, Uint64, AtomicSum)
	require.ErrorIs(t, err, ErrNoAtomic)
}

// A key whose memory was closed is an error; so is memory of a closed endpoint.
func TestAtomicFreedKey(t *testing.T) {
	onAtomicLinks(t, func(t *testing.T, w *atomicWorld) {
		r, err := w.b.Register(w.mem[:64], anyRemote)
		require.NoError(t, err)
		key, err := r.RemoteKey()
		require.NoError(t, err)
		m, err := w.a.Import(w.toB, key)
		require.NoError(t, err)
		_, err = FetchAdd[uint64](w.ctx, m, 0, 5)
		require.NoError(t, err)
		require.NoError(t, r.Close())
		_, err = FetchAdd[uint64](w.ctx, m, 0, 5)
		require.Error(t, err)
		e := errnoOf(err)
		require.True(t, e == fierr.ENoKey || e == fierr.EAcces, "%v", err)
		require.Error(t, Add[uint64](w.ctx, m, 0, 5))
		// other memory goes on
		v, err := FetchAdd[uint64](w.ctx, w.at, 0, 1)
		require.NoError(t, err)
		require.EqualValues(t, 5, v)
		require.NoError(t, w.a.Close())
		_, err = Load[uint64](w.ctx, w.at, 0)
		require.ErrorIs(t, err, ErrClosed)
		require.ErrorIs(t, w.a.InjectAtomic(make([]byte, 8), w.at, 0, Uint64, AtomicSum), ErrClosed)
	})
}
