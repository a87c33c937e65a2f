package suq

import (
	"fmt"
	"testing"

	"golnx/internal/oracle"
)

func filled(depth int) *Queue {
	q := New(1)
	for i := range depth {
		q.Push(Slot(i), oracle.BenchSource, oracle.WaitingTag(i))
	}
	for _, kind := range oracle.Kinds {
		q.Peek(kind.Src, oracle.MatchingTag(0), kind.Ignore) // makes the index
	}
	return q
}

// BenchmarkMatch pushes a message and matches it with a receive, behind depth
// messages that do not match.
func BenchmarkMatch(b *testing.B) {
	for _, depth := range []int{0, 1, 10, 64, 100, 1000, 10_000, 100_000} {
		for _, kind := range oracle.Kinds {
			b.Run(fmt.Sprintf("depth=%d/kind=%s", depth, kind.Name), func(b *testing.B) {
				q := filled(depth)
				slot := Slot(depth)
				for i := 0; b.Loop(); i++ {
					tag := oracle.MatchingTag(i)
					q.Push(slot, oracle.BenchSource, tag)
					if got, ok := q.Match(kind.Src, tag, kind.Ignore); !ok || got != slot {
						b.Fatal("not the message that matches", got, ok)
					}
				}
			})
		}
	}
}

// BenchmarkMiss looks for a message that is not there: the receive is posted.
func BenchmarkMiss(b *testing.B) {
	for _, depth := range []int{0, 1, 10, 64, 100, 1000, 100_000} {
		b.Run(fmt.Sprintf("depth=%d", depth), func(b *testing.B) {
			q := filled(depth)
			for i := 0; b.Loop(); i++ {
				if _, ok := q.Match(oracle.BenchSource, oracle.MatchingTag(i), 0); ok {
					b.Fatal("matched")
				}
			}
		})
	}
}

// BenchmarkAnyOf matches one of depth messages, as if at random, and pushes it
// again: memory is nowhere warm.
func BenchmarkAnyOf(b *testing.B) {
	for _, depth := range []int{1, 64, 1000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("depth=%d", depth), func(b *testing.B) {
			q := filled(depth)
			random := uint32(1)
			for b.Loop() {
				random = random*1664525 + 1013904223
				tag := oracle.WaitingTag(int(uint64(random) * uint64(depth) >> 32))
				slot, ok := q.Match(oracle.BenchSource, tag, 0)
				if !ok {
					b.Fatal("no match")
				}
				q.Push(slot, oracle.BenchSource, tag)
			}
		})
	}
}

// BenchmarkMasks is BenchmarkMatch behind 10,000 messages, for receives of
// several masks in turn.
func BenchmarkMasks(b *testing.B) {
	for _, masks := range []int{1, 8, 16, 17, 100} {
		b.Run(fmt.Sprintf("masks=%d", masks), func(b *testing.B) {
			q := filled(10_000)
			for i := 0; b.Loop(); i++ {
				tag := oracle.MatchingTag(i)
				q.Push(10_000, oracle.BenchSource, tag)
				if _, ok := q.Match(oracle.BenchSource, tag, uint64(i%masks)<<40); !ok {
					b.Fatal("no match")
				}
			}
		})
	}
}
