package report

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"golnx/internal/trace"
	"golnx/internal/trace/synth"
)

// analysed makes up a run.
func analysed(t *testing.T, c synth.Config) *trace.Analysis {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, synth.Write(dir, c))
	run, err := trace.Open(dir)
	require.NoError(t, err)
	a, err := run.Analyse(t.Context(), nil, trace.Limits{})
	require.NoError(t, err)
	return a
}

// written makes a page of it and answers its path.
func written(t *testing.T, a *trace.Analysis) string {
	t.Helper()
	var page bytes.Buffer
	require.NoError(t, Write(&page, a))
	path := filepath.Join(t.TempDir(), "report.html")
	require.NoError(t, os.WriteFile(path, page.Bytes(), 0o644))
	return path
}

func TestInBrowser(t *testing.T) {
	b := newBrowser(t, 1400, 1000)
	a := analysed(t, synth.Config{Ops: 30_000})
	b.open(written(t, a))
	require.Equal(t, "shm+tcp", evaluate[string](b, `document.querySelector("h1").textContent`))
	for _, section := range []string{"operations", "shares", "counters", "latency", "ranks", "nics"} {
		require.Equal(t, 1, evaluate[int](b, `document.querySelectorAll("#`+section+` .u-wrap canvas").length`), section)
	}
	require.Equal(t, len(a.Summary), evaluate[int](b, `document.querySelectorAll("#summary tbody tr").length`))
	for i, r := range a.Rails {
		if r.Ops > 0 {
			for _, section := range []string{"operations", "shares", "latency"} {
				require.Greater(t, b.pixels(section, trace.Colour(i)), 100, "%s in %s", r.Name, section)
			}
		}
	}
	require.Greater(t, b.pixels("counters", trace.Colour(1)), 100)
	require.Greater(t, b.pixels("ranks", "#08285e"), 1000, "the cell with most traffic")
	require.Greater(t, b.pixels("nics", "#08285e"), 1000)
	b.noTrouble()

	t.Run("zoom", func(t *testing.T) {
		x, y, width := b.middle("shares")
		all := b.axes()
		b.run(
			chromedp.MouseEvent(chromedp.MouseMoved, x, y),
			chromedp.MouseEvent(chromedp.MousePressed, x, y, chromedp.ButtonLeft),
			chromedp.MouseEvent(chromedp.MouseMoved, x+width/8, y, chromedp.ButtonLeft),
			chromedp.MouseEvent(chromedp.MouseReleased, x+width/8, y, chromedp.ButtonLeft))
		require.Regexp(t, `^[\d.]+ ms from [\d.]+ ms$`, evaluate[string](b, `document.getElementById("range").textContent`))
		zoomed := b.axes()
		for i := range all {
			require.NotEqual(t, all[i], zoomed[i], "all time axes move")
		}
		b.run(click("#reset"))
		require.Equal(t, all, b.axes())
	})
	t.Run("rails", func(t *testing.T) {
		off := `button.rail[data-rail="` + a.Rails[0].Name + `"]`
		b.run(click(off))
		require.Zero(t, b.pixels("operations", trace.Colour(0)))
		require.Zero(t, b.pixels("shares", trace.Colour(0)))
		b.run(click(off))
		require.Greater(t, b.pixels("operations", trace.Colour(0)), 100)
	})
	t.Run("choices", func(t *testing.T) {
		for _, choice := range []struct{ id, value string }{
			{"#shares-view", "share"}, {"#shares-view", "ops"}, {"#latency-view", "tail"}, {"#latency-op", "read"},
			{"#ranks .unit", "ops"}, {"#nics .unit", "ops"},
		} {
			section, _, _ := strings.Cut(strings.TrimPrefix(choice.id, "#"), " ")
			section, _, _ = strings.Cut(section, "-")
			before := evaluate[string](b, `document.querySelector("#`+section+` canvas").toDataURL()`)
			evaluate[bool](b, `(() => { const s = document.querySelector("`+choice.id+`"); s.value = "`+choice.value+`"; return s.dispatchEvent(new Event("change")) })()`)
			require.NotEqual(t, before, evaluate[string](b, `document.querySelector("#`+section+` canvas").toDataURL()`), choice)
		}
		b.run(click("#counters-log"), click("#show-p50"), click("#show-p99"))
	})
	b.noTrouble()
}

func click(selector string) chromedp.Action[chromedp.Void] {
	return chromedp.Click(chromedp.CSS(selector))
}

// axes answers pictures of the time axes.
func (b *browser) axes() []string {
	return evaluate[[]string](b, `["operations", "shares", "counters"].map((id) => {
		const c = document.querySelector("#" + id + " canvas"), axis = document.createElement("canvas");
		axis.width = c.width;
		axis.height = 30;
		axis.getContext("2d").drawImage(c, 0, c.height - 30, c.width, 30, 0, 0, c.width, 30);
		return axis.toDataURL();
	})`)
}

