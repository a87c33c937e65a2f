// Package tuple holds what the two matching queues, srq (posted receives) and
// suq (unexpected messages), have in common.
//
// Matching with wildcards is tuple space search, as Open vSwitch classifies
// packets: entries that compare the same bits (the same tag mask, source
// compared or not) share one hash table, an [Index], on just those bits. One
// lookup per table finds all candidates, whatever the number of entries, and
// the candidate with the lowest sequence number is the oldest.
//
// Few entries are searched faster than they are hashed, so up to [FlatMax] of
// them stay in a [Flat], an array in age order. [Core] keeps the two forms and
// what does not depend on them.
//
// Nothing here locks, reads a clock, or panics on a slot it does not know.
// Memory grows with the largest slot and depth seen, in chunks of a few
// kilobytes so that no single operation copies much, and is kept for reuse.
package tuple

// Slot names an entry: an index into a slab that the caller owns. Slots are
// expected to be dense, since state is kept for all of them up to the largest.
type Slot = uint32

// None is no slot; a caller's slots are below it.
const None = ^Slot(0)

// AnySource is FI_ADDR_UNSPEC: any source in a receive, an unknown one in a message.
const AnySource = ^uint64(0)

// Entry is the state of one slot.
type Entry struct {
	Tag uint64
	Src uint64
	// Seq orders entries by age, the lowest is the oldest. It is set while the
	// entry is in the age list of a Core, not while it is in its Flat.
	Seq uint64
	// Where is Absent, InFlat, or a place from Listed on that the queue defines.
	Where uint32
}

// Places of an entry.
const (
	Absent uint32 = iota
	InFlat
	Listed
)
