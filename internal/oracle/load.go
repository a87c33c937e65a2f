package oracle

import "runtime"

// Kind is a receive that benchmarks of both queues post or match with.
type Kind struct {
	Name        string
	Src, Ignore uint64
}

// BenchSource is the source of all messages in benchmarks.
const BenchSource = 7

// Kinds are those that programs use.
var Kinds = []Kind{
	{"exact", BenchSource, 0},
	{"wildtag", BenchSource, 0xff},
	{"wildsource", AnySource, 0},
}

// WaitingTag is that of entry i of those in the way. No MatchingTag matches it.
func WaitingTag(i int) uint64 { return uint64(i) << 9 }

// MatchingTag differs from call to call, so that the lookup is where no earlier
// one was.
func MatchingTag(i int) uint64 { return uint64(i)*0x9e3779b97f4a7c15 | 1<<8 }

// HeapBytes answers how much memory live objects take.
func HeapBytes() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
