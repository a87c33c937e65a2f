package suq

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

	all     = ^waiting // an ignore mask: every tag of a scenario matches
	waiting = uint64(1 << 63)
)

// step does something to a queue and says what should come of it.
type step struct {
	text string
	run  func(t *testing.T, q *Queue)
}

func arrive(slot Slot, src, tag uint64) step {
	return step{fmt.Sprintf("arrive %d", slot), func(t *testing.T, q *Queue) {
		require.True(t, q.Push(slot, src, tag))
	}}
}

// receive is one that gets a message.
func receive(src, tag, ignore uint64, gets Slot) step {
	return step{fmt.Sprintf("receive %#x/%#x from %d", tag, ignore, int64(src)), func(t *testing.T, q *Queue) {
		peeked, _ := q.Peek(src, tag, ignore)
		slot, ok := q.Match(src, tag, ignore)
		require.True(t, ok, "gets nothing, should get %d", gets)
		require.Equal(t, gets, slot)
		require.Equal(t, gets, peeked, "Peek answers something else than Match")
	}}
}

// nothing is a receive that gets no message.
func nothing(src, tag, ignore uint64) step {
	return step{fmt.Sprintf("receive %#x/%#x from %d", tag, ignore, int64(src)), func(t *testing.T, q *Queue) {
		_, peeked := q.Peek(src, tag, ignore)
		require.False(t, peeked)
		slot, ok := q.Match(src, tag, ignore)
		require.False(t, ok, "gets %d, should get nothing", slot)
	}}
}

func remove(slot Slot, want bool) step {
	return step{fmt.Sprintf("remove %d", slot), func(t *testing.T, q *Queue) {
		require.Equal(t, want, q.Remove(slot))
	}}
}

func sender(slot Slot, src uint64, want bool) step {
	return step{fmt.Sprintf("sender of %d is %d", slot, int64(src)), func(t *testing.T, q *Queue) {
		require.Equal(t, want, q.SetSource(slot, src))
	}}
}

