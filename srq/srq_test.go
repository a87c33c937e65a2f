package srq

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/internal/oracle"
	"golnx/internal/tuple"
)

const (
	anyone = AnySource
	alice  = uint64(0) // FI_ADDR 0 is a source like any other
	bob    = uint64(1)
	all    = ^uint64(0) // an ignore mask: every tag matches
)

// step does something to a queue and says what should come of it.
type step struct {
	text string
	run  func(t *testing.T, q *Queue)
}

func post(slot Slot, src, tag, ignore uint64) step {
	return step{fmt.Sprintf("post %d", slot), func(t *testing.T, q *Queue) {
		require.True(t, q.Post(slot, src, tag, ignore))
	}}
}

// message arrives and takes a receive.
func message(src, tag uint64, takes Slot) step {
	return step{fmt.Sprintf("message %#x from %d", tag, int64(src)), func(t *testing.T, q *Queue) {
		found, _ := q.Find(src, tag)
		slot, ok := q.Match(src, tag)
		require.True(t, ok, "is unexpected, should take %d", takes)
		require.Equal(t, takes, slot)
		require.Equal(t, takes, found, "Find answers something else than Match")
	}}
}

// unexpected is a message that arrives and takes none.
func unexpected(src, tag uint64) step {
	return step{fmt.Sprintf("message %#x from %d", tag, int64(src)), func(t *testing.T, q *Queue) {
		_, found := q.Find(src, tag)
		require.False(t, found)
		slot, ok := q.Match(src, tag)
		require.False(t, ok, "takes %d, should be unexpected", slot)
	}}
}

func cancel(slot Slot, want bool) step {
	return step{fmt.Sprintf("cancel %d", slot), func(t *testing.T, q *Queue) {
		require.Equal(t, want, q.Cancel(slot))
	}}
}

var scenarios = []struct {
	name  string
	steps []step
}{
	{"no receive", []step{
		unexpected(alice, 7),
	}},
	{"a receive is taken once", []step{
		post(1, alice, 7, 0),
		message(alice, 7, 1),
		unexpected(alice, 7),
	}},
	{"another tag or another source does not match", []step{
		post(1, alice, 7, 0),
		unexpected(alice, 8),
		unexpected(bob, 7),
		message(alice, 7, 1),
	}},
	{"equal receives are taken in the order posted", []step{
		post(3, alice, 7, 0), post(1, alice, 7, 0), post(2, alice, 7, 0),
		message(alice, 7, 3), message(alice, 7, 1), message(alice, 7, 2),
		unexpected(alice, 7),
	}},
	{"a wildcard source posted first wins over a directed receive", []step{
		post(1, anyone, 7, 0), post(2, alice, 7, 0),
		message(alice, 7, 1), message(alice, 7, 2),
	}},
	{"a directed receive posted first wins over a wildcard source", []step{
		post(1, alice, 7, 0), post(2, anyone, 7, 0),
		message(alice, 7, 1), message(alice, 7, 2),
	}},
	{"a wildcard source waits while messages take what is older", []step{
		post(1, alice, 7, 0), post(2, anyone, 7, 0), post(3, bob, 7, 0),
		message(bob, 7, 2), message(alice, 7, 1), message(bob, 7, 3),
	}},
	{"bits that are ignored do not count", []step{
		post(1, alice, 0xab00, 0xff), post(2, alice, 0xab12, 0),
		message(alice, 0xab12, 1), message(alice, 0xab12, 2),
	}},
	{"bits that are ignored do not count in the receive's tag either", []step{
		post(1, alice, 0xab34, 0xff),
		unexpected(alice, 0xac34),
		message(alice, 0xab56, 1),
	}},
	{"the oldest of several masks wins, whichever it is", []step{
		post(1, alice, 0x00, 0x0f), post(2, anyone, 0x05, 0xf0), post(3, alice, 0x05, 0), post(4, anyone, 0, all),
		message(alice, 0x05, 1), message(alice, 0x05, 2), message(alice, 0x05, 3), message(alice, 0x05, 4),
	}},
	{"a receive that ignores all bits from any source takes everything", []step{
		post(1, anyone, 123, all), post(2, anyone, 456, all),
		message(alice, 7, 1), message(bob, 8, 2),
	}},
	{"an unknown source matches receives from any source only", []step{
		post(1, alice, 7, 0), post(2, anyone, 7, 0),
		message(anyone, 7, 2),
		unexpected(anyone, 7),
		message(alice, 7, 1),
	}},
	{"cancel the oldest, the middle and the newest of equal receives", []step{
		post(1, alice, 7, 0), post(2, alice, 7, 0), post(3, alice, 7, 0), post(4, alice, 7, 0), post(5, alice, 7, 0),
		cancel(3, true), cancel(1, true), cancel(5, true),
		message(alice, 7, 2), message(alice, 7, 4),
		unexpected(alice, 7),
	}},
	{"a receive is canceled once, and not after it was matched", []step{
		post(1, alice, 7, 0), post(2, alice, 7, 0),
		cancel(1, true), cancel(1, false),
		message(alice, 7, 2),
		cancel(2, false),
	}},
	{"a slot never posted cannot be canceled", []step{
		cancel(0, false), cancel(1_000_000, false), cancel(NoSlot, false),
	}},
	{"a slot that is queued cannot be posted again", []step{
		post(1, alice, 7, 0),
		{"post 1 again", func(t *testing.T, q *Queue) { require.False(t, q.Post(1, bob, 8, 0)) }},
		unexpected(bob, 8),
		message(alice, 7, 1),
		post(1, bob, 8, 0),
		message(bob, 8, 1),
	}},
	{"NoSlot cannot be posted", []step{
		{"post NoSlot", func(t *testing.T, q *Queue) { require.False(t, q.Post(NoSlot, anyone, 0, all)) }},
		unexpected(alice, 7),
	}},
}

