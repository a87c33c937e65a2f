package mr

import (
	"cmp"
	"slices"
)

// index finds entries by address. Entries of the same access and lifetime are a class.
// Within a class no range contains another, so that ordered by start they are ordered
// by end, too, and the last one that starts at or before an address reaches furthest:
// one binary search tells whether a range is covered. Programs use few classes.
type index struct {
	// classes has those of cached entries first: an operation that uses a private
	// entry keeps its region from being closed.
	classes []class
	cached  int // so many
}

type class struct {
	access  Access
	private bool
	spans   []span
}

// span holds an entry's range next to those it is compared with.
type span struct {
	start, end uintptr
	e          *entry
}

// find answers an entry that contains [start, end) and can be used for access, nil if
// there is none.
func (x *index) find(start, end uintptr, access Access) *entry {
	return find(x.classes, start, end, access)
}

// findCached leaves private entries out.
func (x *index) findCached(start, end uintptr, access Access) *entry {
	return find(x.classes[:x.cached], start, end, access)
}

func find(classes []class, start, end uintptr, access Access) *entry {
	for i := range classes {
		c := &classes[i]
		if c.access&access != access {
			continue
		}
		if e := c.find(start, end); e != nil {
			return e
		}
	}
	return nil
}

func (c *class) find(start, end uintptr) *entry {
	// The first span that starts behind start is at lo; the one before it counts.
	lo, hi := 0, len(c.spans)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if c.spans[mid].start <= start {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 || c.spans[lo-1].end < end {
		return nil
	}
	return c.spans[lo-1].e
}

// add puts e into its class. What e makes superfluous, because it contains it and can
// be used for the same, is taken out and answered. If e is superfluous itself, which
// only a private one can be, it is not put in, and e.indexed stays false.
func (x *index) add(e *entry) (displaced []*entry) {
	if e.private && x.find(e.start, e.end, e.access) != nil {
		return nil
	}
	for i := range x.classes {
		c := &x.classes[i]
		if c.private == e.private && c.access&^e.access == 0 {
			displaced = append(displaced, c.cut(e.start, e.end)...)
		}
	}
	c := x.class(e)
	at, _ := slices.BinarySearchFunc(c.spans, e.start, byStart)
	c.spans = slices.Insert(c.spans, at, span{e.start, e.end, e})
	e.indexed = true
	return displaced
}

func byStart(s span, start uintptr) int { return cmp.Compare(s.start, start) }

// cut takes out the spans that lie within [start, end): neighbours, as both bounds
// ascend.
func (c *class) cut(start, end uintptr) (out []*entry) {
	from, _ := slices.BinarySearchFunc(c.spans, start, byStart)
	to := from
	for ; to < len(c.spans) && c.spans[to].end <= end; to++ {
		c.spans[to].e.indexed = false
		out = append(out, c.spans[to].e)
	}
	c.spans = slices.Delete(c.spans, from, to)
	return out
}

// class answers e's class, and makes it if need be.
func (x *index) class(e *entry) *class {
	for i := range x.classes {
		if c := &x.classes[i]; c.access == e.access && c.private == e.private {
			return c
		}
	}
	at := len(x.classes)
	if !e.private {
		at = x.cached
		x.cached++
	}
	x.classes = slices.Insert(x.classes, at, class{access: e.access, private: e.private})
	return &x.classes[at]
}

// remove takes an indexed entry out.
func (x *index) remove(e *entry) {
	c := x.class(e)
	at, _ := slices.BinarySearchFunc(c.spans, e.start, byStart)
	c.spans = slices.Delete(c.spans, at, at+1)
	e.indexed = false
}

// overlapping answers the entries that have a byte in [start, end).
func (x *index) overlapping(start, end uintptr) (out []*entry) {
	for i := range x.classes {
		spans := x.classes[i].spans
		at, _ := slices.BinarySearchFunc(spans, start, func(s span, start uintptr) int {
			if s.end <= start {
				return -1
			}
			return 1
		})
		for ; at < len(spans) && spans[at].start < end; at++ {
			out = append(out, spans[at].e)
		}
	}
	return out
}

// all answers every entry.
func (x *index) all() []*entry { return x.overlapping(0, ^uintptr(0)) }
