package plot

import (
	"bytes"
	"encoding/xml"
	"flag"
	"image"
	"image/draw"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/internal/trace"
	"golnx/internal/trace/synth"
)

var pictures = flag.String("pictures", "", "a directory where TestFigures leaves the figures")

func analysed(t *testing.T, c synth.Config) *trace.Analysis {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, synth.Write(dir, c))
	run, err := trace.Open(dir)
	require.NoError(t, err)
	a, err := run.Analyse(t.Context(), nil, Limits)
	require.NoError(t, err)
	return a
}

func TestFigures(t *testing.T) {
	a := analysed(t, synth.Config{Ops: 5000})
	figures, err := Figures(a)
	require.NoError(t, err)
	var names []string
	for _, f := range figures {
		names = append(names, f.Name)
		for _, format := range Formats {
			var out bytes.Buffer
			require.NoError(t, f.Write(&out, format))
			if *pictures != "" {
				require.NoError(t, os.WriteFile(filepath.Join(*pictures, f.Name+"."+format), out.Bytes(), 0o644))
			}
			require.Less(t, out.Len(), 4<<20, f.Name)
			switch format {
			case "png":
				checkPNG(t, f.Name, &out)
			case "svg":
				checkSVG(t, &out)
			}
		}
	}
	require.Equal(t, []string{"durations", "rails", "shares", "counters", "latency", "ranks", "nics"}, names)
	require.ErrorContains(t, figures[0].Write(io.Discard, "gif"), `there is no format "gif"`)
}

// checkPNG looks for what a figure shows: many pixels in the colours of every rail, or
// in the darkest of a matrix.
func checkPNG(t *testing.T, name string, in io.Reader) {
	t.Helper()
	img, err := png.Decode(in)
	require.NoError(t, err)
	pixels := image.NewNRGBA(img.Bounds())
	draw.Draw(pixels, img.Bounds(), img, image.Point{}, draw.Src)
	want := []string{trace.Colour(0), trace.Colour(1), trace.Colour(2)}
	switch name {
	case "counters":
		want = want[1:]
	case "ranks", "nics":
		want = []string{"#08285e"}
	}
	for _, c := range want {
		rgb, n := parse(c, 0xff), 0
		for p := pixels.Pix; len(p) > 0; p = p[4:] {
			if p[0] == rgb.R && p[1] == rgb.G && p[2] == rgb.B {
				n++
			}
		}
		require.Greater(t, n, 200, "%s in %s", c, name)
	}
}

// checkSVG looks for an SVG that is well formed.
func checkSVG(t *testing.T, in io.Reader) (text string) {
	t.Helper()
	d := xml.NewDecoder(in)
	root := ""
	for {
		token, err := d.Token()
		if err == io.EOF {
			require.Equal(t, "svg", root)
			return text
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			require.NotEqual(t, "script", token.Name.Local)
			if root == "" {
				root = token.Name.Local
			}
		case xml.CharData:
			text += string(token)
		}
	}
}

// What files call things stays text.
func TestHostileNames(t *testing.T) {
	const hostile = `</text><script>alert(1)</script>&"'`
	figures, err := Figures(analysed(t, synth.Config{Ops: 500, Suffix: hostile}))
	require.NoError(t, err)
	for _, f := range figures {
		var out bytes.Buffer
		require.NoError(t, f.Write(&out, "svg"))
		text := checkSVG(t, &out)
		if f.Name == "latency" {
			require.Contains(t, text, "eth0"+hostile)
		}
	}
}

func TestEmptyTrace(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ops_rank0.csv"), nil, 0o644))
	run, err := trace.Open(dir)
	require.NoError(t, err)
	a, err := run.Analyse(t.Context(), nil, Limits)
	require.NoError(t, err)
	figures, err := Figures(a)
	require.NoError(t, err)
	require.Empty(t, figures)
}

func TestExtremes(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, synth.Extremes(dir))
	run, err := trace.Open(dir)
	require.NoError(t, err)
	a, err := run.Analyse(t.Context(), nil, Limits)
	require.NoError(t, err)
	figures, err := Figures(a)
	require.NoError(t, err)
	require.Len(t, figures, 7)
	for _, f := range figures {
		for _, format := range Formats {
			require.NoError(t, f.Write(io.Discard, format), f.Name)
		}
	}
}

// One operation that took no time is a figure, too.
func TestOneOperation(t *testing.T) {
	dir := t.TempDir()
	text := "start_ns,end_ns,op,bytes,link,tag,status\n5000,5000,tsend,0,0,0x0,0\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ops_rank0.csv"), []byte(text), 0o644))
	run, err := trace.Open(dir)
	require.NoError(t, err)
	a, err := run.Analyse(t.Context(), nil, Limits)
	require.NoError(t, err)
	figures, err := Figures(a)
	require.NoError(t, err)
	for _, f := range figures {
		for _, format := range Formats {
			var out strings.Builder
			require.NoError(t, f.Write(&out, format), f.Name)
		}
	}
}