var scenarios = []struct {
	name  string
	steps []step
}{
	{"no message", []step{
		nothing(alice, 7, 0), nothing(anyone, 0, all),
	}},
	{"a message is received once", []step{
		arrive(1, alice, 7),
		receive(alice, 7, 0, 1),
		nothing(alice, 7, 0),
	}},
	{"another tag or another source does not match", []step{
		arrive(1, alice, 7),
		nothing(alice, 8, 0), nothing(bob, 7, 0),
		receive(alice, 7, 0, 1),
	}},
	{"equal messages are received in the order they came", []step{
		arrive(3, alice, 7), arrive(1, alice, 7), arrive(2, alice, 7),
		receive(alice, 7, 0, 3), receive(anyone, 7, 0, 1), receive(alice, 7, 0, 2),
	}},
	{"a receive from any source gets the oldest", []step{
		arrive(1, alice, 7), arrive(2, bob, 7), arrive(3, alice, 7),
		receive(bob, 7, 0, 2), receive(anyone, 7, 0, 1), receive(anyone, 7, 0, 3),
	}},
	{"bits that are ignored do not count", []step{
		arrive(1, alice, 0xab12), arrive(2, alice, 0xab00), arrive(3, alice, 0xac00),
		receive(alice, 0xabff, 0xff, 1), receive(alice, 0xab00, 0xff, 2),
		nothing(alice, 0xab00, 0xff),
	}},
	{"a receive that ignores all bits gets the oldest of all", []step{
		arrive(1, alice, 7), arrive(2, bob, 8), arrive(3, bob, 9),
		receive(bob, 0, all, 2), receive(anyone, 123, all, 1), receive(anyone, 0, all, 3),
	}},
	{"a mask asked for before the message came", []step{
		nothing(alice, 0x70, 0x0f),
		arrive(1, alice, 0x71),
		nothing(alice, 0x80, 0x0f),
		arrive(2, alice, 0x72),
		receive(alice, 0x70, 0x0f, 1), receive(alice, 0x70, 0x0f, 2),
	}},
	{"a message that one mask took is gone for the others", []step{
		arrive(1, alice, 0x71), arrive(2, alice, 0x72),
		nothing(alice, 0x80, 0x0f), nothing(anyone, 0x80, 0xff0f), nothing(alice, 0x80, 0),
		receive(anyone, 0, all, 1),
		receive(alice, 0x70, 0x0f, 2),
		nothing(alice, 0x71, 0), nothing(anyone, 0x70, 0xff0f),
	}},
	{"an unknown source matches receives from any source only", []step{
		arrive(1, anyone, 7), arrive(2, alice, 7),
		receive(alice, 7, 0, 2), nothing(alice, 7, 0),
		receive(anyone, 7, 0, 1),
	}},
	{"a source learned later matches, at the message's age", []step{
		arrive(1, alice, 7), arrive(2, anyone, 7), arrive(3, alice, 7),
		nothing(alice, 8, 0),
		sender(2, alice, true),
		receive(alice, 7, 0, 1), receive(alice, 7, 0, 2), receive(alice, 7, 0, 3),
	}},
	{"sources learned in another order than the messages came", []step{
		arrive(1, anyone, 7), arrive(2, anyone, 7), arrive(3, alice, 7), arrive(4, anyone, 7), arrive(5, anyone, 7),
		nothing(alice, 8, 0),
		sender(5, alice, true), sender(2, alice, true), sender(1, alice, true), sender(4, alice, true),
		receive(alice, 7, 0, 1), receive(alice, 7, 0, 2), receive(alice, 7, 0, 3), receive(alice, 7, 0, 4), receive(alice, 7, 0, 5),
	}},
	{"a source is learned once, and only of a queued message", []step{
		arrive(1, anyone, 7), arrive(2, bob, 7),
		sender(1, anyone, false), sender(1, alice, true), sender(1, bob, false),
		sender(2, alice, false), sender(3, alice, false), sender(NoSlot, alice, false),
		receive(alice, 7, 0, 1),
		sender(1, alice, false),
	}},
	{"peek and claim", []step{
		arrive(1, alice, 7), arrive(2, alice, 7),
		{"peek 1", func(t *testing.T, q *Queue) {
			slot, ok := q.Peek(alice, 7, 0)
			require.True(t, ok)
			require.Equal(t, Slot(1), slot)
		}},
		remove(1, true), remove(1, false),
		receive(alice, 7, 0, 2),
		remove(2, false),
	}},
	{"remove the oldest, the middle and the newest of equal messages", []step{
		arrive(1, alice, 7), arrive(2, alice, 7), arrive(3, alice, 7), arrive(4, alice, 7), arrive(5, alice, 7),
		nothing(alice, 8, 0), nothing(anyone, 8, 0),
		remove(3, true), remove(1, true), remove(5, true),
		receive(alice, 7, 0, 2), receive(anyone, 7, 0, 4),
		nothing(anyone, 7, 0),
	}},
	{"a slot never queued cannot be removed", []step{
		remove(0, false), remove(1_000_000, false), remove(NoSlot, false),
	}},
	{"a slot that is queued cannot be queued again", []step{
		arrive(1, alice, 7),
		{"arrive 1 again", func(t *testing.T, q *Queue) { require.False(t, q.Push(1, bob, 8)) }},
		nothing(bob, 8, 0),
		receive(alice, 7, 0, 1),
		arrive(1, bob, 8),
		receive(bob, 8, 0, 1),
	}},
	{"NoSlot cannot be queued", []step{
		{"arrive NoSlot", func(t *testing.T, q *Queue) { require.False(t, q.Push(NoSlot, alice, 7)) }},
		nothing(anyone, 0, all),
	}},
}

// Each scenario is played in an empty queue, which scans; behind so many older
// messages that the queue hashes; and with so many masks in use besides that
// its own have no index.
func TestScenarios(t *testing.T) {
	const older = 100
	for _, setting := range []struct {
		name         string
		behind, asks int
	}{{"scan", 0, 0}, {"hash", older, 0}, {"masks", older, maxMasks}} {
		for _, sc := range scenarios {
			t.Run(setting.name+"/"+sc.name, func(t *testing.T) {
				q := New(1)
				for i := range setting.behind {
					require.True(t, q.Push(Slot(1000+i), 99, waiting|uint64(i)))
				}
				for i := range setting.asks {
					_, ok := q.Match(99, 0, uint64(i+1)<<40)
					require.False(t, ok)
				}
				require.Equal(t, setting.behind > 0, q.core.Indexed)
				for i, st := range sc.steps {
					ok := t.Run(fmt.Sprintf("%d %s", i, st.text), func(t *testing.T) { st.run(t, q) })
					require.True(t, ok)
				}
			})
		}
	}
}

func TestIterate(t *testing.T) {
	for _, depth := range []int{0, 1, 64, 65, 300} {
		t.Run(fmt.Sprintf("depth=%d", depth), func(t *testing.T) {
			q := New(1)
			var came, fromBob, unknown []Slot
			for i := range depth {
				slot := Slot(depth - i)
				src := []uint64{alice, bob, anyone}[i%3]
				require.True(t, q.Push(slot, src, 7))
				came = append(came, slot)
				switch src {
				case bob:
					fromBob = append(fromBob, slot)
				case anyone:
					unknown = append(unknown, slot)
				}
			}
			q.Peek(alice, 8, 0) // has an index, if there are any
			require.Equal(t, came, slices.Collect(q.All()))
			require.Equal(t, fromBob, slices.Collect(q.From(bob)))
			require.Equal(t, unknown, slices.Collect(q.Unknown()))

			for slot := range q.Unknown() {
				require.True(t, q.SetSource(slot, bob))
			}
			require.Empty(t, slices.Collect(q.Unknown()))
			require.Len(t, slices.Collect(q.From(bob)), len(fromBob)+len(unknown))

			for slot := range q.From(bob) {
				require.True(t, q.Remove(slot))
			}
			require.Empty(t, slices.Collect(q.From(bob)))
			for slot := range q.All() {
				require.True(t, q.Remove(slot))
			}
			require.Zero(t, q.Len())
		})
	}
}

