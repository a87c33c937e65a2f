package report

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"golnx/internal/trace"
	"golnx/providers/fierr"
)

// data is what the page's scripts draw. Times are in ns from Analysis.Start.
type data struct {
	// Bins: where the first begins, how long one is, and how many there are.
	Bins struct {
		Start, Width int64
		Count        int
	}
	// Coarse is how many bins are taken together where the whole trace is shown.
	Coarse   int
	Rails    []railData
	Points   pointData
	Links    []linkData
	Ops      []string
	Latency  latencyData
	Counters []counterData
	// Gaps is the share of each bin in which a completion queue was not read; empty
	// if that was not recorded.
	Gaps  numbers
	Ranks matrixData
	NICs  matrixData
}

type railData struct {
	Name, Colour string
	// Device is the local NIC's name, for the colours of its counters.
	Devices    []string
	Bytes, Ops numbers // of each bin
	// Fine are of each bin, Coarse of each data.Coarse of them.
	Fine, Coarse percentiles
}

type percentiles struct{ P50, P99 numbers }

// coarse is how many bins are taken together.
const coarse = 4

// pointData has a column for each property of the operations that are drawn one by one.
type pointData struct {
	// Start holds differences, each to the one before, from 0.
	Start, Duration, Bytes []int64
	Link, Op, Rail         []int
	Tag                    []string
	// Errors tells of failed ones by their number.
	Errors map[int]string
}

type linkData struct {
	Path       int
	Rank, Peer int
	Name, Rail string
}

// latencyData has, for each path and operation, how many took how long. Step k is from
// 10^(k/PerDecade) ns, counted from First.
type latencyData struct {
	PerDecade, First, Steps int
	Series                  []latencySeries
	LeftOut                 int
}

type latencySeries struct {
	Path, Colour, Op string
	Counts           []int64
}

type counterData struct {
	Name, Device string
	Total        float64
	Rate         numbers
}

type matrixData struct {
	Labels []string
	// Cells are from, to, operations, bytes.
	Cells [][4]int64
}

// numbers are written with five digits; NaN becomes null.
type numbers []float64

// MarshalJSON answers an array.
func (n numbers) MarshalJSON() ([]byte, error) {
	text := []byte{'['}
	for i, v := range n {
		if i > 0 {
			text = append(text, ',')
		}
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			text = append(text, "null"...)
		case v == math.Trunc(v) && math.Abs(v) < 1e6:
			text = strconv.AppendInt(text, int64(v), 10)
		default:
			text = strconv.AppendFloat(text, v, 'g', 5, 64)
		}
	}
	return append(text, ']'), nil
}

func newData(a *trace.Analysis) data {
	d := data{Coarse: coarse, Latency: latency(a), Ranks: matrix(a.ByRank), NICs: matrix(a.ByNIC), Gaps: gaps(a)}
	d.Bins.Start, d.Bins.Width, d.Bins.Count = a.Line.Start()-a.Start, a.Line.Width(), a.Line.Bins()
	for i, r := range a.Rails {
		d.Rails = append(d.Rails, railOverTime(a, r, trace.Colour(i)))
	}
	d.points(a)
	d.Counters = counters(a)
	return d
}

func railOverTime(a *trace.Analysis, r *trace.Rail, colour string) railData {
	v := railData{Name: r.Name, Colour: colour}
	for _, k := range a.Run.Ranks {
		for _, l := range k.Links {
			if l.Path.Rail == r.Name && !slices.Contains(v.Devices, l.LocalNIC) {
				v.Devices = append(v.Devices, l.LocalNIC)
			}
		}
	}
	if r.Ops == 0 {
		return v
	}
	for _, c := range r.Cells.Cells() {
		v.Bytes, v.Ops = append(v.Bytes, c.Bytes), append(v.Ops, float64(c.Ops))
	}
	v.Fine, v.Coarse = percentilesOf(r.Cells.Cells()), percentilesOf(trace.Coarser(r.Cells.Cells(), coarse))
	return v
}

func percentilesOf(cells []trace.RailCell) (p percentiles) {
	for i := range cells {
		p50, p99 := math.NaN(), math.NaN()
		if c := &cells[i]; c.Ops > 0 {
			p50, p99 = float64(c.Percentile(50)), float64(c.Percentile(99))
		}
		p.P50, p.P99 = append(p.P50, p50), append(p.P99, p99)
	}
	return p
}

