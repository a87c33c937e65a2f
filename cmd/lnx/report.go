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
}

// MarshalJSON keeps the order of fields: what was run, what was measured, and
// which rails carried it.
func (r report) MarshalJSON() ([]byte, error) {
	var o object
	o.add("test", r.Test)
	o.add("links", r.links)
	o.add("size", r.Size)
	o.add("iters", r.Iters)
	if r.Window != 0 {
		o.add("window", r.Window)
	}
	if r.Both {
		o.add("both", true)
	}
	if r.Kind != "" {
		o.add("kind", r.Kind)
		o.add("posted", r.Posted)
		o.add("unexpected", r.Unexpected)
	}
	o.add(r.result.Key, r.result.Value)
	o.add("rails", r.result.Rails)
	return o.bytes()
}

// object is a JSON object whose fields stay in order.
type object struct {
	text []byte
	err  error
}

func (o *object) add(key string, v any) {
	k, err := json.Marshal(key)
	o.err = errors.Join(o.err, err)
	b, err := json.Marshal(v)
	o.err = errors.Join(o.err, err)
	sep := byte(',')
	if o.text == nil {
		sep = '{'
	}
	o.text = append(append(append(append(o.text, sep), k...), ':'), b...)
}

func (o *object) bytes() ([]byte, error) { return append(o.text, '}'), o.err }

func (c *perfCmd) print(a *app, reports []report) error {
	if len(reports) == 0 {
		return nil
	}
	if c.JSON {
		enc := json.NewEncoder(a.out)
		for _, r := range reports {
			if err := enc.Encode(r); err != nil {
				return err
			}
		}
		return nil
	}
	return printReports(a, reports)
}

func printReports(a *app, reports []report) error {
	first := reports[0]
	var head []any
	var right []string
	for _, cell := range cells(first) {
		head = append(head, cell.Head)
		right = append(right, cell.Head)
	}
	title := fmt.Sprintf("%s over %s", first.Test, first.link)
	if first.Window != 0 {
		title += fmt.Sprintf(", window %d", first.Window)
	}
	if first.Both {
		title += ", both ways"
	}
	if first.Verify {
		title += ", every byte verified"
	}
	t := ui.NewTable(title, right...)
	t.AppendHeader(append(head, "rails: sent / received"))
	for _, r := range reports {
		var row []any
		for _, cell := range cells(r) {
			row = append(row, cell.Text)
		}
		t.AppendRow(append(row, carried(r.result.Rails)))
	}
	return ui.Print(a.out, t)
}

// cells are a row of the table, but for the rails.
func cells(r report) []bench.Cell {
	cells := []bench.Cell{{Head: "size", Text: ui.Size(uint64(r.Size))}, {Head: "iterations", Text: strconv.Itoa(r.Iters)}}
	if r.Kind != "" {
		cells = append(cells, bench.Cell{Head: "kind", Text: r.Kind},
			bench.Cell{Head: "posted", Text: strconv.Itoa(r.Posted)}, bench.Cell{Head: "unexpected", Text: strconv.Itoa(r.Unexpected)})
	}
	return append(cells, r.result.Cells...)
}
