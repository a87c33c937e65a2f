package tuple

import "iter"

// Core is what both queues consist of, whatever they match: entries in age
// order, in Flat while they are few, then in Age and in the queue's indexes.
type Core struct {
	Flat    Flat
	Indexed bool // entries are in Age, not in Flat
	Age     List
	Entries Chunked[Entry]
	lastSeq uint64
}

// Init makes the core empty.
func (c *Core) Init() { c.Age.Init() }

// Len answers how many entries are queued.
func (c *Core) Len() int {
	if c.Indexed {
		return c.Age.Len()
	}
	return c.Flat.Len()
}

// Has says whether a slot is queued.
func (c *Core) Has(slot Slot) bool {
	e := c.Entries.Lookup(slot)
	return e != nil && e.Where != Absent
}

// Admit answers the entry of a slot that is to be queued; nil if the slot is
// queued already, and for None.
func (c *Core) Admit(slot Slot) *Entry {
	if slot == None {
		return nil
	}
	e := c.Entries.Grow(slot)
	if e.Where != Absent {
		return nil
	}
	return e
}

// AddFlat queues an entry in Flat.
func (c *Core) AddFlat(e *Entry, item FlatItem) {
	e.Where, e.Src = InFlat, item.Src
	c.Flat.Append(item)
}

// TakeFlat removes the entry at a position of Flat.
func (c *Core) TakeFlat(at int) {
	c.Entries.At(c.Flat.TakeAt(at)).Where = Absent
}

// AddAge queues an entry as the newest in Age. The caller sets Where.
func (c *Core) AddAge(slot Slot, src, tag uint64) *Entry {
	c.lastSeq++
	e := c.Entries.At(slot)
	e.Tag, e.Src, e.Seq = tag, src, c.lastSeq
	c.Age.Append(slot)
	return e
}

// TakeAge removes an entry from Age.
func (c *Core) TakeAge(slot Slot) {
	c.Age.Remove(slot)
	c.Entries.At(slot).Where = Absent
}

// Slots iterates the queue, oldest first. The loop may remove the slot it was
// given, and change the queue in no other way.
func (c *Core) Slots() iter.Seq[Slot] {
	return func(yield func(Slot) bool) {
		if c.Indexed {
			c.Age.Walk(yield)
			return
		}
		// Removing moves what is in Flat.
		var slots [FlatMax]Slot
		items := c.Flat.Items()
		for i := range items {
			slots[i] = items[i].Slot
		}
		for _, slot := range slots[:len(items)] {
			if !yield(slot) {
				return
			}
		}
	}
}

// SlotsFrom is Slots without the entries of another source. It looks at all.
func (c *Core) SlotsFrom(src uint64) iter.Seq[Slot] {
	return func(yield func(Slot) bool) {
		for slot := range c.Slots() {
			if c.Entries.At(slot).Src == src && !yield(slot) {
				return
			}
		}
	}
}
