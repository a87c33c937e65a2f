package tuple

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// fixture is an index and its entries.
type fixture struct {
	*Index
	entries Chunked[Entry]
	links   Chunked[Link]
	pool    Pool
}

func newFixture(keep uint64, directed bool) *fixture {
	f := &fixture{}
	f.Index = NewIndex(NewSeed(1), &f.entries, &f.links, &f.pool)
	f.Reset(keep, directed)
	return f
}

func (f *fixture) insert(slot Slot, src, tag, seq uint64) {
	*f.entries.Grow(slot) = Entry{Tag: tag, Src: src, Seq: seq}
	f.Insert(slot)
}

// A third of a million random inserts and removals, in waves between nothing and
// thousands of keys, answer as a map of slices does. Ages are random: entries
// go to their place by age.
func TestIndexLikeMap(t *testing.T) {
	type key struct{ src, tag uint64 }
	const keep = ^uint64(0xf0)
	random := rand.New(rand.NewPCG(1, 2))
	f := newFixture(keep, true)
	byKey := map[key][]Slot{}
	keyOf := func(slot Slot) key {
		e := f.entries.At(slot)
		return key{e.Src, e.Tag & keep}
	}
	var queued, free []Slot
	for slot := range Slot(20_000) {
		free = append(free, slot)
	}
	segments := 0

	const wave = 40_000
	for n := range 8 * wave {
		growing := n%wave < wave/2
		switch {
		case len(queued) > 0 && (random.IntN(10) < 2 || !growing):
			i := random.IntN(len(queued))
			slot := queued[i]
			queued[i] = queued[len(queued)-1]
			queued = queued[:len(queued)-1]
			k := keyOf(slot)
			f.Remove(slot)
			byKey[k] = slices.DeleteFunc(byKey[k], func(s Slot) bool { return s == slot })
			free = append(free, slot)
			require.Equal(t, oldest(byKey[k]), f.Find(k.src, k.tag))
		case growing && len(free) > 0:
			slot := free[len(free)-1]
			free = free[:len(free)-1]
			f.insert(slot, uint64(random.IntN(3)), random.Uint64()>>(40+random.IntN(22)), random.Uint64())
			queued = append(queued, slot)
			k := keyOf(slot)
			byKey[k] = append(byKey[k], slot)
			slices.SortFunc(byKey[k], func(a, b Slot) int {
				if f.entries.At(a).Seq < f.entries.At(b).Seq {
					return -1
				}
				return 1
			})
		}
		segments = max(segments, len(f.table.dir))
		if len(queued) == 0 {
			require.True(t, f.Empty())
			require.Equal(t, 1, len(f.table.dir))
		}
		k := key{uint64(random.IntN(3)), random.Uint64() >> (40 + random.IntN(22)) & keep}
		require.Equal(t, oldest(byKey[k]), f.Find(k.src, k.tag|0xf0))
	}
	require.Greater(t, segments, 8, "the table never grew")
	for _, slot := range queued {
		f.Remove(slot)
	}
	require.True(t, f.Empty())
}

func oldest(slots []Slot) Slot {
	if len(slots) == 0 {
		return None
	}
	return slots[0]
}

// Tags whose hashes share the bits that choose a segment cost memory in
// proportion to their number, and are found.
func TestCollidingSegment(t *testing.T) {
	f := newFixture(^uint64(0), false)
	var tags []uint64
	for tag := uint64(0); len(tags) < 3000; tag++ {
		if bits.LeadingZeros32(f.hash(0, tag)) >= 10 {
			tags = append(tags, tag)
		}
	}
	for i, tag := range tags {
		f.insert(Slot(i), 0, tag, uint64(i))
	}
	require.LessOrEqual(t, len(f.table.dir), 2*len(tags)/minKeysPerSegment)
	require.NotNil(t, f.table.dir[0].over, "the case is not met")
	for i := 0; i < len(tags); i += 2 {
		f.Remove(Slot(i))
	}
	for i, tag := range tags {
		if i%2 == 0 {
			require.Equal(t, None, f.Find(0, tag))
		} else {
			require.Equal(t, Slot(i), f.Find(0, tag))
		}
	}
	for i := 1; i < len(tags); i += 2 {
		f.Remove(Slot(i))
	}
	require.True(t, f.Empty())
	require.Len(t, f.table.dir, 1)
	requireCleanSegments(t, f)
}

func requireCleanSegments(t *testing.T, f *fixture) {
	for _, s := range append(f.pool.free, f.table.dir[0]) {
		require.Equal(t, segment{depth: s.depth}, *s, "a segment is reused as it was left")
	}
}

// Segments that were split late, when others had made the directory large.
func TestUnevenSegments(t *testing.T) {
	f := newFixture(^uint64(0), false)
	slot := Slot(0)
	insert := func(keys int, want func(h uint32) bool) {
		for ; keys > 0; slot++ {
			if *f.entries.Grow(slot) = (Entry{Tag: uint64(slot)}); want(f.hash(0, uint64(slot))) {
				f.Insert(slot)
				keys--
			}
		}
	}
	insert(3000, func(h uint32) bool { return h < 1<<28 })
	require.Greater(t, f.table.depth, f.table.dir[len(f.table.dir)-1].depth+2, "the case is not met")
	insert(3000, func(h uint32) bool { return h >= 1<<31 })
	found := 0
	for s := range slot {
		if got := f.Find(0, uint64(s)); got != None {
			require.Equal(t, s, got)
			found++
		}
	}
	require.Equal(t, 6000, found)
	f.Reset(0, false)
	requireCleanSegments(t, f)
}

