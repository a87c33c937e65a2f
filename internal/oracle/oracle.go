// Package oracle matches with slices in age order and searches them from the
// oldest, so that one can see that it is right. Tests compare srq and suq with it.
package oracle

import "slices"

// AnySource is FI_ADDR_UNSPEC.
const AnySource = ^uint64(0)

// Receive is a posted receive.
type Receive struct {
	Slot             uint32
	Src, Tag, Ignore uint64
}

// Message is an unexpected message.
type Message struct {
	Slot     uint32
	Src, Tag uint64
}

// Matches is fi_tagged(3)'s rule for a receive and a message.
func Matches(r Receive, m Message) bool {
	tagsEqual := r.Tag&^r.Ignore == m.Tag&^r.Ignore
	return tagsEqual && (r.Src == AnySource || r.Src == m.Src)
}

// Receives is a queue of posted receives, oldest first.
type Receives []Receive

// Find answers the position of the oldest receive that a message matches, or -1.
func (q Receives) Find(src, tag uint64) int {
	m := Message{Src: src, Tag: tag}
	return slices.IndexFunc(q, func(r Receive) bool { return Matches(r, m) })
}

// Position answers where a slot is, or -1.
func (q Receives) Position(slot uint32) int {
	return slices.IndexFunc(q, func(r Receive) bool { return r.Slot == slot })
}

// Messages is a queue of unexpected messages, oldest first.
type Messages []Message

// Find answers the position of the oldest message that a receive matches, or -1.
func (q Messages) Find(src, tag, ignore uint64) int {
	r := Receive{Src: src, Tag: tag, Ignore: ignore}
	return slices.IndexFunc(q, func(m Message) bool { return Matches(r, m) })
}

// Position answers where a slot is, or -1.
func (q Messages) Position(slot uint32) int {
	return slices.IndexFunc(q, func(m Message) bool { return m.Slot == slot })
}