// When there are more masks than indexes, the mask that was not asked for the
// longest gives way, after as much was scanned as a new index costs.
func TestLeastRecentlyAskedMaskGivesWay(t *testing.T) {
	const depth = 100
	q := New(1)
	for i := range depth {
		q.Push(Slot(i), alice, uint64(i)<<32)
	}
	ask := func(ignore int) {
		_, ok := q.Peek(alice, 1<<31, uint64(ignore))
		require.False(t, ok)
	}
	has := func(ignore int) bool {
		return slices.ContainsFunc(q.masks.list, func(m mask) bool { return m.keep == ^uint64(ignore) })
	}
	for ignore := range maxMasks {
		ask(ignore)
	}
	ask(0) // now 1 is the one
	for range scansPerIndex {
		ask(99)
		require.False(t, has(99))
	}
	ask(99)
	require.True(t, has(99))
	require.True(t, has(0))
	require.False(t, has(1))
}

// A message pushed is not touched again for masks that nobody asks for any more.
func TestIdleMaskCostsNothing(t *testing.T) {
	q := New(1)
	for i := range 100 {
		q.Push(Slot(i), alice, uint64(i))
	}
	q.Peek(alice, 1000, 0xff)
	idle := q.masks.list[0].lastSeq
	for i := 100; i < 200; i++ {
		q.Push(Slot(i), alice, uint64(i))
		q.Match(alice, uint64(i), 0)
	}
	require.Equal(t, idle, q.masks.list[0].lastSeq)
	require.Equal(t, 100, q.Len())
}

// A queue whose depth swings around a threshold does not change its form each time.
func TestNoFlapping(t *testing.T) {
	q := New(1)
	to := func(depth int) {
		for n := q.Len(); n < depth; n++ {
			require.True(t, q.Push(Slot(n), alice, uint64(n)))
		}
		for n := q.Len() - 1; n >= depth; n-- {
			require.True(t, q.Remove(Slot(n)))
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
// goes from scanning to hashing and back, and when masks replace one another.
func TestNoAllocation(t *testing.T) {
	cycle := func(q *Queue, depth, masks int) {
		for i := range depth {
			src := uint64(i % 7)
			if i%10 == 0 {
				src = anyone
			}
			q.Push(Slot(i), src, uint64(i))
		}
		for slot := range q.Unknown() {
			if slot%20 == 0 {
				q.SetSource(slot, alice)
			}
		}
		for i := range depth {
			if i%3 == 0 {
				q.Remove(Slot(i))
			} else {
				q.Match(uint64(i%7), uint64(i), uint64(i%masks))
			}
		}
		for slot := range Slot(depth) {
			q.Remove(slot)
		}
	}
	for _, depth := range []int{1, 64, 200, 2000} {
		for _, masks := range []int{1, 8, 100} {
			t.Run(fmt.Sprintf("depth=%d/masks=%d", depth, masks), func(t *testing.T) {
				q := New(1)
				for range 100 { // until each index had every slot in it
					cycle(q, depth, masks)
				}
				require.Zero(t, testing.AllocsPerRun(5, func() { cycle(q, depth, masks) }))
				require.Zero(t, q.Len())
			})
		}
	}
}

// The package's comment promises 50 bytes a slot at a depth of a million, and 35
// for a mask, with all keys different: the worst case for the hash tables.
func TestMemory(t *testing.T) {
	const depth = 1_000_000
	random := rand.New(rand.NewPCG(1, 1))
	before := oracle.HeapBytes()
	q := New(1)
	for i := range depth {
		q.Push(Slot(i), uint64(i%1000), random.Uint64())
	}
	pushed := oracle.HeapBytes()
	for range 2 {
		_, ok := q.Peek(5000, 0, 0)
		require.False(t, ok)
	}
	asked := oracle.HeapBytes()
	require.Equal(t, depth, q.Len())
	perSlot, perMask := float64(pushed-before)/depth, float64(asked-pushed)/depth
	require.Less(t, perSlot, 50.0)
	require.Less(t, perMask, 35.0)
	t.Logf("%.1f bytes a slot, %.1f for a mask", perSlot, perMask)
}
