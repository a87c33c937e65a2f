package lnx

import (
	"iter"
	"slices"

	"golnx/providers"
	"golnx/srq"
)

// posted is the queue of posted receives. Where the Core matches, it has them: in its
// lane, which is searched one by one, while they are few, otherwise all in its index.
// For other Cores they are in package srq.
type posted struct {
	lane *providers.Lane // nil if the Core does not match
	rest rest            // the Core's index, or the srq
	srq  *srq.Queue      // nil if the Core matches
	ops  *opTable[rxOp]
}

// rest is what a Core's index and the srq have in common.
type rest interface {
	Cancel(slot providers.Slot) bool
	Len() int
	All() iter.Seq[providers.Slot]
	Directed(src uint64) iter.Seq[providers.Slot]
}

func (p *posted) init(ops *opTable[rxOp], seed uint64) {
	p.ops, p.srq = ops, srq.New(seed)
	p.rest = p.srq
}

// matchedBy leaves matching to the Core, before anything is posted.
func (p *posted) matchedBy(core providers.Laner) {
	p.lane, p.rest, p.srq = core.Lane(), core.Index(), nil
}

// Len is the number of posted receives.
func (p *posted) Len() int {
	if p.lane == nil {
		return p.rest.Len()
	}
	return len(p.lane.Posted()) + p.rest.Len()
}

// Post adds a receive, described in its op, as the newest. It fails without memory.
func (p *posted) Post(slot providers.Slot) error {
	op := p.ops.at(slot)
	e := providers.LaneEntry{Src: uint64(op.from), Tag: op.tag, Ignore: op.ignore, Slot: slot}
	switch {
	case p.lane == nil:
		p.srq.Post(slot, e.Src, e.Tag, e.Ignore)
	case p.rest.Len() == 0 && len(p.lane.Posted()) < providers.LaneSize:
		p.lane.Add(e)
	default:
		return p.postIndexed(e)
	}
	return nil
}

// postIndexed adds a receive to the index, behind those that the lane has.
func (p *posted) postIndexed(e providers.LaneEntry) error {
	index, in := p.rest.(providers.Index), p.lane.Posted()
	for i := range in {
		if err := index.Reserve(in[i].Slot); err != nil {
			return err
		}
	}
	if err := index.Reserve(e.Slot); err != nil {
		return err
	}
	for _, e := range in {
		index.Post(e.Slot, e.Src, e.Tag, e.Ignore)
	}
	p.lane.Hi = p.lane.Lo
	index.Post(e.Slot, e.Src, e.Tag, e.Ignore)
	return nil
}

// Match takes the oldest receive for a message. A Core that matches has found none.
func (p *posted) Match(src, tag uint64) (providers.Slot, bool) {
	if p.srq == nil {
		return 0, false
	}
	return p.srq.Match(src, tag)
}

// Cancel takes a receive out, and answers false if it is not there.
func (p *posted) Cancel(slot providers.Slot) bool {
	if p.lane != nil {
		in := p.lane.Posted()
		for i := range in {
			if in[i].Slot == slot {
				copy(in[i:], in[i+1:])
				p.lane.Hi--
				return true
			}
		}
	}
	return p.rest.Cancel(slot)
}

// All iterates over the receives, oldest first. The loop may cancel the one that it
// was given.
func (p *posted) All() iter.Seq[providers.Slot] {
	return func(yield func(providers.Slot) bool) {
		for _, e := range p.inLane() {
			if !yield(e.Slot) {
				return
			}
		}
		p.rest.All()(yield)
	}
}

// Directed is All for the receives that only one source can meet.
func (p *posted) Directed(src uint64) iter.Seq[providers.Slot] {
	return func(yield func(providers.Slot) bool) {
		for _, e := range p.inLane() {
			if e.Src == src && !yield(e.Slot) {
				return
			}
		}
		p.rest.Directed(src)(yield)
	}
}

// inLane copies the lane, for loops that change it.
func (p *posted) inLane() []providers.LaneEntry {
	if p.lane == nil {
		return nil
	}
	return slices.Clone(p.lane.Posted())
}
