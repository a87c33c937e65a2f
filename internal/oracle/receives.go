package oracle

import (
	"iter"
	"slices"

	"github.com/stretchr/testify/require"
)

// Posted is a queue of posted receives that is compared with Receives.
type Posted interface {
	// Add answers false for a slot that is queued.
	Add(r Receive) bool
	Match(src, tag uint64) (slot uint32, ok bool)
	Cancel(slot uint32) bool
	Len() int
	All() iter.Seq[uint32]
	Directed(src uint64) iter.Seq[uint32]
}

// Side runs operations on a queue and on the oracle, side by side.
type Side struct {
	T      require.TestingT
	Domain Domain
	Queue  Posted
	Oracle Receives
}

// Post adds a receive, or tries to add one that is there.
func (s *Side) Post() {
	r := Receive{Slot: s.Domain.Slot(), Src: s.Domain.Source(), Tag: s.Domain.Tag(), Ignore: s.Domain.Ignore()}
	fresh := s.Oracle.Position(r.Slot) < 0
	Same(s.T, fresh, s.Queue.Add(r), "post")
	if fresh {
		s.Oracle = append(s.Oracle, r)
	}
}

// Match takes what a message matches.
func (s *Side) Match() {
	src, tag := s.Domain.Source(), s.Domain.Tag()
	slot, ok := s.Queue.Match(src, tag)
	if i := s.Oracle.Find(src, tag); s.Found(i, slot, ok) {
		s.Oracle = slices.Delete(s.Oracle, i, i+1)
	}
}

// Found compares an answer with the oracle's position, and says whether there is one.
func (s *Side) Found(i int, slot uint32, ok bool) bool {
	Same(s.T, i >= 0, ok, "found")
	if i >= 0 {
		Same(s.T, s.Oracle[i].Slot, slot, "which")
	}
	return i >= 0
}

// Cancel takes a receive out, or tries to take one that is not there.
func (s *Side) Cancel() {
	slot := s.Domain.Slot()
	if len(s.Oracle) > 0 && s.Domain.Choose(8) > 0 {
		slot = s.Oracle[s.Domain.Choose(len(s.Oracle))].Slot
	}
	i := s.Oracle.Position(slot)
	Same(s.T, i >= 0, s.Queue.Cancel(slot), "cancel")
	if i >= 0 {
		s.Oracle = slices.Delete(s.Oracle, i, i+1)
	}
}

// CompareAll compares all that can be asked without a change.
func (s *Side) CompareAll() {
	src := s.Domain.Source()
	var all, directed []uint32
	for _, r := range s.Oracle {
		all = append(all, r.Slot)
		if r.Src == src {
			directed = append(directed, r.Slot)
		}
	}
	require.Equal(s.T, all, slices.Collect(s.Queue.All()))
	require.Equal(s.T, directed, slices.Collect(s.Queue.Directed(src)))
}