func (d *data) points(a *trace.Analysis) {
	links, ops := map[*trace.Link]int{}, map[string]int{}
	p, last := &d.Points, a.Start
	p.Errors = map[int]string{}
	for i := range a.Points {
		point := &a.Points[i]
		link, ok := links[point.Link]
		if !ok {
			link = len(d.Links)
			links[point.Link] = link
			l := point.Link
			d.Links = append(d.Links, linkData{Path: l.Path.ID, Rank: l.Rank.Rank, Peer: l.Peer, Name: l.Path.String(), Rail: l.Path.Rail})
		}
		op, ok := ops[point.Op]
		if !ok {
			op = len(d.Ops)
			ops[point.Op] = op
			d.Ops = append(d.Ops, point.Op)
		}
		p.Start, last = append(p.Start, point.Start-last), point.Start
		p.Duration, p.Bytes = append(p.Duration, point.End-point.Start), append(p.Bytes, point.Bytes)
		p.Link, p.Op, p.Rail = append(p.Link, link), append(p.Op, op), append(p.Rail, point.Rail)
		p.Tag = append(p.Tag, strconv.FormatUint(point.Tag, 16))
		if point.Status != 0 {
			p.Errors[i] = fierr.Errno(point.Status).Error()
		}
	}
}

// stepsPerDecade is how fine durations are told apart where they are counted.
const stepsPerDecade = 20

// mostPaths bounds the paths whose durations are drawn: those with most operations.
const mostPaths = 12

func latency(a *trace.Analysis) latencyData {
	d := latencyData{PerDecade: stepsPerDecade}
	step := func(ns int64) int { return int(math.Floor(math.Log10(float64(max(ns, 1))) * stepsPerDecade)) }
	first, last := math.MaxInt, 0
	shown, leftOut := busiest(a.Summary)
	d.LeftOut = leftOut
	bars := make([][]trace.Bar, len(shown))
	for i, r := range shown {
		bars[i] = r.Distribution()
		for _, b := range bars[i] {
			first, last = min(first, step((b.From+b.To)/2)), max(last, step((b.From+b.To)/2))
		}
	}
	if first > last {
		return d
	}
	d.First, d.Steps = first, last-first+1
	for i, r := range shown {
		s := latencySeries{Path: r.Path.String(), Colour: a.ColourOf(r.Path), Op: r.Op, Counts: make([]int64, d.Steps)}
		for _, b := range bars[i] {
			s.Counts[step((b.From+b.To)/2)-first] += b.Count
		}
		d.Series = append(d.Series, s)
	}
	return d
}

// busiest answers the rows of the paths that had most operations, in the order of the
// rows, and how many paths were left out.
func busiest(rows []*trace.Row) (shown []*trace.Row, leftOut int) {
	counts := map[*trace.Path]int64{}
	for _, r := range rows {
		counts[r.Path] += r.Count
	}
	var paths []*trace.Path
	for p := range counts {
		paths = append(paths, p)
	}
	slices.SortFunc(paths, func(a, b *trace.Path) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), a.ID-b.ID) })
	leftOut = max(0, len(paths)-mostPaths)
	paths = paths[:len(paths)-leftOut]
	for _, r := range rows {
		if slices.Contains(paths, r.Path) {
			shown = append(shown, r)
		}
	}
	return shown, leftOut
}

func counters(a *trace.Analysis) []counterData {
	hosts := len(a.Run.Hosts()) > 1
	var all []counterData
	for _, c := range a.Counters {
		name := c.Device + " " + c.Counter
		switch {
		case c.Host == "" && len(a.Run.Ranks) > 1:
			name = "rank " + strconv.Itoa(c.Rank) + " " + name
		case hosts:
			name = c.Host + "/" + name
		}
		v := counterData{Name: name, Device: c.Device, Total: c.Total}
		for _, cell := range c.Cells.Cells() {
			rate := math.NaN()
			if cell.Covered > 0 {
				rate = cell.Rate()
			}
			v.Rate = append(v.Rate, rate)
		}
		all = append(all, v)
	}
	return all
}

func gaps(a *trace.Analysis) numbers {
	var shares numbers
	any := false
	for _, g := range a.Gaps.Cells() {
		shares = append(shares, math.Min(1, g/float64(a.Line.Width())))
		any = any || g > 0
	}
	if !any {
		return nil
	}
	return shares
}

func matrix(m *trace.Matrix) matrixData {
	d := matrixData{Labels: m.Labels}
	for _, c := range m.Cells {
		d.Cells = append(d.Cells, [4]int64{int64(c.From), int64(c.To), c.Ops, c.Bytes})
	}
	return d
}
