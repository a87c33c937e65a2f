// Package plot draws a recorded run as figures for papers, as PNG and SVG.
package plot

import (
	"fmt"
	"image/color"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"golnx/internal/trace"
)

// Figure is one figure of a run.
type Figure struct {
	// Name is what a file with it is called, without suffix.
	Name          string
	width, height vg.Length
	plot          *plot.Plot
	legend        plot.Legend // beside the plot, where it hides nothing
}

// Limits are what figures need of an analysis: fewer points than a page, because
// nobody zooms into paper, and SVG has an element for each.
var Limits = trace.Limits{Bins: 512, Points: 12_000}

const (
	width  = 17 * vg.Centimeter // of a page's text
	height = 8 * vg.Centimeter
)

// Figures draws all figures that the run has something for.
func Figures(a *trace.Analysis) ([]Figure, error) {
	var all []Figure
	for _, f := range []struct {
		name string
		draw func(*trace.Analysis) (*plot.Plot, error)
		skip bool
	}{
		{"durations", durations, a.Ops == 0},
		{"rails", rails, a.Ops == 0},
		{"shares", shares, a.Ops == 0},
		{"counters", counters, len(a.Counters) == 0},
		{"latency", latency, a.Ops == 0},
	} {
		if f.skip {
			continue
		}
		p, err := f.draw(a)
		if err != nil {
			return nil, fmt.Errorf("draw %s: %w", f.name, err)
		}
		legend := p.Legend
		p.Legend = plot.NewLegend()
		all = append(all, Figure{f.name, width, height, p, legend})
	}
	for _, m := range []struct {
		name, what string
		matrix     *trace.Matrix
	}{{"ranks", "rank", a.ByRank}, {"nics", "NIC", a.ByNIC}} {
		if len(m.matrix.Cells) == 0 {
			continue
		}
		p, side, err := matrix(m.matrix, m.what)
		if err != nil {
			return nil, fmt.Errorf("draw %s: %w", m.name, err)
		}
		all = append(all, Figure{m.name, side, side, p, plot.NewLegend()})
	}
	return all, nil
}

// Formats are the formats that a figure can be written in, by the suffixes of their
// files.
var Formats = []string{"png", "svg"}

// dpi is fine enough for print.
const dpi = 200

// Write writes the figure in one of Formats.
func (f *Figure) Write(w io.Writer, format string) error {
	var canvas interface {
		vg.CanvasSizer
		io.WriterTo
	}
	switch format {
	case "png":
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(f.width, f.height), vgimg.UseDPI(dpi))}
	case "svg":
		canvas = vgsvg.New(f.width, f.height)
	default:
		return fmt.Errorf("there is no format %q: there are %v", format, Formats)
	}
	f.draw(draw.New(canvas))
	_, err := canvas.WriteTo(w)
	return err
}

func (f *Figure) draw(c draw.Canvas) {
	size := f.legend.Rectangle(c)
	room := size.Max.X - size.Min.X
	if room > 0 {
		room += vg.Points(8)
		f.legend.Draw(draw.Crop(c, c.Max.X-c.Min.X-room, 0, 0, 0))
	}
	f.plot.Draw(draw.Crop(c, vg.Points(4), -room-vg.Points(6), vg.Points(2), -vg.Points(6)))
}

var (
	ink  = color.NRGBA{0x1c, 0x24, 0x30, 0xff}
	soft = color.NRGBA{0x5b, 0x66, 0x75, 0xff}
	pale = color.NRGBA{0xe3, 0xe7, 0xed, 0xff}
)

// newPlot makes a plot with the fonts and lines of all figures.
func newPlot(x, y string) *plot.Plot {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = x, y
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font = sans(9)
		axis.Label.TextStyle.Color = ink
		axis.Tick.Label.Font = sans(8)
		axis.Tick.Label.Color = ink
		axis.LineStyle.Color, axis.Tick.LineStyle.Color = soft, soft
		axis.Label.Padding = vg.Points(4)
	}
	p.Legend.TextStyle.Font = sans(8)
	p.Legend.TextStyle.Color = ink
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.ThumbnailWidth, p.Legend.Padding = vg.Points(14), vg.Points(2)
	return p
}

func sans(size float64) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(size)}
}

// railColour answers a rail's colour as in the report.
func railColour(rail int, alpha uint8) color.NRGBA { return parse(trace.Colour(rail), alpha) }

func pathColour(a *trace.Analysis, p *trace.Path) color.NRGBA { return parse(a.ColourOf(p), 0xff) }

func parse(rrggbb string, alpha uint8) color.NRGBA {
	c := color.NRGBA{A: alpha}
	_, _ = fmt.Sscanf(rrggbb, "#%02x%02x%02x", &c.R, &c.G, &c.B) // of Colour, so it is right
	return c
}

// dashes tell lines of one colour apart.
func dashes(n int) []vg.Length {
	return [][]vg.Length{nil, {vg.Points(4), vg.Points(2)}, {vg.Points(1.5), vg.Points(1.5)}, {vg.Points(6), vg.Points(2), vg.Points(1), vg.Points(2)}}[n%4]
}
