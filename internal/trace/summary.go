package trace

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Row sums up the operations of one kind on one path.
type Row struct {
	Path *Path
	// Rank and Peer are Unknown where a row is for all ranks.
	Rank, Peer int
	Op         string
	Count      int64
	// Failed of them completed with an error.
	Failed int64
	Bytes  int64
	// Max is the longest duration in ns.
	Max int64

	times *hdrhistogram.Histogram
}

// Durations are counted with two digits: an error of 1 %. A row takes 37 KB.
const (
	longest = 1 << 42 // ns; a longer one counts as this long, but in Max
	digits  = 2
)

// mostRows bounds the rows of a table; operations with ever new names are counted
// under one name.
const (
	mostRows  = 1 << 14
	otherName = "other"
)

// Percentile answers a duration in ns that p % of the operations did not take longer
// than.
func (r *Row) Percentile(p float64) int64 {
	return min(r.times.ValueAtPercentile(p), r.Max)
}

// Bar is how often durations from From to To ns, both included, were seen.
type Bar struct{ From, To, Count int64 }

// Distribution answers the row's durations, without bars that are empty.
func (r *Row) Distribution() []Bar {
	var bars []Bar
	for _, b := range r.times.Distribution() {
		if b.Count > 0 {
			bars = append(bars, Bar{b.From, b.To, b.Count})
		}
	}
	return bars
}

// plus adds what is not negative; a sum that would be too large is the largest number.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Summary sums up operations.
type Summary struct {
	byRank bool
	rows   map[rowKey]*Row
	last   rowKey
	row    *Row // of last
}

type rowKey struct {
	path       *Path
	rank, peer int
	op         string
}

func newSummary(byRank bool) *Summary { return &Summary{byRank: byRank, rows: map[rowKey]*Row{}} }

// Summarise reads all operations and sums them up by path and operation, and by rank
// and peer, too, if that is wanted.
func (r *Run) Summarise(ctx context.Context, p *Progress, byRank bool) ([]*Row, error) {
	s := newSummary(byRank)
	if err := r.Ops(ctx, p, func(op *Op) error { s.add(op); return nil }); err != nil {
		return nil, err
	}
	return s.Rows(), nil
}

func (s *Summary) add(op *Op) {
	key := rowKey{op.Link.Path, Unknown, Unknown, op.Op.Op}
	if s.byRank {
		key.rank, key.peer = op.Link.Rank.Rank, op.Link.Peer
	}
	if s.row == nil || key != s.last {
		s.last, s.row = key, s.find(key)
	}
	r, d := s.row, op.Duration()
	r.Count++
	r.Bytes = plus(r.Bytes, op.Bytes)
	r.Max = max(r.Max, d)
	if op.Status != 0 {
		r.Failed++
	}
	_ = r.times.RecordValue(min(d, longest)) // inside what it can track
}

func (s *Summary) find(key rowKey) *Row {
	if len(s.rows) >= mostRows && s.rows[key] == nil {
		key = rowKey{key.path, Unknown, Unknown, otherName}
	}
	r := s.rows[key]
	if r == nil {
		r = &Row{Path: key.path, Rank: key.rank, Peer: key.peer, Op: key.op, times: hdrhistogram.New(1, longest, digits)}
		s.rows[key] = r
	}
	return r
}

// Rows answers what was summed up, in the order of paths, operations and ranks.
func (s *Summary) Rows() []*Row {
	rows := make([]*Row, 0, len(s.rows))
	for _, r := range s.rows {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b *Row) int {
		return cmp.Or(
			cmp.Compare(a.Path.Rail, b.Path.Rail), cmp.Compare(a.Path.From, b.Path.From), cmp.Compare(a.Path.To, b.Path.To),
			cmp.Compare(a.Op, b.Op), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Peer, b.Peer),
		)
	})
	return rows
}
