package suq

import (
	"fmt"
	"testing"
)

// kinds are the receives that benchmarks match with. Tags of waiting messages
// and of those looked for differ in a bit that is compared.
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

func filled(depth int) *Queue {
	q := New(1)
	for i := range depth {
		q.Push(Slot(i), 7, waitingTag(i))
	}
	for _, kind := range kinds {
		q.Peek(kind.src, matchingTag(0), kind.ignore) // makes the index
	}
	return q
}

// BenchmarkMatch pushes a message and matches it with a receive, behind depth
// messages that do not match.
func BenchmarkMatch(b *testing.B) {
	for _, depth := range []int{0, 1, 10, 64, 100, 1000, 10_000, 100_000} {
		for _, kind := range kinds {
			b.Run(fmt.Sprintf("depth=%d/kind=%s", depth, kind.name), func(b *testing.B) {
				q := filled(depth)
				slot := Slot(depth)
				for i := 0; b.Loop(); i++ {
					tag := matchingTag(i)
					q.Push(slot, 7, tag)
					if got, ok := q.Match(kind.src, tag, kind.ignore); !ok || got != slot {
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
				if _, ok := q.Match(7, matchingTag(i), 0); ok {
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
				tag := waitingTag(int(uint64(random) * uint64(depth) >> 32))
				slot, ok := q.Match(7, tag, 0)
				if !ok {
					b.Fatal("no match")
				}
				q.Push(slot, 7, tag)
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
				tag := matchingTag(i)
				q.Push(10_000, 7, tag)
				if _, ok := q.Match(7, tag, uint64(i%masks)<<40); !ok {
					b.Fatal("no match")
				}
			}
		})
	}
}
