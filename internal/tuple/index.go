package tuple

// Index finds entries by the tag bits in Keep and, if it is directed, by
// source. Entries with an equal key form a queue in age order; the table holds
// the oldest of each.
//
// A queue's links form a ring one way, so that the table's cell leads to both
// ends: prev goes round, from the oldest to the newest, next does not. Of three
// entries with one key, a the oldest:
//
//	cell
//	  |
//	  v  next     next     next
//	  a ------> b ------> c ------> None
//	  a <------ b <------ c
//	  |   prev      prev  ^
//	  +-------------------+
//	          prev
//
// An entry alone is its own prev.
type Index struct {
	keep     uint64
	directed bool
	seed     Seed
	table    table
	entries  *Chunked[Entry]
	links    *Chunked[Link]
	found    place // where Find ended, for a Remove that follows
}

// NewIndex makes an index over entries. Indexes may share a pool, and share
// links if an entry is in one of them at the most.
func NewIndex(seed Seed, entries *Chunked[Entry], links *Chunked[Link], pool *Pool) *Index {
	x := &Index{seed: seed, entries: entries, links: links}
	x.table.init(pool)
	x.found = x.table.anyPlace()
	return x
}

// Reset empties the index and sets what it compares.
func (x *Index) Reset(keep uint64, directed bool) {
	if x.table.keys > 0 {
		x.table.reset()
	}
	x.found = x.table.anyPlace()
	x.keep, x.directed = keep, directed
}

// Keep answers the tag bits that are compared.
func (x *Index) Keep() uint64 { return x.keep }

// Empty says whether nothing is in the index.
func (x *Index) Empty() bool { return x.table.keys == 0 }

// Find answers the oldest entry of a key, or None.
func (x *Index) Find(src, tag uint64) Slot {
	slot, at := x.find(x.hash(src, tag), src, tag)
	x.found = at
	return slot
}

func (x *Index) hash(src, tag uint64) uint32 {
	if !x.directed {
		src = 0
	}
	return x.seed.hash(tag&x.keep, src)
}

// find answers the oldest entry of a key and its cell, or None and the empty
// cell where the search ended.
func (x *Index) find(h uint32, src, tag uint64) (Slot, place) {
	for s := x.table.segment(h); ; s = s.over {
		i := h & segmentMask
		for ; s.cells[i] != 0; i = (i + 1) & segmentMask {
			c := s.cells[i]
			if c.hash() != h {
				continue
			}
			e := x.entries.At(c.slot())
			if (e.Tag^tag)&x.keep == 0 && (e.Src == src || !x.directed) {
				return c.slot(), place{s, i}
			}
		}
		if s.over == nil {
			return None, place{s, i}
		}
	}
}

// Insert adds an entry that is not in the index. It goes to its place by age,
// which is found at once if it is older or newer than all of its key.
func (x *Index) Insert(slot Slot) {
	e := x.entries.At(slot)
	link := x.links.Grow(slot)
	h := x.hash(e.Src, e.Tag)
	first, at := x.find(h, e.Src, e.Tag)
	if first == None {
		*link = Link{next: None, prev: slot}
		x.table.insert(at, makeCell(h, slot))
		return
	}
	firstLink := x.links.At(first)
	if e.Seq < x.entries.At(first).Seq {
		*link = Link{next: first, prev: firstLink.prev}
		firstLink.prev = slot
		at.set(makeCell(h, slot))
		return
	}
	older := firstLink.prev
	for x.entries.At(older).Seq > e.Seq {
		older = x.links.At(older).prev
	}
	olderLink := x.links.At(older)
	*link = Link{next: olderLink.next, prev: older}
	if link.next == None {
		firstLink.prev = slot
	} else {
		x.links.At(link.next).prev = slot
	}
	olderLink.next = slot
}

// Remove takes out an entry that is in the index.
func (x *Index) Remove(slot Slot) {
	link := x.links.At(slot)
	before := x.links.At(link.prev)
	oldest, newest := before.next == None, link.next == None
	if !oldest && !newest {
		before.next = link.next
		x.links.At(link.next).prev = link.prev
		return
	}
	at := x.found
	if at.cell().slot() != slot {
		e := x.entries.At(slot)
		_, at = x.find(x.hash(e.Src, e.Tag), e.Src, e.Tag)
	}
	switch {
	case oldest && newest:
		x.table.remove(at)
		x.found = x.table.anyPlace()
	case oldest:
		at.set(makeCell(at.cell().hash(), link.next))
		x.links.At(link.next).prev = link.prev
	default:
		before.next = None
		x.links.At(at.cell().slot()).prev = link.prev
	}
}
