package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"golnx/cmd/lnx/ui"
	"golnx/providers/fiinfo"
	"golnx/rail/flags"
)

// flagsCmd shows what package flags recorded.
type flagsCmd struct {
	Dir  string `arg:"" type:"existingdir" help:"Where programs recorded, with INTERCEPT_FLAGS_DIR set to it."`
	All  bool   `help:"Show attributes that were granted as asked for, too, and what was asked for in vain."`
	JSON bool   `name:"json" help:"Print one JSON object."`
}

// Run prints what can be read; what cannot is an error then.
func (c *flagsCmd) Run(a *app) error {
	files, err := flags.ReadDir(c.Dir)
	if len(files) == 0 {
		return err
	}
	steps := stepsOf(files)
	for _, f := range files {
		if f.Cut {
			a.print(f.Path + ": the last line is cut: what the process did after the lines before it is unknown")
		}
	}
	if c.JSON {
		return errors.Join(showStepsJSON(a.out, steps, c.All), err)
	}
	return errors.Join(showSteps(a.out, steps, c.All), err)
}

// step is one answer to what one rank asked for.
type step struct {
	rank int
	*flags.Record
	answer  int          // from 1; 0 stands for none, or those that were not recorded
	granted *fiinfo.Info // nil then
}

func stepsOf(files []*flags.File) (steps []step) {
	for _, f := range files {
		for i := range f.Records {
			r := &f.Records[i]
			for n, granted := range r.Granted {
				steps = append(steps, step{f.Rank, r, n + 1, granted})
			}
			if len(r.Granted) == 0 || len(r.Granted) < r.Results {
				steps = append(steps, step{rank: f.Rank, Record: r})
			}
		}
	}
	return steps
}

// String says what was called, and for what.
func (s step) String() string {
	call := "fi_" + string(s.Step)
	if s.Rail != nil {
		return fmt.Sprintf("%s of rail %d (%s) of %s", call, s.Rail.Index, s.Rail.Name, s.Rail.Link)
	}
	of := call + " of " + s.Provider
	switch {
	case s.Error != "":
		return of + " failed: " + s.Error
	case s.Results == 0:
		return of + ": no answer"
	case s.answer == 0:
		return fmt.Sprintf("%s: %d of %d answers were not recorded", of, s.Results-len(s.Granted), s.Results)
	}
	return fmt.Sprintf("%s, answer %d of %d", of, s.answer, s.Results)
}

// compared says whether what was granted is worth comparing. What nothing was granted
// for is so if everything is.
func (s step) compared(all bool) bool { return s.granted != nil || all && s.Results == 0 }

// agreement is all steps that ask for the same and are granted the same, but for the
// addresses, which no two processes share.
type agreement struct {
	first        step
	steps        []string
	ranks        map[string][]int // of each step, ascending
	source, dest distinct
}

// agreements are in the order of their first steps.
func agreements(steps []step) ([]*agreement, error) {
	var all []*agreement
	known := map[string]*agreement{}
	for _, s := range steps {
		text, err := json.Marshal([]*fiinfo.Info{s.Asked, withoutAddrs(s.granted)})
		if err != nil {
			return nil, err
		}
		key := string(text)
		if s.granted == nil {
			key += s.String() // its table, if any, says little
		}
		a := known[key]
		if a == nil {
			a = &agreement{first: s, ranks: map[string][]int{}}
			known[key] = a
			all = append(all, a)
		}
		a.add(s)
	}
	return all, nil
}

func withoutAddrs(info *fiinfo.Info) *fiinfo.Info {
	if info == nil {
		return nil
	}
	c := *info
	c.Src, c.Dest = nil, nil
	return &c
}

func (a *agreement) add(s step) {
	name := s.String()
	ranks := a.ranks[name]
	if len(ranks) == 0 {
		a.steps = append(a.steps, name)
	}
	if len(ranks) == 0 || ranks[len(ranks)-1] != s.rank {
		a.ranks[name] = append(ranks, s.rank)
	}
	if s.granted != nil {
		a.source.add(s.granted.Src.String())
		a.dest.add(s.granted.Dest.String())
	}
}

// distinct are different texts.
type distinct struct {
	first string
	all   map[string]bool
}

func (d *distinct) add(text string) {
	if d.all == nil {
		d.first, d.all = text, map[string]bool{}
	}
	d.all[text] = true
}

// String names the first one.
func (d *distinct) String() string {
	if len(d.all) < 2 {
		return d.first
	}
	return fmt.Sprintf("%s and %d more", d.first, len(d.all)-1)
}

// who says which ranks took a step.
func (a *agreement) who(step string) string {
	return rankList(a.ranks[step]) + ": " + step
}

// showSteps writes the steps of each agreement, and a table of it.
func showSteps(w io.Writer, steps []step, all bool) error {
	found, err := agreements(steps)
	if err != nil {
		return err
	}
	tables := 0
	for i, a := range found {
		if i > 0 {
			fmt.Fprintln(w)
		}
		for _, s := range a.steps {
			if _, err := fmt.Fprintln(w, a.who(s)); err != nil {
				return err
			}
		}
		if !a.first.compared(all) {
			continue
		}
		tables++
		if err := a.table(w, all, alike(a, found[:i])); err != nil {
			return err
		}
	}
	if tables > 0 {
		_, err = fmt.Fprintln(w, "\n+ granted beyond what was asked for, - asked for and not granted, ≠ granted something else;\nwhere nothing is asked for, it was left to the provider")
	}
	return err
}

