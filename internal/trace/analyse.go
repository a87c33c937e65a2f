package trace

import (
	"context"
	"slices"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"golnx/rail/timer"
)

// Limits bounds what Analyse keeps, whatever the trace's size. A zero field stands for
// the value of DefaultLimits.
type Limits struct {
	// Bins of time; those in use are at least half as many, in a trace longer than
	// some 100 µs.
	Bins int
	// Points are the operations that are kept one by one.
	Points int
}

// DefaultLimits suit a page that a browser shows at once.
var DefaultLimits = Limits{Bins: 1024, Points: 50_000}

// mostRails bounds the rails that are told apart over time; the others are one.
const mostRails = 12

// Analysis is what reports and plots show of a run.
type Analysis struct {
	Run *Run
	// Ops counts all operations, Failed those that completed with an error.
	Ops, Failed, Bytes int64
	// Start and End are those of the earliest and the latest operation, in Unix ns.
	Start, End int64
	// Summary is by path and operation.
	Summary []*Row
	// Line is the time axis of everything below.
	Line  *Timeline
	Rails []*Rail
	// Points are operations to be drawn one by one, in order of time: all of them, or
	// of each rail in each bin the longest and some others.
	Points []Point
	// Counters that changed at all.
	Counters []*Counter
	// Gaps is the time in ns of each bin in which nobody read some completion queue.
	Gaps *Lane[float64]
	// ByRank and ByNIC are who sent to whom.
	ByRank, ByNIC *Matrix
}

// Rail is what one rail did over time.
type Rail struct {
	Name string
	// Bytes and Ops are the sums of all bins.
	Bytes, Ops int64
	Cells      *Lane[RailCell]
}

// RailCell is one bin.
type RailCell struct {
	// Bytes were under way in this bin: an operation's bytes are spread over the time
	// it took.
	Bytes float64
	// Ops completed in this bin, and Max ns is the longest of them.
	Ops, Max int64

	times *hdrhistogram.Histogram
}

// cellDigits is the precision of the durations in a bin: a histogram takes 5 KB.
const cellDigits = 1

// Percentile answers a duration in ns as Row.Percentile, to 6 %.
func (c *RailCell) Percentile(p float64) int64 {
	if c.times == nil {
		return 0
	}
	return min(c.times.ValueAtPercentile(p), c.Max)
}

func (c *RailCell) add(from *RailCell) {
	c.Bytes, c.Ops, c.Max = c.Bytes+from.Bytes, c.Ops+from.Ops, max(c.Max, from.Max)
	switch {
	case c.times == nil:
		c.times = from.times
	case from.times != nil:
		c.times.Merge(from.times)
	}
}

// Coarser takes each n cells together.
func Coarser(cells []RailCell, n int) []RailCell {
	var all []RailCell
	for group := range slices.Chunk(cells, n) {
		sum := RailCell{times: hdrhistogram.New(1, longest, cellDigits)}
		for i := range group {
			sum.add(&group[i])
		}
		all = append(all, sum)
	}
	return all
}

func (c *RailCell) complete(duration int64) {
	if c.times == nil {
		c.times = hdrhistogram.New(1, longest, cellDigits)
	}
	c.Ops, c.Max = c.Ops+1, max(c.Max, duration)
	_ = c.times.RecordValue(min(duration, longest)) // inside what it can track
}

