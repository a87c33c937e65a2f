package srq

import (
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/internal/oracle"
)

// program runs a queue and the oracle side by side.
type program struct {
	oracle.Side
	queue *Queue

	// How often what is rare was met.
	indexed, flattened, inRest, promoted int
}

// posted is the queue as the oracle knows it.
type posted struct{ *Queue }

func (q posted) Add(r oracle.Receive) bool { return q.Post(r.Slot, r.Src, r.Tag, r.Ignore) }

func newProgram(t require.TestingT, choose oracle.Choose) *program {
	q := New(uint64(choose(4)))
	return &program{queue: q, Side: oracle.Side{T: t, Queue: posted{q}, Domain: oracle.Domain{Choose: choose, Slots: 1500}}}
}

func (p *program) Step() {
	p.Domain.Step()
	wasIndexed, groups := p.queue.core.Indexed, len(p.queue.groups.live)

	switch n := p.Domain.Choose(64); {
	case n == 0:
		p.burst()
	case n == 1:
		p.CompareAll()
	case n < 10:
		p.find()
	case p.Domain.Grow(len(p.Oracle)):
		p.Post()
	case n < 20:
		p.Cancel()
	default:
		p.Match()
	}
	oracle.Same(p.T, len(p.Oracle), p.queue.Len(), "length")

	if p.queue.core.Indexed != wasIndexed {
		if wasIndexed {
			p.flattened++
		} else {
			p.indexed++
		}
	} else if len(p.queue.groups.live) > max(groups, maxGroups) {
		p.promoted++
	}
	if p.queue.rest.Len() > 0 {
		p.inRest++
	}
}

// burst posts as many as it takes to leave Flat.
func (p *program) burst() {
	if len(p.Oracle) > p.Domain.Depth {
		return
	}
	for range 1 + p.Domain.Choose(80) {
		p.Post()
	}
}

func (p *program) find() {
	src, tag := p.Domain.Source(), p.Domain.Tag()
	slot, ok := p.queue.Find(src, tag)
	p.Found(p.Oracle.Find(src, tag), slot, ok)
}

// A million random steps answer as the oracle does, on either side of every
// threshold.
func TestLikeOracle(t *testing.T) {
	p := newProgram(t, oracle.Seeded(1))
	for range 1_000_000 {
		p.Step()
	}
	p.CompareAll()
	require.Greater(t, p.indexed, 50, "crossings from flat to indexed")
	require.Greater(t, p.flattened, 50, "crossings from indexed to flat")
	require.Greater(t, p.inRest, 10_000, "steps with more masks than groups")
	require.Greater(t, p.promoted, 5, "masks that got a group late")
}

// Short programs do, too; these shrink.
func TestLikeOracleShort(t *testing.T) { oracle.RunShort(t, newProgram) }

func FuzzLikeOracle(f *testing.F) { oracle.RunFuzz(f, newProgram) }
