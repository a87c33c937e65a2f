package main

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golnx/cmd/lnx/ui"
	"golnx/internal/trace"
	"golnx/internal/trace/db"
	"golnx/internal/trace/perfetto"
	"golnx/internal/trace/plot"
	tracereport "golnx/internal/trace/report"
)

// traceCmd shows what the op timer recorded.
type traceCmd struct {
	Summary  traceSummaryCmd  `cmd:"" help:"Print a table: how many operations of each kind each link had, how many bytes, and how long they took."`
	Report   traceReportCmd   `cmd:"" help:"Write one HTML page with charts, which needs nothing but a browser."`
	Perfetto tracePerfettoCmd `cmd:"" help:"Write a trace for Perfetto or chrome://tracing."`
	DB       traceDBCmd       `cmd:"" name:"db" help:"Write one SQLite database with every operation and counter value."`
	Plot     tracePlotCmd     `cmd:"" help:"Write figures for papers, as PNG and SVG."`
}

// traceInput is what all of them read.
type traceInput struct {
	Dir string `arg:"" type:"existingdir" help:"A directory with the files of one rank or many (INTERCEPT_TIMER_DIR)."`
}

// open reads what is small of the directory.
func (in *traceInput) open(a *app) (*trace.Run, error) {
	run, err := trace.Open(in.Dir)
	if err == nil {
		a.note("reads %d ranks with %d links", len(run.Ranks), len(run.Paths))
	}
	return run, err
}

// reading shows how far reading is; the answer ends the display. It is for one pass
// over the operations, and over the rest if all is read.
func reading(a *app, run *trace.Run, all bool) (*trace.Progress, func()) {
	p := new(trace.Progress)
	size, others := run.Size()
	if all {
		size += others
	}
	return p, ui.Progress(a.err, "reading", max(size, 1), p.Done)
}

// tellNotes tells what is wrong with the files.
func tellNotes(a *app, run *trace.Run) {
	for _, n := range run.Notes() {
		a.print("note: " + printable(n))
	}
}

type traceSummaryCmd struct {
	traceInput
	Ranks bool `help:"A row for each pair of ranks, too."`
	JSON  bool `name:"json" help:"Print one JSON object a row."`
}

// Run prints the table.
func (c *traceSummaryCmd) Run(a *app) error {
	run, err := c.open(a)
	if err != nil {
		return err
	}
	p, stop := reading(a, run, false)
	rows, err := run.Summarise(a.ctx, p, c.Ranks)
	stop()
	if err != nil {
		return err
	}
	tellNotes(a, run)
	if c.JSON {
		return c.printJSON(a, rows)
	}
	return c.printTable(a, run, rows)
}

// traceRow is a row as JSON.
type traceRow struct {
	Rail      string `json:"rail"`
	LocalNIC  string `json:"local_nic"`
	RemoteNIC string `json:"remote_nic"`
	Rank      *int   `json:"rank,omitempty"`
	Peer      *int   `json:"peer,omitempty"`
	Op        string `json:"op"`
	Count     int64  `json:"count"`
	Failed    int64  `json:"failed"`
	Bytes     int64  `json:"bytes"`
	P50       int64  `json:"p50_ns"`
	P99       int64  `json:"p99_ns"`
	Max       int64  `json:"max_ns"`
}

func (c *traceSummaryCmd) printJSON(a *app, rows []*trace.Row) error {
	out := json.NewEncoder(a.out)
	for _, r := range rows {
		row := traceRow{
			Rail: r.Path.Rail, LocalNIC: r.Path.From, RemoteNIC: r.Path.To, Op: r.Op,
			Count: r.Count, Failed: r.Failed, Bytes: r.Bytes, P50: r.Percentile(50), P99: r.Percentile(99), Max: r.Max,
		}
		if c.Ranks {
			row.Rank = &r.Rank
			if r.Peer != trace.Unknown {
				row.Peer = &r.Peer
			}
		}
		if err := out.Encode(row); err != nil {
			return err
		}
	}
	return nil
}