// Analyse reads all operations and counters once.
func (r *Run) Analyse(ctx context.Context, p *Progress, limits Limits) (*Analysis, error) {
	if limits.Bins == 0 {
		limits.Bins = DefaultLimits.Bins
	}
	if limits.Points == 0 {
		limits.Points = DefaultLimits.Points
	}
	a := newAnalyser(r, limits)
	if err := r.Ops(ctx, p, func(op *Op) error { a.op(op); return nil }); err != nil {
		return nil, err
	}
	counters := newCounters(a.Line)
	if err := r.Samples(ctx, p, func(k *Rank, s *timer.NICSample) error { counters.add(k, s); return nil }); err != nil {
		return nil, err
	}
	err := r.Gaps(ctx, p, func(_ *Rank, g *timer.CQGap) error { a.gap(g); return nil })
	if err != nil {
		return nil, err
	}
	if counters.leftOut > 0 {
		r.note("%d counters more than %d are not shown", counters.leftOut, mostCounters)
	}
	a.Counters = counters.all
	a.Summary, a.Points = a.summary.Rows(), a.picker.points()
	a.ByRank, a.ByNIC = a.traffic.byRank(r), a.traffic.byNIC(r)
	return &a.Analysis, nil
}

// analyser is an Analysis that is being made.
type analyser struct {
	Analysis
	summary *Summary
	picker  *picker
	traffic *traffic
	rails   map[*Path]int
}

func newAnalyser(r *Run, limits Limits) *analyser {
	a := &analyser{summary: newSummary(false), traffic: newTraffic(), rails: map[*Path]int{}}
	a.Run, a.Line = r, NewTimeline(limits.Bins)
	a.Gaps = newLane(a.Line, func(into, from *float64) { *into += *from })
	for _, name := range r.RailNames() {
		a.Rails = append(a.Rails, &Rail{Name: name, Cells: newLane(a.Line, (*RailCell).add)})
	}
	a.picker = &picker{most: limits.Points, rails: len(a.Rails), line: a.Line}
	return a
}

// otherRails stands for the rails after the first mostRails, and for those of links
// that no file names.
const otherRails = "other rails"

// RailNames answers the names of all rails, those in shared memory first, and last one
// for all others.
func (r *Run) RailNames() []string {
	var names []string
	for _, p := range r.Paths {
		names = append(names, p.Rail)
	}
	slices.SortFunc(names, func(a, b string) int {
		if shmA, shmB := isShm(a), isShm(b); shmA != shmB {
			if shmA {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	names = slices.Compact(names)
	return append(names[:min(len(names), mostRails)], otherRails)
}

func isShm(rail string) bool { return rail == "shm" || strings.HasPrefix(rail, "shm:") }

// railOf answers the place of a path's rail.
func (a *analyser) railOf(p *Path) int {
	i, ok := a.rails[p]
	if !ok {
		last := len(a.Rails) - 1
		if i = slices.IndexFunc(a.Rails[:last], func(r *Rail) bool { return r.Name == p.Rail }); i < 0 {
			i = last
		}
		a.rails[p] = i
	}
	return i
}

func (a *analyser) op(op *Op) {
	if a.Ops == 0 {
		a.Start, a.End = op.Start, op.End
	}
	a.Start, a.End = min(a.Start, op.Start), max(a.End, op.End)
	a.Ops, a.Bytes = a.Ops+1, plus(a.Bytes, op.Bytes)
	if op.Status != 0 {
		a.Failed++
	}
	a.summary.add(op)
	a.traffic.add(op)

	rail := a.railOf(op.Link.Path)
	r := a.Rails[rail]
	r.Ops, r.Bytes = r.Ops+1, plus(r.Bytes, op.Bytes)
	r.Cells.at(op.End).complete(op.Duration())
	a.Line.spread(op.Start, op.End, func(cell int, share float64) { r.Cells.cells[cell].Bytes += share * float64(op.Bytes) })
	a.picker.add(chosen{
		Point{Start: op.Start, End: op.End, Bytes: op.Bytes, Tag: op.Tag, Op: op.Op.Op, Link: op.Link, Status: op.Status, Rail: rail},
		mix(uint64(op.Link.Rank.Rank)<<40 ^ uint64(op.Row)),
	})
}

func (a *analyser) gap(g *timer.CQGap) {
	a.Line.spread(g.Start, g.End, func(cell int, share float64) { a.Gaps.cells[cell] += share * float64(g.End-g.Start) })
}
