package tuple

// Link joins a slot to its neighbours in one list.
type Link struct {
	next, prev Slot
}

// List is a doubly linked list of slots, oldest first. A slot is in it once at
// the most. The zero value must be set up with Init.
type List struct {
	links       Chunked[Link]
	first, last Slot
	len         int
}

// Init empties the list.
func (l *List) Init() {
	l.first, l.last, l.len = None, None, 0
}

// Len answers how many slots are in the list.
func (l *List) Len() int { return l.len }

// First answers the oldest slot, or None.
func (l *List) First() Slot { return l.first }

// Next answers the slot after this one, which is in the list; None at the end.
func (l *List) Next(slot Slot) Slot { return l.links.At(slot).next }

// Prev answers the slot before this one, which is in the list; None at the start.
func (l *List) Prev(slot Slot) Slot { return l.links.At(slot).prev }

// Append adds a slot that is not in the list at its end.
func (l *List) Append(slot Slot) {
	*l.links.Grow(slot) = Link{next: None, prev: l.last}
	if l.last == None {
		l.first = slot
	} else {
		l.links.At(l.last).next = slot
	}
	l.last = slot
	l.len++
}

// Remove takes out a slot that is in the list.
func (l *List) Remove(slot Slot) {
	link := l.links.At(slot)
	if link.prev == None {
		l.first = link.next
	} else {
		l.links.At(link.prev).next = link.next
	}
	if link.next == None {
		l.last = link.prev
	} else {
		l.links.At(link.next).prev = link.prev
	}
	// A walk that stood here ends rather than strays.
	*link = Link{next: None, prev: None}
	l.len--
}

// Walk yields the slots, oldest first. The loop may remove the slot it was
// given, and no other.
func (l *List) Walk(yield func(Slot) bool) {
	for slot := l.first; slot != None; {
		next := l.Next(slot)
		if !yield(slot) {
			return
		}
		slot = next
	}
}
