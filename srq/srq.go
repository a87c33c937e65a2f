// Package srq matches incoming messages with posted receives: the shared
// receive queue of fi_tagged(3) and fi_peer(3).
//
// # The rule
//
// A receive is posted with a source or [AnySource], a tag, and an ignore mask.
// A message of (src, tag) matches it if the tags are equal in all bits that
// are 0 in ignore, and if the sources are equal or the receive takes any. The
// message takes, and so removes, the oldest posted receive that matches,
// whatever its kind: a wildcard posted before a directed receive wins, and the
// other way round. A message whose source is unknown (AnySource, which is
// FI_ADDR_UNSPEC) matches only receives from any source.
//
// # How
//
// Up to 64 receives are an array in age order, scanned from the oldest: see
// [Queue.Match]. Beyond, and from then on until a Post finds 24 or fewer (so that
// a queue around 64 does not change its form with every message), receives that compare the same bits form a group with
// a hash table, a message looks once in each group, and the receive with the
// lowest sequence number wins: see groups.go. So the cost depends on how many
// different ignore masks are posted at once, not on how many receives. Masks
// beyond 32 groups are searched one by one, as a list.
//
// # Use
//
// Receives are named by slots, small dense integers: indices into the slab in
// which the caller keeps the receives themselves. A Queue has no lock: its
// caller, an endpoint, holds its progress lock.
//
// Memory follows the largest slot and depth seen, and is kept: at most 80 bytes
// a slot at a depth of a million. It is taken in small chunks, so that no post
// waits for a large copy. In steady state nothing is allocated.
package srq

import (
	"iter"

	"golnx/internal/tuple"
)

// Slot names a posted receive: an index into a slab that the caller owns.
type Slot = tuple.Slot

// NoSlot is not a slot: the one number that cannot be posted.
const NoSlot = tuple.None

// AnySource is FI_ADDR_UNSPEC: any source in a receive, an unknown one in a message.
const AnySource = tuple.AnySource

// Queue holds posted receives. It is not safe for concurrent use.
type Queue struct {
	core   tuple.Core
	groups groups
	rest   rest
}

// New makes an empty queue. The seed, best a random number, keeps others from
// choosing tags that collide in its hash tables; it does not change what
// matches.
func New(seed uint64) *Queue {
	q := &Queue{}
	q.core.Init()
	q.groups.init(seed, &q.core.Entries)
	q.rest.Init()
	return q
}

// Post adds a receive as the newest (fi_trecv(3)). Bits that are 1 in ignore
// are not compared. It refuses, and answers false, a slot that is queued
// already, and NoSlot.
func (q *Queue) Post(slot Slot, src, tag, ignore uint64) bool {
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
		q.postIndexed(slot, src, tag, ^ignore)
	} else {
		q.core.AddFlat(e, tuple.FlatItem{Tag: tag, Keep: ^ignore, Src: src, Slot: slot})
	}
	return true
}

// Match takes the oldest receive that a message of this source and tag
// matches out of the queue. If there is none, the message is unexpected.
func (q *Queue) Match(src, tag uint64) (slot Slot, ok bool) {
	slot, at := q.find(src, tag)
	if slot == NoSlot {
		return NoSlot, false
	}
	q.take(slot, at)
	return slot, true
}

// Find answers what Match would take, and leaves it in the queue.
func (q *Queue) Find(src, tag uint64) (slot Slot, ok bool) {
	slot, _ = q.find(src, tag)
	return slot, slot != NoSlot
}

// Cancel takes a receive out of the queue (fi_cancel(3)). It answers false if
// the slot is not queued: never posted, matched already, or canceled before.
func (q *Queue) Cancel(slot Slot) bool {
	if !q.core.Has(slot) {
		return false
	}
	q.take(slot, q.core.Flat.Position(slot))
	return true
}

// Len answers how many receives are queued.
func (q *Queue) Len() int { return q.core.Len() }

// All iterates over the queued receives, oldest first. The loop may cancel the
// receive it was given, and change the queue in no other way.
func (q *Queue) All() iter.Seq[Slot] { return q.core.Slots() }

// Directed iterates over the receives that only a message of this source can
// match, as All does: those to fail when the peer is gone. It looks at every
// receive.
func (q *Queue) Directed(src uint64) iter.Seq[Slot] { return q.core.SlotsFrom(src) }

// find answers the oldest receive that a message matches, or NoSlot, and its
// position if it is in Flat.
func (q *Queue) find(src, tag uint64) (Slot, int) {
	if q.core.Indexed {
		return q.findIndexed(src, tag), 0
	}
	at := q.core.Flat.FindReceive(src, tag)
	if at < 0 {
		return NoSlot, 0
	}
	return q.core.Flat.Items()[at].Slot, at
}

func (q *Queue) take(slot Slot, at int) {
	if q.core.Indexed {
		q.takeIndexed(slot)
	} else {
		q.core.TakeFlat(at)
	}
}
