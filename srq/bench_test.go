package srq

import (
	"fmt"
	"testing"

	"golnx/internal/oracle"
)

// BenchmarkMatch posts a receive and matches it with a message, behind depth
// receives that do not match.
func BenchmarkMatch(b *testing.B) {
	for _, depth := range []int{0, 1, 10, 64, 100, 1000, 10_000, 100_000} {
		for _, kind := range oracle.Kinds {
			b.Run(fmt.Sprintf("depth=%d/kind=%s", depth, kind.Name), func(b *testing.B) {
				q := New(1)
				for i := range depth {
					q.Post(Slot(i), kind.Src, oracle.WaitingTag(i), kind.Ignore)
				}
				slot := Slot(depth)
				for i := 0; b.Loop(); i++ {
					tag := oracle.MatchingTag(i)
					q.Post(slot, kind.Src, tag, kind.Ignore)
					if got, ok := q.Match(oracle.BenchSource, tag); !ok || got != slot {
						b.Fatal("not the receive that matches", got, ok)
					}
				}
			})
		}
	}
}

// BenchmarkMiss matches a message that no receive matches: it is unexpected.
func BenchmarkMiss(b *testing.B) {
	for _, depth := range []int{0, 1, 10, 64, 100, 1000, 100_000} {
		b.Run(fmt.Sprintf("depth=%d", depth), func(b *testing.B) {
			q := New(1)
			for i := range depth {
				q.Post(Slot(i), oracle.BenchSource, oracle.WaitingTag(i), 0)
			}
			for i := 0; b.Loop(); i++ {
				if _, ok := q.Match(oracle.BenchSource, oracle.MatchingTag(i)); ok {
					b.Fatal("matched")
				}
			}
		})
	}
}

// BenchmarkAnyOf matches one of depth receives, as if at random, and posts it
// again: memory is nowhere warm.
func BenchmarkAnyOf(b *testing.B) {
	for _, depth := range []int{1, 64, 1000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("depth=%d", depth), func(b *testing.B) {
			q := New(1)
			for i := range depth {
				q.Post(Slot(i), oracle.BenchSource, oracle.WaitingTag(i), 0)
			}
			random := uint32(1)
			for b.Loop() {
				random = random*1664525 + 1013904223
				tag := oracle.WaitingTag(int(uint64(random) * uint64(depth) >> 32))
				slot, ok := q.Match(oracle.BenchSource, tag)
				if !ok {
					b.Fatal("no match")
				}
				q.Post(slot, oracle.BenchSource, tag, 0)
			}
		})
	}
}

// BenchmarkMasks is BenchmarkMatch behind 10,000 receives of several masks.
func BenchmarkMasks(b *testing.B) {
	const depth = 10_000
	for _, masks := range []int{1, 4, 8, 32, 1000, 10_000} {
		b.Run(fmt.Sprintf("masks=%d", masks), func(b *testing.B) {
			q := New(1)
			for i := range depth {
				q.Post(Slot(i), oracle.BenchSource, oracle.WaitingTag(i), uint64(i%masks)<<40)
			}
			slot := Slot(depth)
			for i := 0; b.Loop(); i++ {
				tag := oracle.MatchingTag(i)
				q.Post(slot, oracle.BenchSource, tag, 0)
				if got, ok := q.Match(oracle.BenchSource, tag); !ok || got != slot {
					b.Fatal("not the receive that matches", got, ok)
				}
			}
		})
	}
}
