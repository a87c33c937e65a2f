package plot

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"golnx/internal/trace"
)

const (
	stepsPerDecade = 10
	mostPaths      = 12
)

// latency has how the durations of each path are distributed.
func latency(a *trace.Analysis) (*plot.Plot, error) {
	p := newPlot("duration", "share of operations [%]")
	p.Y.Min = 0
	p.Add(grid())
	used := map[color.NRGBA]int{}
	for _, path := range busiest(a) {
		counts, sum := map[int]float64{}, 0.0
		for _, r := range a.Summary {
			if r.Path != path {
				continue
			}
			for _, b := range r.Distribution() {
				counts[step(float64(b.From+b.To)/2)] += float64(b.Count)
				sum += float64(b.Count)
			}
		}
		var xys plotter.XYs
		first, last := math.MaxInt, math.MinInt
		for k := range counts {
			first, last = min(first, k), max(last, k)
		}
		for k := first - 1; k <= last+1; k++ {
			xys = append(xys, plotter.XY{X: math.Pow(10, (float64(k)+0.5)/stepsPerDecade), Y: 100 * counts[k] / sum})
		}
		line, err := plotter.NewLine(xys)
		if err != nil {
			return nil, err
		}
		c := pathColour(a, path)
		line.Color, line.Width, line.Dashes = c, vg.Points(1), dashes(used[c])
		used[c]++
		p.Add(line)
		p.Legend.Add(path.String(), line)
	}
	logarithmic(&p.X)
	return p, nil
}

func step(ns float64) int { return int(math.Floor(math.Log10(math.Max(ns, 1)) * stepsPerDecade)) }

// busiest answers the paths that had most operations.
func busiest(a *trace.Analysis) []*trace.Path {
	counts := map[*trace.Path]int64{}
	for _, r := range a.Summary {
		counts[r.Path] += r.Count
	}
	var paths []*trace.Path
	for p := range counts {
		paths = append(paths, p)
	}
	slices.SortFunc(paths, func(a, b *trace.Path) int {
		if counts[a] != counts[b] {
			return int(min(1, max(-1, counts[b]-counts[a])))
		}
		return a.ID - b.ID
	})
	paths = paths[:min(len(paths), mostPaths)]
	slices.SortFunc(paths, func(a, b *trace.Path) int { return a.ID - b.ID })
	return paths
}

// matrix is a heat map of bytes, as large as its labels want it.
func matrix(m *trace.Matrix, what string) (*plot.Plot, vg.Length, error) {
	n := len(m.Labels)
	most := 1.0
	for _, c := range m.Cells {
		most = math.Max(most, float64(c.Bytes))
	}
	p := newPlot("to "+what, "from "+what)
	values := make([]float64, n*n)
	for i := range values {
		values[i] = math.NaN()
	}
	for _, c := range m.Cells {
		// A square root brings out what is small beside what is large.
		values[c.From*n+c.To] = math.Sqrt(float64(c.Bytes) / most)
	}
	heat := plotter.NewHeatMap(square{n, values}, blues{})
	heat.Min, heat.Max, heat.NaN = 0, 1, color.NRGBA{0xf4, 0xf6, 0xf9, 0xff}
	p.Add(heat)
	if n <= mostNumbers {
		labels, err := numbers(m)
		if err != nil {
			return nil, 0, err
		}
		p.Add(labels)
	}
	every := (n + 31) / 32
	p.X.Tick.Marker, p.Y.Tick.Marker = nominal(m.Labels, every, false), nominal(m.Labels, every, true)
	p.X.Tick.Label.Rotation = math.Pi / 2
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YCenter
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Min, axis.Max = -0.5, float64(n)-0.5
		axis.Padding, axis.LineStyle.Width = vg.Points(6), 0
	}
	return p, max(9*vg.Centimeter, min(17*vg.Centimeter, vg.Length(n)*1.6*vg.Centimeter)), nil
}

// mostNumbers is how many rows a matrix may have for its cells to have room for text.
const mostNumbers = 10

func numbers(m *trace.Matrix) (*plotter.Labels, error) {
	var all plotter.XYLabels
	n, most := len(m.Labels), int64(1)
	for _, c := range m.Cells {
		all.XYs = append(all.XYs, plotter.XY{X: float64(c.To), Y: float64(n - 1 - c.From)})
		all.Labels = append(all.Labels, trace.FormatBytes(float64(c.Bytes)))
		most = max(most, c.Bytes)
	}
	labels, err := plotter.NewLabels(all)
	if err != nil {
		return nil, err
	}
	for i, c := range m.Cells {
		style := &labels.TextStyle[i]
		style.Font, style.XAlign, style.YAlign = sans(7), draw.XCenter, draw.YCenter
		style.Color = ink
		if math.Sqrt(float64(c.Bytes)/float64(most)) > 0.5 {
			style.Color = color.White
		}
	}
	return labels, nil
}

// nominal labels rows or columns; rows count from the top.
func nominal(labels []string, every int, fromTop bool) plot.ConstantTicks {
	var ticks plot.ConstantTicks
	for i := 0; i < len(labels); i += every {
		at := i
		if fromTop {
			at = len(labels) - 1 - i
		}
		ticks = append(ticks, plot.Tick{Value: float64(at), Label: cut(labels[i])})
	}
	return ticks
}

// cut leaves as much of a label as there is room for.
func cut(label string) string {
	const most = 24
	if r := []rune(label); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return label
}

// square is a matrix as a heat map wants it: rows count from the bottom.
type square struct {
	n      int
	values []float64
}

func (s square) Dims() (c, r int)   { return s.n, s.n }
func (s square) X(c int) float64    { return float64(c) }
func (s square) Y(r int) float64    { return float64(r) }
func (s square) Z(c, r int) float64 { return s.values[(s.n-1-r)*s.n+c] }

// blues are the colours of a heat map, pale to dark.
type blues struct{}

func (blues) Colors() []color.Color {
	stops := [][3]float64{{237, 244, 250}, {158, 202, 225}, {33, 113, 181}, {8, 40, 94}}
	const shades = 128
	var all []color.Color
	for i := range shades {
		at := float64(i) / (shades - 1) * float64(len(stops)-1)
		k := min(int(at), len(stops)-2)
		mix := func(c int) uint8 { return uint8(stops[k][c] + (stops[k+1][c]-stops[k][c])*(at-float64(k))) }
		all = append(all, color.NRGBA{mix(0), mix(1), mix(2), 0xff})
	}
	return all
}
