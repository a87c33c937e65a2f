package timer

import (
	"sync/atomic"

	"golnx/rail/intercept"
)

const (
	// slotsPerEndpoint is how many operations of an endpoint can be timed at once.
	slotsPerEndpoint = 1 << 12
	// recordsPerEndpoint is how many can wait for the writer.
	recordsPerEndpoint = 1 << 15
	// mostLinks bounds the paths of an endpoint. Paths go away with peers that are
	// removed, and their numbers stay.
	mostLinks = 1 << 20
)

// endpoint is what the timer knows of one endpoint. Its operations run under the
// endpoint's progress lock.
type endpoint struct {
	rec  *Recorder
	id   uint64
	gaps lookout
	*timing
	// closing says that the endpoint is about to close; ticks, the writer's, counts
	// what has passed since.
	closing atomic.Bool
	ticks   int
}

// timing is the part that a rank which records no operations does without.
type timing struct {
	slots    slots
	ring     *ring
	minBytes int
	// leftOut has the bits of the rails whose operations are not recorded.
	leftOut uint64
	last    pair // the pair of the last operation
	link    uint32
	links   map[pair]uint32

	// Operations by what became of them; the writer reads along.
	accepted atomic.Uint64 // timed ones
	lost     atomic.Uint64 // of these, those that completed while the ring was full
	missed   atomic.Uint64 // not timed for want of a slot, or after the end
	skipped  atomic.Uint64 // not timed because that was asked for
}

// pair is a directed pair of NICs: a rail here and one end of a peer.
type pair struct {
	rail *intercept.Rail
	to   *intercept.Remote
}

// increment adds one where only one goroutine at a time writes.
func increment(n *atomic.Uint64) { n.Store(n.Load() + 1) }

func newEndpoint(r *Recorder, e *intercept.Endpoint) *endpoint {
	ep := &endpoint{rec: r, id: e.ID}
	if !r.cfg.recordsOps() {
		return ep
	}
	ep.timing = &timing{ring: newRing(r.ringSize), minBytes: int(r.cfg.OpsMinBytes), links: map[pair]uint32{}}
	ep.slots = newSlots(ep, r.slotCount)
	for _, rail := range e.Rails {
		if !matches(r.cfg.OpsNIC, rail.Device) {
			ep.leftOut |= 1 << uint(rail.Index)
		}
	}
	return ep
}

// claim answers a slot for an operation. If it is not to be timed there is none, and the
// operation counts in missing once it is accepted.
func (ep *endpoint) claim(rail *intercept.Rail, to *intercept.Remote, bytes int) (s *slot, missing *atomic.Uint64) {
	if bytes < ep.minBytes || ep.leftOut>>uint(rail.Index)&1 != 0 { // the link as a whole, -1, never is
		return nil, &ep.skipped
	}
	if ep.rec.off.Load() {
		return nil, &ep.missed
	}
	if p := (pair{rail, to}); p != ep.last {
		link, ok := ep.find(p)
		if !ok {
			return nil, &ep.missed
		}
		ep.last, ep.link = p, link
	}
	if s = ep.slots.take(); s == nil {
		return nil, &ep.missed
	}
	s.bytes, s.link = int64(bytes), ep.link
	return s, nil
}

// find answers the number of a path.
func (ep *endpoint) find(p pair) (uint32, bool) {
	link, ok := ep.links[p]
	if !ok && len(ep.links) < mostLinks {
		link, ok = ep.rec.newLink(p), true
		ep.links[p] = link
	}
	return link, ok
}

// unfinished is the number of operations that were accepted and have not completed.
func (t *timing) unfinished() uint64 {
	ended := t.ring.tail.Load() + t.lost.Load()
	return max(t.accepted.Load(), ended) - ended // one that is under way may have ended first
}

// count adds what became of the endpoint's operations. At the end also what has not
// completed, and what nobody took out of the ring.
func (ep *endpoint) count(c *OpCounts, atEnd bool) {
	if ep.timing == nil {
		return
	}
	c.Skipped += ep.skipped.Load()
	c.Dropped += ep.missed.Load() + ep.lost.Load()
	if atEnd {
		c.Unfinished += ep.unfinished()
		c.Dropped += ep.ring.tail.Load() - ep.ring.head.Load()
	}
}
