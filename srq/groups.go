package srq

import "golnx/internal/tuple"

// maxGroups is how many groups there may be before the receives of one more
// mask go to rest. A message looks in all of them. 32 are 16 masks, each with
// and without source. More come only by promote.
const maxGroups = 32

// group is the receives that compare the same bits.
type group struct {
	keep     uint64 // tag bits that are compared
	directed bool   // the source is, too
	id       uint32
	born     uint64 // no receive in it has a lower sequence number
	index    *tuple.Index
}

// groups are those that have receives. An entry in one has its Where at
// whereGroup plus the group's id.
type groups struct {
	live  []group
	index []*tuple.Index // by id
	free  []uint32       // ids, the last used last

	seed    tuple.Seed
	pool    tuple.Pool
	links   tuple.Chunked[tuple.Link]
	entries *tuple.Chunked[tuple.Entry]
}

const (
	whereRest = tuple.Listed + iota
	whereGroup
)

func (g *groups) init(seed uint64, entries *tuple.Chunked[tuple.Entry]) {
	g.seed, g.entries = tuple.NewSeed(seed), entries
}

// find answers the group that compares these bits, or nil.
func (g *groups) find(keep uint64, directed bool) *group {
	for i := range g.live {
		if gr := &g.live[i]; gr.keep == keep && gr.directed == directed {
			return gr
		}
	}
	return nil
}

func (g *groups) add(keep uint64, directed bool, born uint64) *group {
	var id uint32
	if n := len(g.free); n > 0 {
		id = g.free[n-1]
		g.free = g.free[:n-1]
	} else {
		id = uint32(len(g.index))
		g.index = append(g.index, tuple.NewIndex(g.seed, g.entries, &g.links, &g.pool))
	}
	index := g.index[id]
	index.Reset(keep, directed)
	g.live = append(g.live, group{keep, directed, id, born, index})
	return &g.live[len(g.live)-1]
}

// remove takes an entry out of the group with this id, and drops the group if
// it was the last.
func (g *groups) remove(id uint32, slot Slot) {
	index := g.index[id]
	index.Remove(slot)
	if !index.Empty() {
		return
	}
	for i := range g.live {
		if g.live[i].id == id {
			last := len(g.live) - 1
			g.live[i] = g.live[last]
			g.live = g.live[:last]
			break
		}
	}
	g.free = append(g.free, id)
}

// oldest answers the oldest receive in any group that a message matches, and
// its sequence number; NoSlot and the highest number if there is none.
func (g *groups) oldest(src, tag uint64) (Slot, uint64) {
	best, bestSeq := NoSlot, ^uint64(0)
	for i := range g.live {
		gr := &g.live[i]
		if gr.born > bestSeq || gr.directed && src == AnySource {
			continue
		}
		slot := gr.index.Find(src, tag)
		if slot == NoSlot {
			continue
		}
		if seq := g.entries.At(slot).Seq; seq < bestSeq {
			best, bestSeq = slot, seq
		}
	}
	return best, bestSeq
}

// findIndexed is the search of Match beyond 64 receives.
func (q *Queue) findIndexed(src, tag uint64) Slot {
	best, bestSeq := q.groups.oldest(src, tag)
	for slot := q.rest.First(); slot != NoSlot; slot = q.rest.Next(slot) {
		e := q.core.Entries.At(slot)
		if e.Seq > bestSeq {
			break
		}
		if (e.Tag^tag)&q.rest.keep(slot) == 0 && (e.Src == src || e.Src == AnySource) {
			return slot
		}
	}
	return best
}

func (q *Queue) postIndexed(slot Slot, src, tag, keep uint64) {
	e := q.core.AddAge(slot, src, tag)
	directed := src != AnySource
	gr := q.groups.find(keep, directed)
	if gr == nil && len(q.groups.live) < maxGroups {
		gr = q.groups.add(keep, directed, e.Seq)
	}
	if gr == nil {
		q.postRest(slot, e, keep)
		return
	}
	e.Where = whereGroup + gr.id
	gr.index.Insert(slot)
}

func (q *Queue) takeIndexed(slot Slot) {
	if where := q.core.Entries.At(slot).Where; where == whereRest {
		q.rest.Remove(slot)
	} else {
		q.groups.remove(where-whereGroup, slot)
	}
	q.core.TakeAge(slot)
}

// index moves what is in Flat to groups.
func (q *Queue) index() {
	q.core.Indexed = true
	items := q.core.Flat.Items()
	for i := range items {
		q.postIndexed(items[i].Slot, items[i].Src, items[i].Tag, items[i].Keep)
	}
	q.core.Flat.Clear()
}

// flatten moves the few receives there are from groups to Flat.
func (q *Queue) flatten() {
	for slot := range q.core.Age.Walk {
		e := q.core.Entries.At(slot)
		item := tuple.FlatItem{Tag: e.Tag, Keep: q.keep(slot, e), Src: e.Src, Slot: slot}
		q.takeIndexed(slot)
		q.core.AddFlat(e, item)
	}
	q.core.Indexed = false
}

func (q *Queue) keep(slot Slot, e *tuple.Entry) uint64 {
	if e.Where == whereRest {
		return q.rest.keep(slot)
	}
	return q.groups.index[e.Where-whereGroup].Keep()
}