func (c *traceSummaryCmd) printTable(a *app, run *trace.Run, rows []*trace.Row) error {
	t := ui.NewTable(fmt.Sprintf("%s, %d ranks", orDash(printable(strings.Join(run.Names(), ", "))), len(run.Ranks)),
		"count", "failed", "bytes", "p50", "p99", "max")
	head := []any{"rail", "from NIC", "to NIC"}
	if c.Ranks {
		head = append(head, "rank", "peer")
	}
	t.AppendHeader(append(head, "operation", "count", "failed", "bytes", "p50", "p99", "max"))
	for _, r := range rows {
		row := []any{printable(r.Path.Rail), printable(r.Path.From), printable(r.Path.To)}
		if c.Ranks {
			row = append(row, r.Rank, peerName(r.Peer))
		}
		t.AppendRow(append(row, printable(r.Op), trace.FormatCount(r.Count), trace.FormatCount(r.Failed), trace.FormatBytes(float64(r.Bytes)),
			trace.FormatDuration(r.Percentile(50)), trace.FormatDuration(r.Percentile(99)), trace.FormatDuration(r.Max)))
	}
	return ui.Print(a.out, t)
}

// printable leaves nothing in a name from a file that a terminal would obey.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return '�'
		}
		return r
	}, name)
}

func peerName(peer int) string {
	if peer == trace.Unknown {
		return "?"
	}
	return fmt.Sprint(peer)
}

type traceReportCmd struct {
	traceInput
	Output string `short:"o" default:"report.html" placeholder:"FILE" help:"The page. Without it, report.html."`
}

// Run writes the page.
func (c *traceReportCmd) Run(a *app) error {
	run, err := c.open(a)
	if err != nil {
		return err
	}
	p, stop := reading(a, run, true)
	analysis, err := run.Analyse(a.ctx, p, trace.DefaultLimits)
	stop()
	if err != nil {
		return err
	}
	tellNotes(a, run)
	err = replaceFile(a, c.Output, func(w io.Writer) error { return tracereport.Write(w, analysis) })
	return wrote(a, c.Output, err)
}

type tracePerfettoCmd struct {
	traceInput
	Output string `short:"o" default:"trace.json.gz" placeholder:"FILE" help:"The trace, compressed if its name ends in .gz. Without it, trace.json.gz."`
}

// Run writes the trace.
func (c *tracePerfettoCmd) Run(a *app) error {
	run, err := c.open(a)
	if err != nil {
		return err
	}
	err = replaceFile(a, c.Output, func(w io.Writer) error {
		p, stop := reading(a, run, true)
		defer stop()
		if !strings.HasSuffix(c.Output, ".gz") {
			return perfetto.Write(a.ctx, run, w, p)
		}
		z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
		if err != nil {
			return err
		}
		return errors.Join(perfetto.Write(a.ctx, run, z, p), z.Close())
	})
	tellNotes(a, run)
	return wrote(a, c.Output, err)
}

type traceDBCmd struct {
	traceInput
	Output string `short:"o" default:"trace.db" placeholder:"FILE" help:"The database. Without it, trace.db."`
}

// Run writes the database.
func (c *traceDBCmd) Run(a *app) error {
	run, err := c.open(a)
	if err != nil {
		return err
	}
	err = replace(a, c.Output, func(path string) error {
		p, stop := reading(a, run, true)
		defer stop()
		return db.Write(a.ctx, run, path, p)
	})
	tellNotes(a, run)
	return wrote(a, c.Output, err)
}

type tracePlotCmd struct {
	traceInput
	Output string   `short:"o" default:"plots" placeholder:"DIR" help:"Where to put the figures. Without it, plots."`
	Format []string `default:"png,svg" enum:"png,svg" help:"What to write: png, svg or both."`
}

// Run writes the figures.
func (c *tracePlotCmd) Run(a *app) error {
	run, err := c.open(a)
	if err != nil {
		return err
	}
	p, stop := reading(a, run, true)
	analysis, err := run.Analyse(a.ctx, p, plot.Limits)
	stop()
	if err != nil {
		return err
	}
	tellNotes(a, run)
	figures, err := plot.Figures(analysis)
	if err != nil {
		return err
	}
	if len(figures) == 0 {
		return fmt.Errorf("%s has no operations to draw", c.Dir)
	}
	if err := os.MkdirAll(c.Output, 0o755); err != nil {
		return err
	}
	for _, f := range figures {
		for _, format := range c.Format {
			path := filepath.Join(c.Output, f.Name+"."+format)
			if err := replaceFile(a, path, func(w io.Writer) error { return f.Write(w, format) }); err != nil {
				return err
			}
		}
	}
	return wrote(a, fmt.Sprintf("%d figures in %s", len(figures), c.Output), nil)
}

// wrote tells what was written, if it was.
func wrote(a *app, what string, err error) error {
	if err == nil {
		a.print("wrote " + what)
	}
	return err
}
