package sim_test

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"golnx/providers"
	"golnx/providers/fierr"
	"golnx/providers/sim"
	"golnx/providers/sim/linear"
)

// testT is a *testing.T or *rapid.T.
type testT interface {
	require.TestingT
	Cleanup(func())
}

// world is endpoints on one fabric that know each other on all rails.
type world struct {
	f     *sim.Fabric
	nodes []*linear.Owner
	cores []*sim.Core
}

func newWorld(t testT, o sim.Options, endpoints ...[]sim.Rail) *world {
	w := &world{f: sim.New(o)}
	for _, rails := range endpoints {
		n, err := linear.Open(func(o providers.Owner) (providers.Core, error) {
			core, err := w.f.Open(rails, o, sim.Limits{})
			w.cores = append(w.cores, core)
			return opened(core, err)
		})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, n.Close()) })
		w.nodes = append(w.nodes, n)
	}
	return w
}

// to answers the address of an endpoint's rail at another one's.
func (w *world) to(t require.TestingT, from, rail, node, nodeRail int) uint64 {
	name, err := w.cores[node].Name(nodeRail)
	require.NoError(t, err)
	addr, err := w.cores[from].Insert(rail, name)
	require.NoError(t, err)
	return addr
}

func (w *world) close(t require.TestingT) {
	for _, n := range w.nodes {
		require.NoError(t, n.Close())
	}
	require.NoError(t, w.f.Err())
}

func rails(n int, r sim.Rail) (all []sim.Rail) {
	for range n {
		all = append(all, r)
	}
	return all
}

// The send completes when the last byte has left, the receive Latency later; the
// next message waits for the rail.
func TestTimes(t *testing.T) {
	w := newWorld(t, sim.Options{}, rails(1, sim.Rail{Rate: 8e9, Latency: 500}), rails(1, sim.Rail{}))
	a, b := w.nodes[0], w.nodes[1]
	dest := w.to(t, 0, 0, 1, 0)
	w.f.Advance(50)
	for range 2 {
		_, err := a.Send(0, providers.SendOp{Dest: dest}, make([]byte, 100))
		require.NoError(t, err)
	}
	require.Empty(t, a.Poll())
	w.f.Advance(99)
	require.Empty(t, a.Poll())
	w.f.Advance(1)
	require.Len(t, a.Poll(), 1)
	require.True(t, w.f.Step())
	require.EqualValues(t, 250, w.f.Now(), "the second one takes 100 ns more")
	require.Len(t, a.Poll(), 1)
	w.f.Advance(399)
	b.Poll()
	require.Empty(t, b.Unexpected())
	w.f.Advance(1)
	b.Poll()
	require.Len(t, b.Unexpected(), 1)
	require.True(t, w.f.Step())
	require.EqualValues(t, 750, w.f.Now())
	b.Poll()
	require.Len(t, b.Unexpected(), 2)
	require.False(t, w.f.Step())
	w.f.Advance(-10)
	require.EqualValues(t, 750, w.f.Now())
	w.close(t)
}

// The rate is met exactly by messages that take less than a nanosecond.
func TestSmallMessages(t *testing.T) {
	w := newWorld(t, sim.Options{Auto: true}, rails(1, sim.Rail{Rate: 400e9}), rails(1, sim.Rail{}))
	dest := w.to(t, 0, 0, 1, 0)
	for sent := 0; sent < 10_000; {
		_, err := w.nodes[0].Send(0, providers.SendOp{Dest: dest}, make([]byte, 8))
		if err != nil {
			require.Equal(t, fierr.Again, err)
			w.nodes[0].Poll()
			continue
		}
		sent++
	}
	for w.f.Step() {
	}
	require.EqualValues(t, 10_000*64/400, w.f.Now())
	w.close(t)
}

func TestTxSize(t *testing.T) {
	w := newWorld(t, sim.Options{}, rails(1, sim.Rail{Info: providers.Info{TxSize: 3}, Rate: 8e9}), rails(1, sim.Rail{}))
	a, dest := w.nodes[0], w.to(t, 0, 0, 1, 0)
	send := func() error {
		_, err := a.Send(0, providers.SendOp{Dest: dest}, make([]byte, 10))
		return err
	}
	for range 3 {
		require.NoError(t, send())
	}
	require.Equal(t, fierr.Again, send())
	w.f.Advance(10)
	require.Equal(t, fierr.Again, send(), "the owner has not seen the completion")
	require.Len(t, a.Poll(), 1)
	require.NoError(t, send())
	require.Equal(t, fierr.Again, send())
	w.close(t)
}

// Only rails of the mask are driven, and time goes on by itself when they have
// nothing to do.
func TestProgressMask(t *testing.T) {
	w := newWorld(t, sim.Options{Auto: true}, rails(2, sim.Rail{Latency: 10}), rails(2, sim.Rail{}))
	for r := range 2 {
		_, err := w.nodes[0].Send(r, providers.SendOp{Dest: w.to(t, 0, r, 1, r)})
		require.NoError(t, err)
	}
	b := w.nodes[1]
	require.Zero(t, b.Core.Progress(0b10))
	require.Zero(t, b.Core.Progress(0b10))
	require.EqualValues(t, 10, w.f.Now())
	require.Len(t, b.Unexpected(), 1)
	require.Equal(t, 1, b.Core.Unexpected(b.Unexpected()[0]).Rail)
	require.False(t, b.Core.TryWait(), "the other rail has a message")
	require.Zero(t, b.Core.Spin(0b10, 0b11, 20))
	require.EqualValues(t, 10, w.f.Now(), "nothing else was to come")
	require.Len(t, b.Unexpected(), 2)
	require.True(t, b.Core.TryWait())
	fds, without := b.Core.WaitFDs()
	require.Empty(t, fds)
	require.EqualValues(t, 0b11, without)
	w.close(t)
}

