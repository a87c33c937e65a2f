package plot

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"golnx/internal/trace"
)

const timeLabel = "time since the first operation [s]"

// coarse is how many bins are taken together for a line.
const coarse = 4

// middle answers the middle of a bin in s, of bins so many of which are taken together.
func middle(a *trace.Analysis, bin, together int) float64 {
	width := float64(a.Line.Width()) * float64(together)
	return (float64(a.Line.Start()-a.Start) + width*(float64(bin)+0.5)) / 1e9
}

// durations has a point for each operation, and lines for the percentiles.
func durations(a *trace.Analysis) (*plot.Plot, error) {
	p := newPlot(timeLabel, "duration")
	p.Add(grid())
	for i, r := range a.Rails {
		if r.Ops == 0 {
			continue
		}
		var ok, failed plotter.XYs
		for _, point := range a.Points {
			if point.Rail != i {
				continue
			}
			xy := plotter.XY{X: float64(point.Start-a.Start) / 1e9, Y: math.Max(1, float64(point.End-point.Start))}
			if point.Status != 0 {
				failed = append(failed, xy)
			} else {
				ok = append(ok, xy)
			}
		}
		for _, s := range []struct {
			xys   plotter.XYs
			style draw.GlyphStyle
		}{
			{ok, draw.GlyphStyle{Color: railColour(i, 0x70), Radius: vg.Points(0.7), Shape: draw.CircleGlyph{}}},
			{failed, draw.GlyphStyle{Color: parse("#b3261e", 0xff), Radius: vg.Points(2.5), Shape: draw.CrossGlyph{}}},
		} {
			if len(s.xys) == 0 {
				continue
			}
			scatter, err := plotter.NewScatter(s.xys)
			if err != nil {
				return nil, err
			}
			scatter.GlyphStyle = s.style
			p.Add(scatter)
		}
	}
	err := percentiles(a, p)
	logarithmic(&p.Y)
	return p, err
}

func percentiles(a *trace.Analysis, p *plot.Plot) error {
	for i, r := range a.Rails {
		if r.Ops == 0 {
			continue
		}
		cells := trace.Coarser(r.Cells.Cells(), coarse)
		for n, percentile := range []float64{50, 99} {
			var xys plotter.XYs
			for bin := range cells {
				if cells[bin].Ops > 0 {
					xys = append(xys, plotter.XY{X: middle(a, bin, coarse), Y: math.Max(1, float64(cells[bin].Percentile(percentile)))})
				}
			}
			line, err := plotter.NewLine(xys)
			if err != nil {
				return err
			}
			line.Color, line.Width, line.Dashes = railColour(i, 0xff), vg.Points(1), dashes(n)
			p.Add(line)
			p.Legend.Add(fmt.Sprintf("%s p%g", r.Name, percentile), line)
		}
	}
	return nil
}

// rails has what each rail carried, stacked.
func rails(a *trace.Analysis) (*plot.Plot, error) {
	most := 0.0
	layers := stacked(a, false)
	for _, v := range layers[len(layers)-1].tops {
		most = math.Max(most, v)
	}
	unit, factor := unitOf(most)
	p := newPlot(timeLabel, unit+"/s")
	return p, fill(a, p, layers, factor)
}

// shares has what part of the data each rail carried.
func shares(a *trace.Analysis) (*plot.Plot, error) {
	p := newPlot(timeLabel, "share of bytes [%]")
	p.Y.Max = 100
	return p, fill(a, p, stacked(a, true), 0.01)
}

// layer is a rail, and what it and those below carried: bytes a second in each bin, or
// shares of 1.
type layer struct {
	rail int
	name string
	tops []float64
}

