package ofi

import (
	"fmt"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"golnx/internal/oracle"
	"golnx/providers"
)

// indexSlots is how many receives there can be in the tests' index.
const indexSlots = 1500

// bare answers an index without rails, with nothing in it. There is one for all tests.
func bare(t require.TestingT) index {
	c, err := bareCore()
	require.NoError(t, err)
	x := index{c}
	for slot := range x.All() {
		require.True(t, x.Cancel(slot))
	}
	require.Zero(t, x.Len())
	return x
}

var bareCore = sync.OnceValues(func() (*Core, error) {
	c := &Core{opts: Options{MaxRx: 1 << 20}}
	if err := c.allocate(); err != nil {
		return nil, err
	}
	return c, c.growTo(indexSlots)
})

// growTo makes the slots below n usable.
func (c *Core) growTo(n int) error {
	for slot := range providers.Slot(n) {
		if err := (index{c}).Reserve(slot); err != nil {
			return err
		}
	}
	return nil
}

// indexProgram runs the index and the oracle side by side.
type indexProgram struct {
	oracle.Side
	index index

	// How often what is rare was met.
	inRest, sameKey int
}

// matching is the index as the oracle knows it.
type matching struct{ index }

// Add looks for the slot first: nobody posts a receive twice.
func (x matching) Add(r oracle.Receive) bool {
	if x.at(r.Slot).queued {
		return false
	}
	x.Post(r.Slot, r.Src, r.Tag, r.Ignore)
	return true
}

func (x matching) Match(src, tag uint64) (uint32, bool) { return x.match(src, tag) }

func newIndexProgram(t require.TestingT, choose oracle.Choose) *indexProgram {
	x := bare(t)
	return &indexProgram{index: x, Side: oracle.Side{T: t, Queue: matching{x}, Domain: oracle.Domain{Choose: choose, Slots: indexSlots}}}
}

func (p *indexProgram) Step() {
	p.Domain.Step()
	switch n := p.Domain.Choose(64); {
	case n == 0:
		p.CompareAll()
	case p.Domain.Grow(len(p.Oracle)):
		p.Post()
	case n < 20:
		p.Cancel()
	default:
		p.Match()
	}
	oracle.Same(p.T, len(p.Oracle), p.index.Len(), "length")
	if x := &p.index.core.c.index; x.rest_oldest != 0 {
		p.inRest++
	} else if x.count > x.keys {
		p.sameKey++
	}
}

// A million random steps answer as the oracle does.
func TestIndexLikeOracle(t *testing.T) {
	p := newIndexProgram(t, oracle.Seeded(1))
	for range 1_000_000 {
		p.Step()
	}
	p.CompareAll()
	require.Greater(t, p.inRest, 10_000, "steps with more masks than classes")
	require.Greater(t, p.sameKey, 10_000, "steps with equal keys")
}

// Short programs do, too; these shrink.
func TestIndexLikeOracleShort(t *testing.T) { oracle.RunShort(t, newIndexProgram) }

func FuzzIndexLikeOracle(f *testing.F) { oracle.RunFuzz(f, newIndexProgram) }

// Many keys make the table grow, bucket by bucket, and each is found at every size; many
// receives of one key stay in the order in which they were posted.
func TestIndexGrows(t *testing.T) {
	const n = 50_000
	x := bare(t)
	require.NoError(t, x.core.growTo(2*n))
	for i := range uint64(n) {
		x.Post(providers.Slot(2*i), 3, i<<20, 0)
		x.Post(providers.Slot(2*i+1), providers.NoAddr, 1, 0)
		if i&(i-1) == 0 {
			for j := range i + 1 {
				slot, ok := x.match(3, j<<20)
				require.True(t, ok, "key %d of %d", j, i)
				require.Equal(t, providers.Slot(2*j), slot)
				x.Post(slot, 3, j<<20, 0)
			}
		}
	}
	require.Greater(t, uint64(x.core.c.index.mask)+uint64(x.core.c.index.split), uint64(n), "the table has not grown")
	for i := range uint64(n) {
		slot, ok := x.match(9, 1)
		require.True(t, ok)
		require.Equal(t, providers.Slot(2*i+1), slot)
	}
	_, ok := x.match(9, 1)
	require.False(t, ok)
	for i := range uint64(n) {
		require.True(t, x.Cancel(providers.Slot(2*i)))
	}
	require.Zero(t, x.Len())
	require.Zero(t, x.core.c.index.keys)
}

// However many receives wait, a match looks at none to which the hash of its key does not
// lead: see oracle.Decoys; and of those few have one bucket.
func TestIndexLooksAtFew(t *testing.T) {
	for _, masks := range []int{1, 2, 8} {
		t.Run(fmt.Sprintf("masks=%d", masks), func(t *testing.T) {
			x := bare(t)
			state := &x.core.c.index
			for i := range state.seed { // the same hashes each time
				set(&state.seed[i], uint64(i)*0x9e3779b97f4a7c15+1)
			}
			require.NoError(t, x.core.growTo(oracle.Decoys+1))
			for i := range oracle.Decoys {
				src, ignore := oracle.DecoyKey(i, masks)
				x.Post(providers.Slot(i), src, oracle.DecoyTag(i), ignore)
			}
			require.EqualValues(t, 2*masks, state.nclasses)
			require.Zero(t, state.rest_oldest)
			require.Less(t, x.longestChain(), 12)
			for i := range oracle.Decoys {
				_, ignore := oracle.DecoyKey(i, masks)
				set(&x.at(providers.Slot(i)).tag, oracle.ChangedTag(i)&^ignore)
			}
			for i := range 2000 {
				src, ignore := oracle.DecoyKey(i, masks)
				from, tag := oracle.Sought(i)
				x.Post(oracle.Decoys, src, tag, ignore)
				slot, ok := x.match(from, tag)
				require.True(t, ok)
				require.Equal(t, providers.Slot(oracle.Decoys), slot, "match %d", i)
			}
		})
	}
}

// set sets a field of a C struct.
func set[T ~uint64](field *T, v uint64) { *field = T(v) }

// longestChain answers how many keys share a bucket at most.
func (x index) longestChain() (longest int) {
	state := &x.core.c.index
	for _, link := range unsafe.Slice(state.buckets, state.mask+1+state.split) {
		n := 0
		for ; link != 0; link = x.at(providers.Slot(link - 1)).chain {
			n++
		}
		longest = max(longest, n)
	}
	return longest
}

// BenchmarkIndex posts a receive and matches it, behind depth receives that do not
// match.
func BenchmarkIndex(b *testing.B) {
	for _, depth := range []int{0, 100, 10_000, 100_000, 1_000_000} {
		for _, kind := range oracle.Kinds {
			b.Run(fmt.Sprintf("depth=%d/kind=%s", depth, kind.Name), func(b *testing.B) {
				x := bare(b)
				require.NoError(b, x.core.growTo(depth+1))
				for i := range depth {
					x.Post(providers.Slot(i), kind.Src, oracle.WaitingTag(i), kind.Ignore)
				}
				slot := providers.Slot(depth)
				for i := 0; b.Loop(); i++ {
					tag := oracle.MatchingTag(i)
					x.Post(slot, kind.Src, tag, kind.Ignore)
					if got, ok := x.match(oracle.BenchSource, tag); !ok || got != slot {
						b.Fatal("not the receive that matches", got, ok)
					}
				}
			})
		}
	}
}
