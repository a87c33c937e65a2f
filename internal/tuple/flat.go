package tuple

const (
	// FlatMax is how many entries are searched one by one rather than hashed:
	// about where one scan costs as much as the lookups that replace it.
	FlatMax = 64
	// FlatLow is the depth at which a queue that hashes goes back to scanning.
	// Being well below FlatMax it keeps a queue around either from flapping.
	FlatLow = 24

	flatRoom = 2 * FlatMax
)

// Flat is up to FlatMax entries in age order. They lie in a window of a larger
// array: taking the oldest or the newest moves nothing, taking another moves
// the shorter side.
type Flat struct {
	lo, hi int
	items  [flatRoom]FlatItem
}

// FlatItem is an entry with all that is needed to match it.
type FlatItem struct {
	Tag  uint64
	Keep uint64 // tag bits that a receive compares; not used for a message
	Src  uint64
	Slot Slot
}

// Len answers how many entries there are.
func (f *Flat) Len() int { return f.hi - f.lo }

// Items answers the entries, oldest first, until the next change.
func (f *Flat) Items() []FlatItem { return f.items[f.lo:f.hi] }

// Append adds an entry as the newest. The caller sees to it that there are
// fewer than FlatMax.
func (f *Flat) Append(item FlatItem) {
	if f.hi == flatRoom {
		f.hi = copy(f.items[:], f.items[f.lo:f.hi])
		f.lo = 0
	}
	f.items[f.hi] = item
	f.hi++
}

// FindReceive answers the position of the oldest receive that a message of
// this source and tag matches, or -1. A message of an unknown source
// (AnySource) matches receives from any source only.
func (f *Flat) FindReceive(src, tag uint64) int {
	items := f.Items()
	for i := range items {
		it := &items[i]
		if (it.Tag^tag)&it.Keep == 0 && (it.Src == src || it.Src == AnySource) {
			return i
		}
	}
	return -1
}

// FindMessage answers the position of the oldest message that a receive of
// this source and tag matches, comparing the tag bits in keep, or -1.
func (f *Flat) FindMessage(src, tag, keep uint64) int {
	items := f.Items()
	tag &= keep
	for i := range items {
		it := &items[i]
		if it.Tag&keep == tag && (it.Src == src || src == AnySource) {
			return i
		}
	}
	return -1
}

// Position answers where a slot is, or -1.
func (f *Flat) Position(slot Slot) int {
	items := f.Items()
	for i := range items {
		if items[i].Slot == slot {
			return i
		}
	}
	return -1
}

// TakeAt removes the entry at a position that a search answered.
func (f *Flat) TakeAt(i int) Slot {
	items := f.Items()
	slot := items[i].Slot
	if i < len(items)/2 {
		copy(items[1:i+1], items[:i])
		f.lo++
	} else {
		copy(items[i:], items[i+1:])
		f.hi--
	}
	return slot
}

// Clear removes all.
func (f *Flat) Clear() { f.lo, f.hi = 0, 0 }
