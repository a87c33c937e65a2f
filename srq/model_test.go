package srq

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/internal/oracle"
)

// program runs a queue and the oracle side by side.
type program struct {
	t      require.TestingT
	domain oracle.Domain
	queue  *Queue
	oracle oracle.Receives

	// How often what is rare was met.
	indexed, flattened, inRest, promoted int
}

func newProgram(t require.TestingT, choose oracle.Choose) *program {
	return &program{t: t, queue: New(uint64(choose(4))),
		domain: oracle.Domain{Choose: choose, Slots: 1500}}
}

func (p *program) Step() {
	p.domain.Step()
	wasIndexed, groups := p.queue.core.Indexed, len(p.queue.groups.live)

	switch n := p.domain.Choose(64); {
	case n == 0:
		p.burst()
	case n == 1:
		p.CompareAll()
	case n < 10:
		p.find()
	case p.domain.Grow(len(p.oracle)):
		p.post()
	case n < 20:
		p.cancel()
	default:
		p.match()
	}
	oracle.Same(p.t, len(p.oracle), p.queue.Len(), "length")

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

func (p *program) post() {
	r := oracle.Receive{Slot: p.domain.Slot(), Src: p.domain.Source(),
		Tag: p.domain.Tag(), Ignore: p.domain.Ignore()}
	fresh := p.oracle.Position(r.Slot) < 0
	oracle.Same(p.t, fresh, p.queue.Post(r.Slot, r.Src, r.Tag, r.Ignore), "post")
	if fresh {
		p.oracle = append(p.oracle, r)
	}
}

// burst posts as many as it takes to leave Flat.
func (p *program) burst() {
	if len(p.oracle) > p.domain.Depth {
		return
	}
	for range 1 + p.domain.Choose(80) {
		p.post()
	}
}

func (p *program) match() {
	src, tag := p.domain.Source(), p.domain.Tag()
	slot, ok := p.queue.Match(src, tag)
	i := p.oracle.Find(src, tag)
	p.same(i, slot, ok)
	if i >= 0 {
		p.oracle = slices.Delete(p.oracle, i, i+1)
	}
}

func (p *program) find() {
	src, tag := p.domain.Source(), p.domain.Tag()
	slot, ok := p.queue.Find(src, tag)
	p.same(p.oracle.Find(src, tag), slot, ok)
}

func (p *program) same(i int, slot Slot, ok bool) {
	oracle.Same(p.t, i >= 0, ok, "found")
	if i >= 0 {
		oracle.Same(p.t, p.oracle[i].Slot, slot, "which")
	}
}

func (p *program) cancel() {
	slot := p.domain.Slot()
	if len(p.oracle) > 0 && p.domain.Choose(8) > 0 {
		slot = p.oracle[p.domain.Choose(len(p.oracle))].Slot
	}
	i := p.oracle.Position(slot)
	oracle.Same(p.t, i >= 0, p.queue.Cancel(slot), "cancel")
	if i >= 0 {
		p.oracle = slices.Delete(p.oracle, i, i+1)
	}
}

func (p *program) CompareAll() {
	src := p.domain.Source()
	var all, directed []Slot
	for _, r := range p.oracle {
		all = append(all, r.Slot)
		if r.Src == src {
			directed = append(directed, r.Slot)
		}
	}
	require.Equal(p.t, all, slices.Collect(p.queue.All()))
	require.Equal(p.t, directed, slices.Collect(p.queue.Directed(src)))
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