func stacked(a *trace.Analysis, share bool) []layer {
	var layers []layer
	var below []float64
	for i, r := range a.Rails {
		if r.Ops == 0 {
			continue
		}
		l := layer{rail: i, name: r.Name}
		for bin, c := range trace.Coarser(r.Cells.Cells(), coarse) {
			v := c.Bytes / (float64(a.Line.Width()) / 1e9 * coarse)
			if bin < len(below) {
				v += below[bin]
			}
			l.tops = append(l.tops, v)
		}
		below = l.tops
		layers = append(layers, l)
	}
	if share {
		sums := slices.Clone(below)
		for _, l := range layers {
			for bin := range l.tops {
				if sums[bin] > 0 {
					l.tops[bin] /= sums[bin]
				}
			}
		}
	}
	return layers
}

// fill draws the layers, the topmost first: each covers what is below it.
func fill(a *trace.Analysis, p *plot.Plot, layers []layer, unit float64) error {
	p.Y.Min = 0
	half := float64(a.Line.Width()) * coarse / 2e9
	for _, l := range slices.Backward(layers) {
		var xys plotter.XYs
		for bin, top := range l.tops {
			x := middle(a, bin, coarse)
			xys = append(xys, plotter.XY{X: x - half, Y: top / unit}, plotter.XY{X: x + half, Y: top / unit})
		}
		line, err := plotter.NewLine(xys)
		if err != nil {
			return err
		}
		line.Width, line.FillColor, line.Color = 0, railColour(l.rail, 0xff), railColour(l.rail, 0xff)
		p.Add(line)
		p.Legend.Add(l.name, swatch{line.FillColor})
	}
	return nil
}

// mostCounters bounds the lines of the figure.
const mostCounters = 6

// counters has how fast those counters grew that count bytes, or grew most.
func counters(a *trace.Analysis) (*plot.Plot, error) {
	all := slices.Clone(a.Counters)
	bytes := func(c *trace.Counter) int {
		if strings.Contains(c.Counter, "bytes") || strings.Contains(c.Counter, "octets") {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b *trace.Counter) int {
		return cmp.Or(bytes(a)-bytes(b), cmp.Compare(b.Total, a.Total))
	})
	kind := bytes(all[0])
	all = slices.DeleteFunc(all, func(c *trace.Counter) bool { return bytes(c) != kind })
	all = all[:min(len(all), mostCounters)]
	most := 0.0
	for _, c := range all {
		for _, xy := range rates(a, c) {
			most = math.Max(most, xy.Y)
		}
	}
	unit, factor := "growth", 1.0
	if kind == 0 {
		unit, factor = unitOf(most)
	}
	p := newPlot(timeLabel, unit+"/s")
	p.Y.Min = 0
	p.Add(grid())
	used := map[int]int{}
	for _, c := range all {
		xys := rates(a, c)
		for i := range xys {
			xys[i].Y /= factor
		}
		line, err := plotter.NewLine(xys)
		if err != nil {
			return nil, err
		}
		rail := railOf(a, c.Device)
		line.Color, line.Width, line.Dashes = railColour(rail, 0xff), vg.Points(1), dashes(used[rail])
		used[rail]++
		p.Add(line)
		name := c.Device + " " + c.Counter
		if len(a.Run.Hosts()) > 1 {
			name = c.Host + "/" + name
		}
		p.Legend.Add(name, line)
	}
	return p, nil
}

// railOf answers the rail of a device; one that there is not if it has none.
func railOf(a *trace.Analysis, device string) int {
	for i, r := range a.Rails {
		if strings.HasSuffix(r.Name, ":"+device) {
			return i
		}
	}
	return len(a.Rails)
}

// rates answers the growth per second, of so many bins together as for the rails.
func rates(a *trace.Analysis, c *trace.Counter) plotter.XYs {
	var xys plotter.XYs
	bin := 0
	for cells := range slices.Chunk(c.Cells.Cells(), coarse) {
		var sum trace.CounterCell
		for _, cell := range cells {
			sum.Delta, sum.Covered = sum.Delta+cell.Delta, sum.Covered+cell.Covered
		}
		if sum.Covered > 0 {
			xys = append(xys, plotter.XY{X: middle(a, bin, coarse), Y: sum.Rate()})
		}
		bin++
	}
	return xys
}