// Keys with equal hashes are told apart, by tag or by source.
func TestEqualHashes(t *testing.T) {
	for _, by := range []func(i uint64) (src, tag uint64){
		func(i uint64) (uint64, uint64) { return 7, i },
		func(i uint64) (uint64, uint64) { return i, 7 },
	} {
		f := newFixture(^uint64(0), true)
		seen := map[uint32]uint64{}
		for i, pairs := uint64(0), 0; pairs < 3; i++ {
			src, tag := by(i)
			h := f.hash(src, tag)
			other, ok := seen[h]
			seen[h] = i
			if !ok {
				continue
			}
			pairs++
			otherSrc, otherTag := by(other)
			f.insert(1, src, tag, 1)
			require.Equal(t, None, f.Find(otherSrc, otherTag))
			f.insert(2, otherSrc, otherTag, 2)
			require.Equal(t, Slot(1), f.Find(src, tag))
			require.Equal(t, Slot(2), f.Find(otherSrc, otherTag))
			f.Remove(1)
			require.Equal(t, None, f.Find(src, tag))
			require.Equal(t, Slot(2), f.Find(otherSrc, otherTag))
			f.Remove(2)
		}
	}
}

// An index that gave its segments back does not touch them when another index
// has them, even where the same slot has the same cell in both.
func TestSegmentsChangeHands(t *testing.T) {
	for _, emptied := range []struct {
		name string
		how  func(f *fixture, slots int)
	}{
		{"by removing", func(f *fixture, slots int) {
			for slot := range Slot(slots) {
				f.Remove(slot)
			}
		}},
		{"by resetting", func(f *fixture, slots int) { f.Reset(f.keep, f.directed) }},
	} {
		t.Run(emptied.name, func(t *testing.T) {
			const slots = 3000
			f := newFixture(^uint64(0), false)
			for slot := range Slot(slots) {
				f.insert(slot, 0, uint64(slot), uint64(slot))
			}
			// A slot in a segment that f will not have again, where it would be in
			// an empty one, too.
			slot := Slot(0)
			for ; ; slot++ {
				require.Equal(t, slot, f.Find(0, uint64(slot)))
				if f.found.s == f.table.dir[0] && f.found.i == f.found.cell().hash()&segmentMask {
					break
				}
			}
			emptied.how(f, slots)
			require.True(t, f.Empty())

			var others []*Index
			for len(f.pool.free) > 0 {
				x := NewIndex(NewSeed(1), &f.entries, &Chunked[Link]{}, &f.pool)
				x.Reset(f.keep, f.directed)
				x.Insert(slot)
				others = append(others, x)
			}
			require.Greater(t, len(others), 3)
			f.Insert(slot)
			f.Remove(slot)
			for _, x := range others {
				require.Equal(t, slot, x.Find(0, uint64(slot)))
			}
			require.Equal(t, None, f.Find(0, uint64(slot)))
		})
	}
}

// Tags and sources that programs use spread well: no long runs of cells, and
// segments evenly full.
func TestHashSpreads(t *testing.T) {
	const n = 100_000
	patterns := map[string]func(i uint64) (src, tag uint64){
		"tags 0, 1, 2 …":            func(i uint64) (uint64, uint64) { return 0, i },
		"tags by 256":               func(i uint64) (uint64, uint64) { return 0, i << 8 },
		"tags in the upper half":    func(i uint64) (uint64, uint64) { return 0, i << 32 },
		"tags in the highest bits":  func(i uint64) (uint64, uint64) { return 0, bits.Reverse64(i) },
		"sources 0, 1, 2 …":         func(i uint64) (uint64, uint64) { return i, 7 },
		"sources in the upper half": func(i uint64) (uint64, uint64) { return i << 32, 7 },
		"rank and tag":              func(i uint64) (uint64, uint64) { return i % 317, i / 317 },
		"communicator, rank, tag":   func(i uint64) (uint64, uint64) { return i % 46, i/46%46<<32 | i/46/46 },
	}
	for name, pattern := range patterns {
		t.Run(name, func(t *testing.T) {
			f := newFixture(^uint64(0), true)
			for i := range uint64(n) {
				src, tag := pattern(i)
				f.insert(Slot(i), src, tag, i)
			}
			require.LessOrEqual(t, len(f.table.dir), 512, "some segments got too full")
			for _, s := range f.table.dir {
				require.True(t, s.over == nil, "a search goes through more than one segment")
			}
			far, longest := 0, 0
			for i := range uint64(n) {
				src, tag := pattern(i)
				h := f.hash(src, tag)
				_, at := f.find(h, src, tag)
				steps := int((at.i - h) & segmentMask)
				far += steps
				longest = max(longest, steps)
			}
			require.Less(t, float64(far)/n, 0.6, "cells to step over on average")
			require.Less(t, longest, 64)
		})
	}
}
