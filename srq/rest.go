package srq

import "golnx/internal/tuple"

// rest is the receives, in age order, whose mask has no group, because there
// were maxGroups when they were posted: the list to which many distinct masks
// degrade. An entry in it has its Where at whereRest.
type rest struct {
	tuple.List
	keeps   tuple.Chunked[uint64]
	unasked int // posts since promotion was last considered
}

// keep answers the tag bits that a receive in rest compares.
func (r *rest) keep(slot Slot) uint64 { return *r.keeps.At(slot) }

func (q *Queue) postRest(slot Slot, e *tuple.Entry, keep uint64) {
	e.Where = whereRest
	*q.rest.keeps.Grow(slot) = keep
	q.rest.Append(slot)
	q.rest.unasked++
	if q.rest.Len() >= tuple.FlatMax && q.rest.unasked >= q.rest.Len()/8 {
		q.rest.unasked = 0
		q.promote(keep, e.Src != AnySource)
	}
}

// promote moves the receives that compare these bits from rest to a group of
// their own, if they are an eighth of rest or more. It is asked for a mask just
// posted, once in Len/8 posts: that costs 8 steps a post, and a mask that is
// used much is soon the one asked for. So even where masks are many, those in
// rest are rare ones.
//
// maxGroups does not bound this. It need not: rest has FlatMax = 64 receives or
// more when a mask is considered, so a group that is made here begins with at
// least 8 receives. To have k groups more than maxGroups, each of which a message
// looks in, somebody has posted 8*k receives at least.
func (q *Queue) promote(keep uint64, directed bool) {
	same := func(slot Slot) bool {
		return q.rest.keep(slot) == keep && (q.core.Entries.At(slot).Src != AnySource) == directed
	}
	n := 0
	for slot := range q.rest.Walk {
		if same(slot) {
			n++
		}
	}
	if n < q.rest.Len()/8 {
		return
	}
	var gr *group
	for slot := range q.rest.Walk {
		if !same(slot) {
			continue
		}
		e := q.core.Entries.At(slot)
		if gr == nil {
			gr = q.groups.add(keep, directed, e.Seq)
		}
		q.rest.Remove(slot)
		e.Where = whereGroup + gr.id
		gr.index.Insert(slot)
	}
}
