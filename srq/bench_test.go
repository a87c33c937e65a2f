package srq

import (
	"fmt"
	"testing"
)

// kinds are the receives that benchmarks post. Tags of waiting receives are
// even and those of messages odd in the bits that are compared.
var kinds = []struct {
	name   string
	src    uint64
	ignore uint64
}{
	{"exact", 7, 0},
	{"wildtag", 7, 0xff},
	{"wildsource", AnySource, 0},
}

func waitingTag(i int) uint64 { return uint64(i) << 9 }

// matchingTag differs from call to call, so that the lookup is where no earlier
// one was.
func matchingTag(i int) uint64 { return uint64(i)*0x9e3779b97f4a7c15 | 1<<8 }

// BenchmarkMatch posts a receive and matches it with a message, behind depth
// receives that do not match.
func BenchmarkMatch(b *testing.B) {
	for _, depth := range []int{0, 1, 10, 64, 100, 1000, 10_000, 100_000} {
		for _, kind := range kinds {
			b.Run(fmt.Sprintf("depth=%d/kind=%s", depth, kind.name), func(b *testing.B) {
				q := New(1)
				for i := range depth {
					q.Post(Slot(i), kind.src, waitingTag(i), kind.ignore)
				}
				slot := Slot(depth)
				for i := 0; b.Loop(); i++ {
					tag := matchingTag(i)
					q.Post(slot, kind.src, tag, kind.ignore)
					if got, ok := q.Match(7, tag); !ok || got != slot {
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
				q.Post(Slot(i), 7, waitingTag(i), 0)
			}
			for i := 0; b.Loop(); i++ {
				if _, ok := q.Match(7, matchingTag(i)); ok {
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
				q.Post(Slot(i), 7, waitingTag(i), 0)
			}
			random := uint32(1)
			for b.Loop() {
				random = random*1664525 + 1013904223
				tag := waitingTag(int(uint64(random) * uint64(depth) >> 32))
				slot, ok := q.Match(7, tag)
				if !ok {
					b.Fatal("no match")
				}
				q.Post(slot, 7, tag, 0)
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
				q.Post(Slot(i), 7, waitingTag(i), uint64(i%masks)<<40)
			}
			slot := Slot(depth)
			for i := 0; b.Loop(); i++ {
				tag := matchingTag(i)
				q.Post(slot, 7, tag, 0)
				if got, ok := q.Match(7, tag); !ok || got != slot {
					b.Fatal("not the receive that matches", got, ok)
				}
			}
		})
	}
}
