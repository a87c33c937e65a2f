package suq

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
	oracle oracle.Messages

	// How often what is rare was met.
	indexed, flattened, scanned, replaced, namedLate int
}

func newProgram(t require.TestingT, choose oracle.Choose) *program {
	return &program{t: t, queue: New(uint64(choose(4))),
		domain: oracle.Domain{Choose: choose, Slots: 1500}}
}

func (p *program) Step() {
	p.domain.Step()
	wasIndexed, scanned := p.queue.core.Indexed, p.queue.masks.scanned

	switch n := p.domain.Choose(64); {
	case n == 0:
		p.burst()
	case n == 1:
		p.CompareAll()
	case n < 6:
		p.peek()
	case n < 14:
		p.setSource()
	case p.domain.Grow(len(p.oracle)):
		p.push()
	case n < 24:
		p.remove()
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
	}
	switch now := p.queue.masks.scanned; {
	case now > scanned:
		p.scanned++
	case now < scanned:
		p.replaced++
	}
}

func (p *program) push() {
	m := oracle.Message{Slot: p.domain.Slot(), Src: p.domain.Source(), Tag: p.domain.Tag()}
	fresh := p.oracle.Position(m.Slot) < 0
	oracle.Same(p.t, fresh, p.queue.Push(m.Slot, m.Src, m.Tag), "push")
	if fresh {
		p.oracle = append(p.oracle, m)
	}
}

// burst pushes as many as it takes to leave Flat.
func (p *program) burst() {
	if len(p.oracle) > p.domain.Depth {
		return
	}
	for range 1 + p.domain.Choose(80) {
		p.push()
	}
}

func (p *program) match() {
	src, tag, ignore := p.domain.Source(), p.domain.Tag(), p.domain.Ignore()
	slot, ok := p.queue.Match(src, tag, ignore)
	i := p.oracle.Find(src, tag, ignore)
	p.same(i, slot, ok)
	if i >= 0 {
		p.oracle = slices.Delete(p.oracle, i, i+1)
	}
}

func (p *program) peek() {
	src, tag, ignore := p.domain.Source(), p.domain.Tag(), p.domain.Ignore()
	slot, ok := p.queue.Peek(src, tag, ignore)
	p.same(p.oracle.Find(src, tag, ignore), slot, ok)
}

func (p *program) same(i int, slot Slot, ok bool) {
	oracle.Same(p.t, i >= 0, ok, "found")
	if i >= 0 {
		oracle.Same(p.t, p.oracle[i].Slot, slot, "which")
	}
}

// some draws a slot, mostly one that is queued.
func (p *program) some() (slot Slot, position int) {
	slot = p.domain.Slot()
	if len(p.oracle) > 0 && p.domain.Choose(8) > 0 {
		slot = p.oracle[p.domain.Choose(len(p.oracle))].Slot
	}
	return slot, p.oracle.Position(slot)
}

func (p *program) remove() {
	slot, i := p.some()
	oracle.Same(p.t, i >= 0, p.queue.Remove(slot), "remove")
	if i >= 0 {
		p.oracle = slices.Delete(p.oracle, i, i+1)
	}
}

func (p *program) setSource() {
	slot, i := p.some()
	src := p.domain.Source()
	want := i >= 0 && p.oracle[i].Src == AnySource && src != AnySource
	oracle.Same(p.t, want, p.queue.SetSource(slot, src), "set source")
	if !want {
		return
	}
	p.oracle[i].Src = src
	if p.queue.core.Indexed && p.queue.core.Entries.At(slot).Seq <= p.queue.masks.newestTakenIn() {
		p.namedLate++
	}
}

// newestTakenIn answers how far any directed mask has gone.
func (ms *masks) newestTakenIn() (seq uint64) {
	for _, m := range ms.list {
		if m.directed {
			seq = max(seq, m.lastSeq)
		}
	}
	return seq
}

func (p *program) CompareAll() {
	src := p.domain.Source()
	var all, from, unknown []Slot
	for _, m := range p.oracle {
		all = append(all, m.Slot)
		if m.Src == src {
			from = append(from, m.Slot)
		}
		if m.Src == AnySource {
			unknown = append(unknown, m.Slot)
		}
	}
	require.Equal(p.t, all, slices.Collect(p.queue.All()))
	require.Equal(p.t, from, slices.Collect(p.queue.From(src)))
	require.Equal(p.t, unknown, slices.Collect(p.queue.Unknown()))
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
	require.Greater(t, p.scanned, 10_000, "searches with more masks than have an index")
	require.Greater(t, p.replaced, 500, "masks that gave way to another one")
	require.Greater(t, p.namedLate, 1000, "sources set after an index passed the message")
}

// Short programs do, too; these shrink.
func TestLikeOracleShort(t *testing.T) { oracle.RunShort(t, newProgram) }

func FuzzLikeOracle(f *testing.F) { oracle.RunFuzz(f, newProgram) }