// A completion that nobody took keeps the time from going on.
func TestTimeWaitsForOwner(t *testing.T) {
	w := newWorld(t, sim.Options{Auto: true}, rails(1, sim.Rail{Rate: 8e9}), rails(1, sim.Rail{}))
	dest, core := w.to(t, 0, 0, 1, 0), w.cores[0]
	for range 2 {
		_, err := w.nodes[0].Send(0, providers.SendOp{Dest: dest}, make([]byte, 100))
		require.NoError(t, err)
	}
	for range 3 {
		require.Equal(t, 1, core.Progress(1))
		require.EqualValues(t, 100, w.f.Now())
	}
	require.Len(t, w.nodes[0].Poll(), 1)
	require.Len(t, w.nodes[0].Poll(), 1)
	w.close(t)
}

// What waits on several rails is taken in as it arrived.
func TestOrderOverRails(t *testing.T) {
	desc := []sim.Rail{{Latency: 30}, {Latency: 10}, {Latency: 20}}
	w := newWorld(t, sim.Options{}, desc, desc)
	for r := range desc {
		_, err := w.nodes[0].Send(r, providers.SendOp{Dest: w.to(t, 0, r, 1, r), Tag: uint64(r)})
		require.NoError(t, err)
	}
	w.f.Advance(30)
	b := w.nodes[1]
	b.Poll()
	for i, slot := range b.Unexpected() {
		require.EqualValues(t, []int{1, 2, 0}[i], b.Core.Unexpected(slot).Tag)
	}
	w.close(t)
}

// Jitter keeps the order of each pair of rails, and comes from the seed.
func TestJitter(t *testing.T) {
	arrivals := func(seed uint64) (times []int64) {
		w := newWorld(t, sim.Options{Seed: seed}, rails(1, sim.Rail{Rate: 8e9, Latency: 100, Jitter: 50}), rails(1, sim.Rail{}))
		dest := w.to(t, 0, 0, 1, 0)
		for i := range 20 {
			_, err := w.nodes[0].Send(0, providers.SendOp{Dest: dest, Tag: uint64(i)}, make([]byte, 10))
			require.NoError(t, err)
		}
		b := w.nodes[1]
		for n := 0; w.f.Step(); {
			b.Poll()
			for ; n < len(b.Unexpected()); n++ {
				times = append(times, w.f.Now())
				require.EqualValues(t, n, b.Core.Unexpected(b.Unexpected()[n]).Tag)
				require.GreaterOrEqual(t, w.f.Now(), int64(10*n+110))
				require.LessOrEqual(t, w.f.Now(), int64(10*n+160))
			}
		}
		w.close(t)
		require.Len(t, times, 20)
		return times
	}
	require.Equal(t, arrivals(1), arrivals(1))
	require.NotEqual(t, arrivals(1), arrivals(2))
}

// Random traffic arrives when an exact calculation says, in that order.
func TestAgainstCalculation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		desc := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) sim.Rail {
			return sim.Rail{
				Rate:    rapid.SampledFrom([]uint64{0, 1e6, 7e9, 100e9, 333_333_333_333}).Draw(t, "rate"),
				Latency: rapid.Int64Range(0, 3000).Draw(t, "latency"),
			}
		}), 1, 4).Draw(t, "rails")
		w := newWorld(t, sim.Options{}, desc, desc)
		want := map[uint64]int64{}
		free := make([]*big.Rat, len(desc))
		for i := range free {
			free[i] = new(big.Rat)
		}
		n := uint64(rapid.IntRange(1, 30).Draw(t, "messages"))
		for tag := range n {
			w.f.Advance(rapid.Int64Range(0, 200).Draw(t, "pause"))
			r := rapid.IntRange(0, len(desc)-1).Draw(t, "rail")
			size := rapid.IntRange(0, 2000).Draw(t, "size")
			_, err := w.nodes[0].Send(r, providers.SendOp{Dest: w.to(t, 0, r, 1, 0), Tag: tag}, make([]byte, size))
			require.NoError(t, err)
			if floor(free[r]) < w.f.Now() {
				free[r] = new(big.Rat).SetInt64(w.f.Now())
			}
			if desc[r].Rate > 0 {
				free[r] = new(big.Rat).Add(free[r], big.NewRat(int64(size)*8e9, int64(desc[r].Rate)))
			}
			want[tag] = floor(free[r]) + desc[r].Latency
		}
		b, seen, last := w.nodes[1], 0, int64(0)
		look := func(since int64) {
			b.Poll()
			for ; seen < len(b.Unexpected()); seen++ {
				at := want[b.Core.Unexpected(b.Unexpected()[seen]).Tag]
				require.GreaterOrEqual(t, at, max(since, last))
				require.LessOrEqual(t, at, w.f.Now())
				last = at
			}
		}
		for look(0); w.f.Step(); look(w.f.Now()) {
		}
		require.EqualValues(t, n, seen)
		w.close(t)
	})
}

func floor(r *big.Rat) int64 { return new(big.Int).Div(r.Num(), r.Denom()).Int64() }
