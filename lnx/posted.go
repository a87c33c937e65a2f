package lnx

import (
	"iter"
	"slices"

	"golnx/providers"
	"golnx/srq"
)

// posted is the queue of posted receives: package srq, and before it the lane, in
// which a Core that has one matches the oldest ones without a call back into Go.
//
// Every receive in the lane is older than every one in the srq. So whatever a
// message finds in the lane is the oldest that it can have, and it has to look in
// the srq only if it finds nothing there.
type posted struct {
	srq  *srq.Queue
	lane *providers.Lane // nil if the Core has none
	ops  *opTable[rxOp]
}

// Len is the number of posted receives.
func (p *posted) Len() int { return p.laned() + p.srq.Len() }

func (p *posted) laned() int {
	if p.lane == nil {
		return 0
	}
	return len(p.lane.Posted())
}

// laneLow is how many receives stay in the lane when there are more than it holds: a
// message that none of them takes has looked at all of them in vain.
const laneLow = 8

// Post adds a receive, described in its op, as the newest.
func (p *posted) Post(slot providers.Slot) {
	if p.lane == nil || p.srq.Len() > 0 {
		p.postBehind(slot)
		return
	}
	if in := p.lane.Posted(); len(in) == providers.LaneSize {
		for i := range in[laneLow:] {
			p.postBehind(in[laneLow+i].Slot)
		}
		p.lane.Hi = p.lane.Lo + laneLow
		p.postBehind(slot)
		return
	}
	p.enlane(slot)
}

func (p *posted) postBehind(slot providers.Slot) {
	op := p.ops.at(slot)
	p.srq.Post(slot, uint64(op.from), op.tag, op.ignore)
}

func (p *posted) enlane(slot providers.Slot) {
	op := p.ops.at(slot)
	p.lane.Add(providers.LaneEntry{Src: uint64(op.from), Tag: op.tag, Ignore: op.ignore, Slot: slot})
}

// Match takes the oldest receive for a message that found nothing in the lane.
func (p *posted) Match(src, tag uint64) (providers.Slot, bool) { return p.srq.Match(src, tag) }

// Refill moves the oldest receives into an empty lane.
func (p *posted) Refill() {
	if p.lane.Hi > p.lane.Lo || p.srq.Len() == 0 {
		return
	}
	p.refill()
}

func (p *posted) refill() {
	n := laneLow
	if p.srq.Len() <= providers.LaneSize/2 {
		n = p.srq.Len()
	}
	for slot := range p.srq.All() {
		p.srq.Cancel(slot)
		p.enlane(slot)
		if n--; n == 0 {
			return
		}
	}
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
	return p.srq.Cancel(slot)
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
		p.srq.All()(yield)
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
		p.srq.Directed(src)(yield)
	}
}

// inLane copies the lane, for loops that change it.
func (p *posted) inLane() []providers.LaneEntry {
	if p.lane == nil {
		return nil
	}
	return slices.Clone(p.lane.Posted())
}
