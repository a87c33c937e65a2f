package oracle

// Decoys are many entries that stand in the way of a few, at scale. A test first queues
// them all with their own tags, of which no search finds any. Then it changes them behind
// the queue's back, so that each matches one of the searches to come (ChangedTag), and is
// older than what is to be found. A search that looks at what its key does not lead to
// finds one of them.
const (
	Decoys      = 100_000
	decoyTags   = 200
	decoySource = 7
)

// Sought is the source and tag of search i, and what the entry to be found has.
func Sought(i int) (src, tag uint64) { return decoySource, uint64(i%decoyTags+1)<<40 | 1<<15 }

// DecoyTag is that of decoy i while it is queued, ChangedTag that of a search.
func DecoyTag(i int) uint64 { return uint64(i+1) << 20 }

// ChangedTag is what the decoy then gets.
func ChangedTag(i int) uint64 {
	_, tag := Sought(i)
	return tag
}

// DecoyKey answers the source and ignore mask of number i of receives of so many masks,
// which ignore bits in which no two tags differ. Half of them take any source.
func DecoyKey(i, masks int) (src, ignore uint64) {
	src = decoySource
	if i/masks%2 == 1 {
		src = AnySource
	}
	return src, 1<<(i%masks) - 1
}