// Each scenario is played in an empty queue, which scans, and behind so many
// older receives that the queue hashes.
func TestScenarios(t *testing.T) {
	const ahead = 100
	for _, behind := range []int{0, ahead} {
		for _, sc := range scenarios {
			t.Run(fmt.Sprintf("behind=%d/%s", behind, sc.name), func(t *testing.T) {
				q := New(1)
				for i := range behind {
					require.True(t, q.Post(Slot(1000+i), 99, uint64(i), 0xf0))
				}
				require.Equal(t, behind > 0, q.core.Indexed)
				for i, st := range sc.steps {
					ok := t.Run(fmt.Sprintf("%d %s", i, st.text), func(t *testing.T) { st.run(t, q) })
					require.True(t, ok)
				}
			})
		}
	}
}

// A mask that comes when all groups are taken is searched one by one at first.
// When many of its receives wait it gets a group of its own, and the order
// stays.
func TestPromote(t *testing.T) {
	for _, src := range []uint64{alice, anyone} {
		t.Run(fmt.Sprintf("from %d", int64(src)), func(t *testing.T) {
			q := New(1)
			slot := Slot(0)
			for i := range 2 * maxGroups { // as many masks, each used twice
				for range 2 {
					require.True(t, q.Post(slot, bob, 0, uint64(i+1)<<8))
					slot++
				}
			}
			require.Len(t, q.groups.live, maxGroups)
			require.Equal(t, 2*maxGroups, q.rest.Len())

			const n, late = 50, 0xf0
			first := slot
			for i := range n { // directed and not in turn: two groups, if any
				require.True(t, q.Post(slot, src, 0x07, late))
				require.True(t, q.Post(slot+1, alice^anyone^src, 0x07, late))
				slot += 2
				if i == n/2 {
					require.NotNil(t, q.groups.find(^uint64(late), src != anyone))
				}
			}
			require.NotNil(t, q.groups.find(^uint64(late), true))
			require.NotNil(t, q.groups.find(^uint64(late), false))
			require.Equal(t, 2*maxGroups, q.rest.Len(), "only the late masks were promoted")

			for i := range Slot(2 * n) {
				got, ok := q.Match(alice, 0x37)
				require.True(t, ok)
				require.Equal(t, first+i, got)
			}
			require.Nil(t, q.groups.find(^uint64(late), true))
			require.Len(t, q.groups.live, maxGroups)
		})
	}
}

