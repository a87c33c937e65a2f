// Package suq matches receives with messages that came before them: the
// unexpected queue of fi_tagged(3) and fi_peer(3).
//
// # The rule
//
// A message has a source and a tag. A receive of (src, tag, ignore) matches it
// if the tags are equal in all bits that are 0 in ignore, and if the sources
// are equal or the receive takes [AnySource]. It gets the oldest message that
// matches. A message may come before its sender is known; its source is then
// AnySource (FI_ADDR_UNSPEC) and only receives from any source match it, until
// SetSource names the sender. It keeps its age.
//
// # How
//
// Up to 64 messages are an array in age order, scanned from the oldest: see
// [Queue.Match]. Beyond, and from then on until a Push finds 24 or fewer (so that
// a queue around 64 does not change its form with every message), each ignore mask that is asked for, with and without
// source, has an index: see masks.go. A message costs the same whatever the
// depth, since an index takes it in when a search first walks past it, once;
// so the first search for a mask costs as much as walking the queue, some 60 ns
// a message. Masks beyond 16 search the list.
//
// # Use
//
// Messages are named by slots, small dense integers: indices into the slab in
// which the caller keeps the messages themselves. A Queue has no lock: its
// caller, an endpoint, holds its progress lock.
//
// Memory follows the largest slot and depth seen, and is kept: at most 50 bytes
// a slot at a depth of a million, and 35 more for each mask in use. It is taken
// in small chunks. In steady state nothing is allocated.
package suq

import (
	"iter"

	"golnx/internal/tuple"
)

// Slot names a message: an index into a slab that the caller owns.
type Slot = tuple.Slot

// NoSlot is not a slot: the one number that cannot be queued.
const NoSlot = tuple.None

// AnySource is FI_ADDR_UNSPEC: any source in a receive, an unknown one in a message.
const AnySource = tuple.AnySource

// Queue holds unexpected messages. It is not safe for concurrent use.
type Queue struct {
	core    tuple.Core
	unknown tuple.List // messages whose source is unknown
	masks   masks
}

// New makes an empty queue. The seed, best a random number, keeps others from
// choosing tags that collide in its hash tables; it does not change what
// matches.
func New(seed uint64) *Queue {
	q := &Queue{}
	q.core.Init()
	q.unknown.Init()
	q.masks.init(seed)
	return q
}

// Push adds a message as the newest. It refuses, and answers false, a slot that
// is queued already, and NoSlot.
func (q *Queue) Push(slot Slot, src, tag uint64) bool {
	e := q.core.Admit(slot)
	if e == nil {
		return false
	}
	if q.core.Indexed && q.core.Age.Len() <= tuple.FlatLow {
		q.flatten()
	}
	if !q.core.Indexed && q.core.Flat.Len() == tuple.FlatMax {
		q.index()
	}
	if q.core.Indexed {
		q.core.AddAge(slot, src, tag).Where = tuple.Listed
	} else {
		q.core.AddFlat(e, tuple.FlatItem{Tag: tag, Src: src, Slot: slot})
	}
	if src == AnySource {
		q.unknown.Append(slot)
	}
	return true
}

// Match takes the oldest message that a receive of this source, tag and ignore
// mask matches out of the queue. If there is none, the receive is to be posted.
func (q *Queue) Match(src, tag, ignore uint64) (slot Slot, ok bool) {
	slot, at := q.find(src, tag, ^ignore)
	if slot == NoSlot {
		return NoSlot, false
	}
	q.take(slot, at)
	return slot, true
}

// Peek answers what Match would take, and leaves it in the queue (FI_PEEK).
func (q *Queue) Peek(src, tag, ignore uint64) (slot Slot, ok bool) {
	slot, _ = q.find(src, tag, ^ignore)
	return slot, slot != NoSlot
}

// Remove takes a message out of the queue: one that Peek answered and that is
// now claimed (FI_CLAIM) or discarded (FI_DISCARD). It answers false if the
// slot is not queued.
func (q *Queue) Remove(slot Slot) bool {
	if !q.core.Has(slot) {
		return false
	}
	q.take(slot, q.core.Flat.Position(slot))
	return true
}

// SetSource names the sender of a message that came from an unknown one.
// Receives from this source match it from now on, at its age. It answers false
// if the slot is not queued, its source is known, or src is AnySource.
func (q *Queue) SetSource(slot Slot, src uint64) bool {
	if src == AnySource || !q.core.Has(slot) {
		return false
	}
	e := q.core.Entries.At(slot)
	if e.Src != AnySource {
		return false
	}
	e.Src = src
	q.unknown.Remove(slot)
	if q.core.Indexed {
		q.masks.sourceKnown(slot, e)
	} else {
		q.core.Flat.Items()[q.core.Flat.Position(slot)].Src = src
	}
	return true
}

// Len answers how many messages are queued.
func (q *Queue) Len() int { return q.core.Len() }

// All iterates over the queued messages, oldest first. The loop may remove the
// message it was given or set its source, and change the queue in no other way.
func (q *Queue) All() iter.Seq[Slot] { return q.core.Slots() }

// From iterates over the messages of one source, as All does. It looks at
// every message.
func (q *Queue) From(src uint64) iter.Seq[Slot] { return q.core.SlotsFrom(src) }

// Unknown iterates over the messages whose source is unknown, as All does: those
// to ask about when a peer becomes known. It looks at no others.
func (q *Queue) Unknown() iter.Seq[Slot] {
	return func(yield func(Slot) bool) { q.unknown.Walk(yield) }
}

// find answers the oldest message that a receive matches, or NoSlot, and its
// position if it is in Flat.
func (q *Queue) find(src, tag, keep uint64) (Slot, int) {
	if q.core.Indexed {
		return q.findIndexed(src, tag, keep), 0
	}
	at := q.core.Flat.FindMessage(src, tag, keep)
	if at < 0 {
		return NoSlot, 0
	}
	return q.core.Flat.Items()[at].Slot, at
}

func (q *Queue) take(slot Slot, at int) {
	if q.core.Indexed {
		q.takeListed(slot)
	} else {
		q.core.TakeFlat(at)
	}
	if q.core.Entries.At(slot).Src == AnySource {
		q.unknown.Remove(slot)
	}
}