// rankList writes "rank 3" or "ranks 0-3,7", of ranks that ascend.
func rankList(ranks []int) string {
	var parts []string
	for i := 0; i < len(ranks); {
		first := i
		for i++; i < len(ranks) && ranks[i] == ranks[i-1]+1; i++ {
		}
		part := fmt.Sprint(ranks[first])
		if i-1 > first {
			part += fmt.Sprintf("-%d", ranks[i-1])
		}
		parts = append(parts, part)
	}
	if len(ranks) == 1 {
		return "rank " + parts[0]
	}
	return "ranks " + strings.Join(parts, ",")
}

// alike finds an agreement that was shown before and had the same asked of the same
// provider; nil if there is none.
func alike(a *agreement, before []*agreement) *agreement {
	for _, b := range before {
		if b.first.granted != nil && b.first.Provider == a.first.Provider && reflect.DeepEqual(b.first.Asked, a.first.Asked) {
			return b
		}
	}
	return nil
}

// table writes what was not granted as asked for; all attributes, or only those that are
// not as in another table, if there is one.
func (a *agreement) table(w io.Writer, all bool, other *agreement) error {
	others := map[string]bool{}
	if other != nil && !all {
		for _, p := range fiinfo.Compare(other.first.granted, a.first.granted) {
			others[p.Granted.Path] = p.Relation == fiinfo.Equal
		}
		if _, err := fmt.Fprintf(w, "as %s, but for\n", other.who(other.steps[0])); err != nil {
			return err
		}
	}
	t := ui.NewTable("")
	t.AppendHeader([]any{"attribute", "asked", "", "granted"})
	for _, p := range fiinfo.Compare(a.first.Asked, a.first.granted) {
		switch p.Granted.Path {
		case "src_addr":
			p.Granted.Text = a.source.String()
		case "dest_addr":
			p.Granted.Text = a.dest.String()
		}
		if all || p.Relation != fiinfo.Equal && !others[p.Granted.Path] {
			asked, mark, granted := pairCells(p)
			t.AppendRow([]any{p.Granted.Path, asked, mark, granted})
		}
	}
	return ui.Print(w, t)
}

// wide is where a list of names is broken, in characters.
const wide = 60

// marks of relations.
var marks = map[fiinfo.Relation]string{fiinfo.More: "+", fiinfo.Less: "-", fiinfo.Different: "≠"}

// pairCells are a row of the table. Names of bits that something was asked for of stand
// side by side.
func pairCells(p fiinfo.Pair) (asked, mark, granted string) {
	names := p.Granted.Names()
	switch {
	case p.Asked.IsZero() && len(names) > 0:
		return "", "", text.WrapSoft(strings.Join(names, " "), wide)
	case p.Asked.IsZero():
		return "", "", p.Granted.Text
	case names == nil:
		return p.Asked.Text, marks[p.Relation], p.Granted.Text
	}
	var columns [3][]string
	add := func(cells ...string) {
		for i, c := range cells {
			columns[i] = append(columns[i], c)
		}
	}
	for _, name := range p.Asked.Names() {
		if slices.Contains(names, name) {
			add(name, "", name)
		} else {
			add(name, "-", "")
		}
	}
	for _, name := range names {
		if !slices.Contains(p.Asked.Names(), name) {
			add("", "+", name)
		}
	}
	return strings.Join(columns[0], "\n"), strings.Join(columns[1], "\n"), strings.Join(columns[2], "\n")
}

// The JSON form of the steps. What was left open, or is 0, is left out.
type (
	stepJSON struct {
		Rank       int             `json:"rank"`
		Step       flags.Step      `json:"step"`
		Provider   string          `json:"provider,omitempty"`
		Rail       *flags.Rail     `json:"rail,omitempty"`
		Answer     int             `json:"answer"` // from 1; 0 stands for none, or those that were not recorded
		Answers    int             `json:"answers"`
		Error      string          `json:"error,omitempty"`
		Attributes []attributeJSON `json:"attributes"`
	}
	attributeJSON struct {
		Name     string          `json:"name"`
		Relation fiinfo.Relation `json:"relation"`
		Asked    any             `json:"asked,omitempty"`
		Granted  any             `json:"granted,omitempty"`
	}
)

func showStepsJSON(w io.Writer, steps []step, all bool) error {
	out := struct {
		Steps []stepJSON `json:"steps"`
	}{[]stepJSON{}}
	for _, s := range steps {
		j := stepJSON{s.rank, s.Step, s.Provider, s.Rail, s.answer, s.Results, s.Error, []attributeJSON{}}
		if s.compared(all) {
			j.Attributes = attributes(fiinfo.Compare(s.Asked, s.granted), all)
		}
		out.Steps = append(out.Steps, j)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

func attributes(pairs []fiinfo.Pair, all bool) []attributeJSON {
	list := []attributeJSON{}
	for _, p := range pairs {
		if all || p.Relation != fiinfo.Equal {
			list = append(list, attributeJSON{p.Asked.Path, p.Relation, valueJSON(p.Asked), valueJSON(p.Granted)})
		}
	}
	return list
}

func valueJSON(f fiinfo.Field) any {
	if f.IsZero() {
		return nil
	}
	return f.Value
}