func TestIterate(t *testing.T) {
	for _, depth := range []int{0, 1, 64, 65, 300} {
		t.Run(fmt.Sprintf("depth=%d", depth), func(t *testing.T) {
			q := New(1)
			var posted, fromBob []Slot
			for i := range depth {
				slot, src := Slot(depth-i), uint64(i%3) // alice, bob, and anyone for 2
				if src == 2 {
					src = anyone
				}
				require.True(t, q.Post(slot, src, 7, 0))
				posted = append(posted, slot)
				if src == bob {
					fromBob = append(fromBob, slot)
				}
			}
			require.Equal(t, posted, slices.Collect(q.All()))
			require.Equal(t, fromBob, slices.Collect(q.Directed(bob)))

			var some []Slot
			for slot := range q.All() {
				if len(some) == 2 {
					break
				}
				some = append(some, slot)
			}
			require.Equal(t, posted[:min(2, depth)], some[:min(2, depth)])

			for slot := range q.Directed(bob) {
				require.True(t, q.Cancel(slot))
			}
			require.Equal(t, depth-len(fromBob), q.Len())
			require.Empty(t, slices.Collect(q.Directed(bob)))
			for slot := range q.All() {
				require.True(t, q.Cancel(slot))
			}
			require.Zero(t, q.Len())
		})
	}
}

// A queue whose depth swings around a threshold does not change its form each time.
func TestNoFlapping(t *testing.T) {
	q := New(1)
	to := func(depth int) {
		for n := q.Len(); n < depth; n++ {
			require.True(t, q.Post(Slot(n), alice, uint64(n), 0))
		}
		for n := q.Len() - 1; n >= depth; n-- {
			require.True(t, q.Cancel(Slot(n)))
		}
	}
	for range 3 {
		for _, depth := range []int{tuple.FlatMax, tuple.FlatLow, tuple.FlatMax} {
			to(depth)
			require.False(t, q.core.Indexed)
		}
		for _, depth := range []int{tuple.FlatMax + 1, tuple.FlatLow + 1, tuple.FlatLow + 2} {
			to(depth)
			require.True(t, q.core.Indexed)
		}
		to(0)
	}
}

// Nothing is allocated in steady state, whatever the depth, also when the queue
// goes from scanning to hashing and back, and when masks come and go.
func TestNoAllocation(t *testing.T) {
	const slots = 5000
	cycle := func(q *Queue, depth, masks int) {
		for i := range depth {
			q.Post(Slot(i), uint64(i%7), uint64(i), uint64(i%masks))
		}
		for i := range depth {
			if i%3 == 0 {
				q.Cancel(Slot(i))
			} else {
				q.Match(uint64(i%7), uint64(i))
			}
		}
		for slot := range Slot(depth) {
			q.Cancel(slot)
		}
	}
	for _, depth := range []int{1, 64, 200, slots} {
		for _, masks := range []int{1, 8, 100} {
			t.Run(fmt.Sprintf("depth=%d/masks=%d", depth, masks), func(t *testing.T) {
				q := New(1)
				cycle(q, depth, masks)
				require.Zero(t, testing.AllocsPerRun(5, func() { cycle(q, depth, masks) }))
				require.Zero(t, q.Len())
			})
		}
	}
}

// The package's comment promises 80 bytes a slot at a depth of a million, with all
// keys different: the worst case for the hash tables.
func TestMemory(t *testing.T) {
	const depth = 1_000_000
	random := rand.New(rand.NewPCG(1, 1))
	before := oracle.HeapBytes()
	q := New(1)
	for i := range depth {
		q.Post(Slot(i), uint64(i%1000), random.Uint64(), 0)
	}
	perSlot := float64(oracle.HeapBytes()-before) / depth
	require.Equal(t, depth, q.Len())
	require.Less(t, perSlot, 80.0)
	t.Logf("%.1f bytes a slot", perSlot)
}
