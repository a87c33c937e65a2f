package suq

import "golnx/internal/tuple"

// maxMasks is how many masks, each with or without source, have an index.
const maxMasks = 16

// mask is an index for receives that compare the same bits. It holds the
// messages up to a certain age: a search that finds nothing in the index walks
// on through the newer messages and takes in those it passes. So pushing costs
// nothing, a mask no longer asked for costs nothing, and each message is walked
// past once. What the index finds is older than what it does not hold.
type mask struct {
	keep     uint64 // tag bits that are compared
	directed bool   // the source is, too; a message of unknown source is left out
	lastSeq  uint64 // messages up to this sequence number were taken in
	last     Slot   // the newest of those still queued, or NoSlot
	asked    uint64 // when, in searches
	index    *tuple.Index
}

type masks struct {
	list  []mask // room for maxMasks from the start, so that pointers into it hold
	asked uint64 // searches so far

	// scanned counts the messages that searches without an index looked at,
	// since a mask was last given up for another one.
	scanned int

	seed tuple.Seed
	pool tuple.Pool
}

func (m *masks) init(seed uint64) {
	m.seed = tuple.NewSeed(seed)
	m.list = make([]mask, 0, maxMasks)
}

// findIndexed is the search of Match beyond 64 messages.
func (q *Queue) findIndexed(src, tag, keep uint64) Slot {
	m := q.mask(keep, src != AnySource)
	if m == nil {
		return q.scan(src, tag, keep)
	}
	if slot := m.index.Find(src, tag); slot != NoSlot {
		return slot
	}
	slot := q.core.Age.First()
	if m.last != NoSlot {
		slot = q.core.Age.Next(m.last)
	}
	for ; slot != NoSlot; slot = q.core.Age.Next(slot) {
		e := q.core.Entries.At(slot)
		if (e.Tag^tag)&keep == 0 && (e.Src == src || !m.directed) {
			return slot
		}
		if e.Src != AnySource || !m.directed {
			m.index.Insert(slot)
		}
		m.last, m.lastSeq = slot, e.Seq
	}
	return NoSlot
}

// mask answers the mask of a search, making it if need be; nil if there are
// too many.
func (q *Queue) mask(keep uint64, directed bool) *mask {
	ms := &q.masks
	ms.asked++
	oldest := 0
	for i := range ms.list {
		m := &ms.list[i]
		if m.keep == keep && m.directed == directed {
			m.asked = ms.asked
			return m
		}
		if m.asked < ms.list[oldest].asked {
			oldest = i
		}
	}
	var m *mask
	switch {
	case len(ms.list) < maxMasks:
		links := new(tuple.Chunked[tuple.Link])
		index := tuple.NewIndex(ms.seed, &q.core.Entries, links, &ms.pool)
		ms.list = append(ms.list, mask{index: index})
		m = &ms.list[len(ms.list)-1]
	case ms.scanned >= scansPerIndex*q.core.Age.Len():
		ms.scanned = 0
		m = &ms.list[oldest]
	default:
		return nil
	}
	m.index.Reset(keep, directed)
	m.keep, m.directed, m.asked = keep, directed, ms.asked
	m.last, m.lastSeq = NoSlot, 0
	return m
}

// scansPerIndex is how many scans of the queue cost as much as making an index.
// A mask replaces the one not asked for the longest only when this much has
// been scanned, so that many masks in turn cost twice what scans cost at worst.
const scansPerIndex = 8

// scan is the search for a mask that has no index.
func (q *Queue) scan(src, tag, keep uint64) Slot {
	for slot := range q.core.Age.Walk {
		q.masks.scanned++
		e := q.core.Entries.At(slot)
		if (e.Tag^tag)&keep == 0 && (e.Src == src || src == AnySource) {
			return slot
		}
	}
	return NoSlot
}

// takeListed removes a message from the age list and the indexes.
func (q *Queue) takeListed(slot Slot) {
	e := q.core.Entries.At(slot)
	for i := range q.masks.list {
		m := &q.masks.list[i]
		if e.Seq > m.lastSeq {
			continue
		}
		if e.Src != AnySource || !m.directed {
			m.index.Remove(slot)
		}
		if m.last == slot {
			m.last = q.core.Age.Prev(slot)
		}
	}
	q.core.TakeAge(slot)
}

// sourceKnown adds a message to the indexes it was left out of.
func (ms *masks) sourceKnown(slot Slot, e *tuple.Entry) {
	for i := range ms.list {
		if m := &ms.list[i]; m.directed && e.Seq <= m.lastSeq {
			m.index.Insert(slot)
		}
	}
}

// index moves what is in Flat to the age list.
func (q *Queue) index() {
	q.core.Indexed = true
	items := q.core.Flat.Items()
	for i := range items {
		q.core.AddAge(items[i].Slot, items[i].Src, items[i].Tag).Where = tuple.Listed
	}
	q.core.Flat.Clear()
}

// flatten moves the few messages there are from the age list to Flat. The
// masks stay, with nothing in them.
func (q *Queue) flatten() {
	for slot := range q.core.Age.Walk {
		e := q.core.Entries.At(slot)
		q.takeListed(slot)
		q.core.AddFlat(e, tuple.FlatItem{Tag: e.Tag, Src: e.Src, Slot: slot})
	}
	q.core.Indexed = false
}
