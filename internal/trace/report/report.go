// Package report makes one HTML page of a recorded run that needs nothing but a
// browser: its charts, the library that draws them, and what is drawn.
package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"golnx/internal/trace"
)

var (
	//go:embed page/page.html
	pageHTML string
	//go:embed page/page.css
	pageCSS string
	//go:embed page/format.js
	formatJS string
	//go:embed page/chart.js
	chartJS string
	//go:embed page/time.js
	timeJS string
	//go:embed page/other.js
	otherJS string
)

// Names and addresses come from files that anybody may have written: html/template
// escapes them wherever they stand, the data for the scripts too, and the scripts put
// them into the page as text.
var page = template.Must(template.New("page").Parse(pageHTML))

// mostRows is how many rows of the summary the page has.
const mostRows = 200

// Write writes the page.
func Write(w io.Writer, a *trace.Analysis) error {
	script, style, err := library()
	if err != nil {
		return err
	}
	own := strings.Join([]string{"\"use strict\";\n(() => {\n", formatJS, chartJS, timeJS, otherJS, "})();\n"}, "")
	v := view{
		Policy:  policy([]string{script, own}, []string{style, pageCSS}),
		Scripts: []template.JS{template.JS(script), template.JS(own)},
		Styles:  []template.CSS{template.CSS(style), template.CSS(pageCSS)},
		Title:   title(a), Facts: facts(a), Rows: rows(a), Notes: a.Run.Notes(), Rails: rails(a),
		Colours: len(a.Rails) > 0, Sampled: int64(len(a.Points)) < a.Ops, Points: len(a.Points),
		Bin: trace.FormatDuration(a.Line.Width()), Data: newData(a),
	}
	if left := len(v.Rows) - mostRows; left > 0 {
		v.Rows = v.Rows[:mostRows]
		v.Notes = append(v.Notes, fmt.Sprintf("The table of links leaves out %d rows: lnx trace summary prints them all.", left))
	}
	return page.Execute(w, v)
}

// policy forbids the page everything but its own scripts and styles: it reaches no
// network, and text in it that looks like a script does not run.
func policy(scripts, styles []string) string {
	return fmt.Sprintf("default-src 'none'; img-src data:; script-src %s; style-src %s", hashes(scripts), hashes(styles))
}

func hashes(texts []string) string {
	var all []string
	for _, t := range texts {
		sum := sha256.Sum256([]byte(t))
		all = append(all, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	return strings.Join(all, " ")
}

// view is what the page's template shows.
type view struct {
	Policy  string
	Scripts []template.JS
	Styles  []template.CSS
	Title   string
	Facts   []fact
	Rows    []row
	Rails   []railName
	Notes   []string
	Colours bool
	Sampled bool
	Points  int
	Bin     string
	Data    data
}

type fact struct{ Name, Value string }

type railName struct{ Name, Colour string }

// row is a row of the summary table.
type row struct {
	Colour, Rail, From, To, Op, Count, Failed, Bytes, P50, P99, Max string
}

// title says what was run.
func title(a *trace.Analysis) string {
	name := strings.Join(a.Run.Names(), ", ")
	if name == "" {
		name = "Trace"
	}
	return name
}

func facts(a *trace.Analysis) []fact {
	ranks := fmt.Sprint(len(a.Run.Ranks))
	switch hosts := a.Run.Hosts(); len(hosts) {
	case 0:
	case 1:
		ranks += " on " + hosts[0]
	default:
		ranks += fmt.Sprintf(" on %d hosts", len(hosts))
	}
	all := []fact{{"ranks", ranks}, {"operations", trace.FormatCount(a.Ops)}}
	if a.Ops > 0 {
		seconds := float64(max(a.End-a.Start, 1)) / 1e9
		all = append(all,
			fact{"data", trace.FormatBytes(float64(a.Bytes))},
			fact{"mean rate", trace.FormatBytes(float64(a.Bytes)/seconds) + "/s"},
			fact{"from first to last", trace.FormatDuration(a.End - a.Start)},
			fact{"began", time.Unix(0, a.Start).UTC().Format("2006-01-02 15:04:05 UTC")})
	}
	if a.Failed > 0 {
		all = append(all, fact{"failed", trace.FormatCount(a.Failed)})
	}
	return all
}

func rows(a *trace.Analysis) []row {
	var all []row
	for _, r := range a.Summary {
		v := row{
			Colour: a.ColourOf(r.Path), Rail: r.Path.Rail, From: r.Path.From, To: r.Path.To, Op: r.Op,
			Count: trace.FormatCount(r.Count), Bytes: trace.FormatBytes(float64(r.Bytes)),
			P50: trace.FormatDuration(r.Percentile(50)), P99: trace.FormatDuration(r.Percentile(99)), Max: trace.FormatDuration(r.Max),
		}
		if r.Failed > 0 {
			v.Failed = trace.FormatCount(r.Failed)
		}
		all = append(all, v)
	}
	return all
}

func rails(a *trace.Analysis) []railName {
	var all []railName
	for i, r := range a.Rails {
		if r.Ops > 0 {
			all = append(all, railName{r.Name, trace.Colour(i)})
		}
	}
	return all
}
