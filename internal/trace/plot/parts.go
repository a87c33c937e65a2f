package plot

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"golnx/internal/trace"
)

// durationTicks are at powers of ten, and at 2 and 5 times them if there are few.
type durationTicks struct{}

func (durationTicks) Ticks(low, high float64) []plot.Tick {
	low, high = math.Max(low, shortest), math.Min(math.Max(high, shortest), longest)
	first, last := int(math.Floor(math.Log10(low))), int(math.Ceil(math.Log10(high)))
	steps := []float64{1}
	if last-first <= 2 {
		steps = []float64{1, 2, 5}
	}
	var ticks []plot.Tick
	for k := first; k <= last; k++ {
		for _, step := range steps {
			if v := step * math.Pow(10, float64(k)); v >= low && v <= high {
				ticks = append(ticks, plot.Tick{Value: v, Label: trace.FormatDuration(int64(math.Round(v)))})
			}
		}
	}
	return ticks
}

// shortest and longest are what a duration's axis can show, in ns.
const shortest, longest = 0.5, 1e19

// logarithmic makes an axis one of durations, at least from half to twice the only one
// that there may be.
func logarithmic(axis *plot.Axis) {
	axis.Scale, axis.Tick.Marker = plot.LogScale{}, durationTicks{}
	if axis.Min >= axis.Max {
		axis.Min, axis.Max = axis.Min/2, axis.Max*2
	}
	axis.Min = math.Max(axis.Min, shortest)
}

// unitOf answers the unit in which to write numbers of bytes up to this one.
func unitOf(most float64) (unit string, factor float64) {
	factor = 1
	for _, unit := range []string{"B", "KiB", "MiB", "GiB"} {
		if most < 1024*factor {
			return unit, factor
		}
		factor *= 1024
	}
	return "TiB", factor
}

func grid() *plotter.Grid {
	g := plotter.NewGrid()
	g.Vertical.Color, g.Horizontal.Color = pale, pale
	return g
}

// swatch is a legend's entry for an area.
type swatch struct{ color.Color }

// Thumbnail draws it.
func (s swatch) Thumbnail(c *draw.Canvas) {
	c.FillPolygon(s.Color, []vg.Point{{X: c.Min.X, Y: c.Min.Y}, {X: c.Max.X, Y: c.Min.Y}, {X: c.Max.X, Y: c.Max.Y}, {X: c.Min.X, Y: c.Max.Y}})
}