// What files call things stays text, whatever it looks like.
func TestHostileNamesInBrowser(t *testing.T) {
	const hostile = `</script><img src="http://localhost/x" onerror="alert(1)"><script>alert(2)</script>'"{{7}}&amp;` + "\u2028"
	b := newBrowser(t, 1400, 1000)
	a := analysed(t, synth.Config{Ops: 1000, Suffix: hostile})
	path := written(t, a)
	b.open(path)
	require.Equal(t, "shm+tcp"+hostile, evaluate[string](b, `document.querySelector("h1").textContent`))
	require.Zero(t, evaluate[int](b, `document.querySelectorAll("img").length`))
	require.Equal(t, 3, evaluate[int](b, `document.scripts.length`))
	require.Equal(t, 6, evaluate[int](b, `document.querySelectorAll(".u-wrap canvas").length`), "all charts are drawn")

	x, y, width := b.middle("ranks")
	b.run(chromedp.MouseEvent(chromedp.MouseMoved, x+width/8, y+width/8)) // off the diagonal's cells
	x, y, width = b.middle("nics")
	for i := 0; i < 40 && evaluate[bool](b, `document.getElementById("tip").hidden`); i++ {
		b.run(chromedp.MouseEvent(chromedp.MouseMoved, x-width/2+width*float64(i)/40, y))
	}
	require.Contains(t, evaluate[string](b, `document.getElementById("tip").textContent`), hostile)
	b.noTrouble()
}

func TestExtremesInBrowser(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, synth.Extremes(dir))
	run, err := trace.Open(dir)
	require.NoError(t, err)
	a, err := run.Analyse(t.Context(), nil, trace.Limits{})
	require.NoError(t, err)
	b := newBrowser(t, 800, 600)
	b.open(written(t, a))
	require.Equal(t, 6, evaluate[int](b, `document.querySelectorAll(".u-wrap canvas").length`))
	b.noTrouble()
}

// What the tests above look for is seen where it is.
func TestTroubleInBrowser(t *testing.T) {
	b := newBrowser(t, 800, 600)
	path := filepath.Join(t.TempDir(), "bad.html")
	require.NoError(t, os.WriteFile(path, []byte(`<link rel="stylesheet" href="file:///none.css"><script>console.error("oh"); throw Error("no")</script>`), 0o644))
	b.open(path)
	b.mu.Lock()
	defer b.mu.Unlock()
	all := strings.Join(b.troubles, "\n")
	for _, want := range []string{"request: file:///none.css", `console: error "oh"`, "exception: Uncaught Error: no"} {
		require.Contains(t, all, want)
	}
}

func TestEmptyTraceInBrowser(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ops_rank0.csv"), nil, 0o644))
	run, err := trace.Open(dir)
	require.NoError(t, err)
	a, err := run.Analyse(t.Context(), nil, trace.Limits{})
	require.NoError(t, err)
	b := newBrowser(t, 800, 600)
	b.open(written(t, a))
	require.Contains(t, evaluate[string](b, `document.querySelector("#empty").textContent`), "No operations")
	require.Contains(t, evaluate[string](b, `document.querySelector("#notes").textContent`), "the last line is cut off")
	b.noTrouble()
}

// The page's size does not grow with the trace.
func TestSize(t *testing.T) {
	a := analysed(t, synth.Config{Ops: 300_000})
	var page bytes.Buffer
	require.NoError(t, Write(&page, a))
	require.Less(t, page.Len(), 3<<20)
	require.LessOrEqual(t, len(a.Points), trace.DefaultLimits.Points)
	require.NotContains(t, page.String(), "http-equiv=\"refresh\"")
}

// The library is the one that the page was written for, and brings its licence's
// notice with it.
func TestLibrary(t *testing.T) {
	script, style, err := library()
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(script, "/*! https://github.com/leeoniya/uPlot (v1.6."), script[:80])
	require.NotContains(t, strings.ToLower(script), "</script")
	require.Contains(t, style, ".uplot")
}

// TestPicture takes a picture of the upper part of a report, small enough for a README.
// With -picture it stays, for people to look at.
func TestPicture(t *testing.T) {
	b := newBrowser(t, 1400, 1636)
	b.open(written(t, analysed(t, synth.Config{Ops: 250_000})))
	b.run(chromedp.MouseEvent(chromedp.MouseMoved, 800, 870), chromedp.MouseEvent(chromedp.MouseMoved, 804, 873))
	shot, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	require.NoError(t, err)
	img, err := png.Decode(bytes.NewReader(shot))
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, fewColours(img)))
	require.Less(t, out.Len(), 300<<10, "bytes")
	if *picture != "" {
		require.NoError(t, os.WriteFile(*picture, out.Bytes(), 0o644))
	}
	b.noTrouble()
}

// fewColours answers an image with the 256 colours that are there most, which takes a
// third of the bytes.
func fewColours(img image.Image) image.Image {
	counts := map[color.RGBA]int{}
	area := img.Bounds()
	each := func(f func(x, y int, c color.RGBA)) {
		for y := area.Min.Y; y < area.Max.Y; y++ {
			for x := area.Min.X; x < area.Max.X; x++ {
				f(x, y, color.RGBAModel.Convert(img.At(x, y)).(color.RGBA))
			}
		}
	}
	each(func(_, _ int, c color.RGBA) { counts[c]++ })
	var palette color.Palette
	for _, c := range slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int { return counts[b] - counts[a] }) {
		if len(palette) < 256 {
			palette = append(palette, c)
		}
	}
	out, nearest := image.NewPaletted(area, palette), map[color.RGBA]uint8{}
	each(func(x, y int, c color.RGBA) {
		i, ok := nearest[c]
		if !ok {
			i = uint8(palette.Index(c))
			nearest[c] = i
		}
		out.SetColorIndex(x, y, i)
	})
	return out
}
