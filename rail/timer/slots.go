package timer

import (
	"golnx/providers/fierr"
	"golnx/rail/intercept"
)

// slot is an operation under way. It takes the place of the context until the operation
// completes.
type slot struct {
	ep      *endpoint
	context any // the caller's
	start   int64
	bytes   int64
	tag     uint64
	link    uint32
	turn    uint32 // counts the operations that have had the slot
	op      intercept.Op
	state   slotState
	next    *slot // of those that are free
}

type slotState uint8

const (
	slotFree slotState = iota
	slotBusy
	// slotAbandoned is not used again: the call answered an error, but the operation
	// may complete all the same. To a hook further in it can have been a success that
	// it made an error of.
	slotAbandoned
)

// slots are an endpoint's, under its lock. The one that was used last is taken first, as
// it is in the cache.
type slots struct {
	ep   *endpoint
	free *slot
}

func newSlots(ep *endpoint, n int) slots {
	s := slots{ep: ep}
	all := make([]slot, n)
	for i := range all {
		all[i].ep = ep
		s.push(&all[n-1-i])
	}
	return s
}

func (s *slots) push(unused *slot) { s.free, unused.next = unused, s.free }

// take answers a slot, nil if there is none.
func (s *slots) take() *slot {
	taken := s.free
	if taken == nil {
		return nil
	}
	s.free, taken.next = taken.next, nil
	taken.state = slotBusy
	taken.turn++
	return taken
}

// give takes back a slot that nobody has as a context.
func (s *slots) give(unused *slot) {
	unused.state, unused.context = slotFree, nil
	s.push(unused)
}

// refused takes back the slot of a call that answered an error. EAGAIN, the usual one,
// is believed. After any other a new slot takes its place, and whoever still has the old
// one as a context keeps it alive.
func (s *slots) refused(unused *slot, err error) {
	if err == fierr.Again {
		s.give(unused)
		return
	}
	unused.state = slotAbandoned
	s.push(&slot{ep: s.ep})
}
