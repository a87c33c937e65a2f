package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"golnx/cmd/lnx/bench"
	"golnx/cmd/lnx/ui"
)

// report is one line of results.
type report struct {
	bench.Params
	links  string // as asked for
	link   string // as opened
	result bench.Result
	// percentiles says that they are wanted.
	percentiles bool
}

// field is a part of a report by its name in JSON.
type field struct {
	key   string
	value any
}

// fields answers them in order: what was run, what was measured, and which rails
// carried it.
func (r report) fields() []field {
	all := []field{{"test", r.Test}, {"op", r.Op}, {"links", r.links}, {"size", r.Size}, {"iters", r.Iters}}
	if r.Window != 0 {
		all = append(all, field{"window", r.Window})
	}
	if r.Both {
		all = append(all, field{"both", true})
	}
	if r.Batch != 0 {
		all = append(all, field{"batch", r.Batch})
	}
	if r.Goroutines != 0 {
		all = append(all, field{"goroutines", r.Goroutines})
	}
	if r.Huge {
		all = append(all, field{"huge", true})
	}
	if r.Kind != "" {
		all = append(all, field{"kind", r.Kind}, field{"posted", r.Posted}, field{"unexpected", r.Unexpected})
	}
	all = append(all, field{r.result.Key, r.result.Value})
	if r.percentiles && r.result.Times != nil {
		all = append(all, field{"percentiles_us", r.result.Times.Percentiles()})
	}
	return append(all, field{"rails", r.result.Rails})
}

// MarshalJSON keeps the order of the fields.
func (r report) MarshalJSON() ([]byte, error) {
	text := []byte{'{'}
	for i, f := range r.fields() {
		key, err := json.Marshal(f.key)
		value, err2 := json.Marshal(f.value)
		if err = errors.Join(err, err2); err != nil {
			return nil, err
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(append(text, key...), ':'), value...)
	}
	return append(text, '}'), nil
}

func (f reportFlags) print(a *app, reports []report) error {
	for i := range reports {
		reports[i].percentiles = f.Percentiles || f.CSV
	}
	switch {
	case len(reports) == 0:
		return nil
	case f.CSV:
		return printCSV(a.out, reports)
	case f.JSON:
		enc := json.NewEncoder(a.out)
		for _, r := range reports {
			if err := enc.Encode(r); err != nil {
				return err
			}
		}
		return nil
	}
	err := printTable(a, reports)
	if f.Histogram {
		for _, r := range reports {
			err = errors.Join(err, printHistogram(a, r))
		}
	}
	return err
}

func printTable(a *app, reports []report) error {
	first := reports[0]
	var head []any
	var right []string
	for _, cell := range cells(first) {
		head = append(head, cell.Head)
		right = append(right, cell.Head)
	}
	t := ui.NewTable(title(first), right...)
	t.AppendHeader(append(head, carriedHead))
	for _, r := range reports {
		var row []any
		for _, cell := range cells(r) {
			row = append(row, cell.Text)
		}
		t.AppendRow(append(row, carried(r.result.Rails)))
	}
	return ui.Print(a.out, t)
}

// title says what all rows of a table have in common.
func title(r report) string {
	title := fmt.Sprintf("%s of %s over %s", r.Test, r.Op, r.link)
	if r.Both {
		title += ", both ways"
	}
	if r.Batch != 0 {
		title += fmt.Sprintf(", %d in a call", r.Batch)
	}
	if r.Goroutines != 0 {
		title += fmt.Sprintf(", %d blocking goroutines", r.Goroutines)
	}
	if r.Huge {
		title += ", buffers of huge pages"
	}
	if r.Verify {
		title += ", every byte verified"
	}
	return title
}

// cells are a row of the table, but for the rails.
func cells(r report) []bench.Cell {
	cells := []bench.Cell{{Head: "size", Text: ui.Size(uint64(r.Size))}, {Head: "iterations", Text: strconv.Itoa(r.Iters)}}
	if r.Window != 0 {
		cells = append(cells, bench.Cell{Head: "window", Text: strconv.Itoa(r.Window)})
	}
	if r.Kind != "" {
		cells = append(cells, bench.Cell{Head: "kind", Text: r.Kind},
			bench.Cell{Head: "posted", Text: strconv.Itoa(r.Posted)}, bench.Cell{Head: "unexpected", Text: strconv.Itoa(r.Unexpected)})
	}
	cells = append(cells, r.result.Cells...)
	if r.percentiles && r.result.Times != nil {
		cells = append(cells, r.result.Times.Percentiles().Cells()...)
	}
	return cells
}

func printHistogram(a *app, r report) error {
	title := fmt.Sprintf("%s of %s, %s", r.Test, r.Op, ui.Size(uint64(r.Size)))
	if r.Kind != "" {
		title += fmt.Sprintf(", %s, %d posted, %d unexpected", r.Kind, r.Posted, r.Unexpected)
	}
	var counts []ui.Count
	for _, bar := range r.result.Times.Distribution() {
		if bar.Count > 0 {
			counts = append(counts, ui.Count{Value: r.result.Times.US(max(1, bar.To)), N: bar.Count})
		}
	}
	return ui.Histogram(a.out, title, "us", counts)
}
