package trace

import (
	"slices"
	"strconv"
	"strings"
)

// mostLabels bounds the rows and columns of a matrix; beyond it neighbours are taken
// together.
const mostLabels = 128

// Matrix is how much data went from whom to whom.
type Matrix struct {
	Labels []string
	// Cells has those that are not empty, in order.
	Cells []Traffic
}

// Traffic went from one to the other, both places in Matrix.Labels.
type Traffic struct {
	From, To   int
	Ops, Bytes int64
}

// traffic counts what each link carried.
type traffic struct {
	links map[*Link]*carried
	last  *Link
	count *carried // of last
}

// carried is what went out on a link, and what was read over it.
type carried struct{ out, in flow }

type flow struct{ ops, bytes int64 }

func newTraffic() *traffic { return &traffic{links: map[*Link]*carried{}} }

func (t *traffic) add(op *Op) {
	if op.Link != t.last {
		t.last, t.count = op.Link, t.links[op.Link]
		if t.count == nil {
			t.count = new(carried)
			t.links[op.Link] = t.count
		}
	}
	way := &t.count.out
	if isRead(op.Op.Op) {
		way = &t.count.in
	}
	way.ops++
	way.bytes = plus(way.bytes, op.Bytes)
}

// isRead tells operations whose data comes from the peer: read, readv, readmsg.
func isRead(op string) bool { return strings.HasPrefix(op, "read") }

// unknownLabel stands for peers whose address no file has.
const unknownLabel = "unknown"

func (t *traffic) byRank(r *Run) *Matrix {
	var ranks []int
	for _, k := range r.Ranks {
		ranks = append(ranks, k.Rank)
	}
	labels := make([]string, len(ranks))
	for i, n := range ranks {
		labels[i] = strconv.Itoa(n)
	}
	at := func(rank int) int {
		i, ok := slices.BinarySearch(ranks, rank)
		if !ok {
			return len(ranks)
		}
		return i
	}
	return t.matrix(append(labels, unknownLabel), func(l *Link) (int, int) { return at(l.Rank.Rank), at(l.Peer) })
}

func (t *traffic) byNIC(r *Run) *Matrix {
	var labels []string
	for _, p := range r.Paths {
		labels = append(labels, p.From, p.To)
	}
	slices.Sort(labels)
	labels = slices.Compact(labels)
	places := map[string]int{}
	for i, l := range labels {
		places[l] = i
	}
	return t.matrix(labels, func(l *Link) (int, int) { return places[l.Path.From], places[l.Path.To] })
}

// matrix adds up the links; ends answers where a link begins and ends. Of the last
// label, that of the unknown, nothing is left if there are none.
func (t *traffic) matrix(labels []string, ends func(*Link) (from, to int)) *Matrix {
	sums := map[[2]int]flow{}
	unknown := false
	for l, c := range t.links {
		from, to := ends(l)
		for _, way := range []struct {
			cell [2]int
			flow
		}{{[2]int{from, to}, c.out}, {[2]int{to, from}, c.in}} {
			if way.ops > 0 {
				sum := sums[way.cell]
				sums[way.cell] = flow{sum.ops + way.ops, plus(sum.bytes, way.bytes)}
				unknown = unknown || labels[way.cell[0]] == unknownLabel || labels[way.cell[1]] == unknownLabel
			}
		}
	}
	if last := len(labels) - 1; last >= 0 && labels[last] == unknownLabel && !unknown {
		labels = labels[:last]
	}
	return grouped(labels, sums)
}

// grouped makes the matrix, with neighbours taken together where there are too many.
func grouped(labels []string, sums map[[2]int]flow) *Matrix {
	per := (len(labels) + mostLabels - 1) / mostLabels
	m := &Matrix{Labels: labels}
	if per > 1 {
		m.Labels = nil
		for group := range slices.Chunk(labels, per) {
			label := group[0]
			if len(group) > 1 {
				label += " … " + group[len(group)-1]
			}
			m.Labels = append(m.Labels, label)
		}
		merged := map[[2]int]flow{}
		for cell, f := range sums {
			to := [2]int{cell[0] / per, cell[1] / per}
			merged[to] = flow{merged[to].ops + f.ops, plus(merged[to].bytes, f.bytes)}
		}
		sums = merged
	}
	for cell, f := range sums {
		m.Cells = append(m.Cells, Traffic{From: cell[0], To: cell[1], Ops: f.ops, Bytes: f.bytes})
	}
	slices.SortFunc(m.Cells, func(a, b Traffic) int {
		if a.From != b.From {
			return a.From - b.From
		}
		return a.To - b.To
	})
	return m
}
