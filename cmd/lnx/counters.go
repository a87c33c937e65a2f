package main

import (
	"fmt"
	"path"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"golnx/cmd/lnx/ui"
	"golnx/rail/timer/nic"
)

// countersCmd explains counters.
type countersCmd struct {
	Pattern string `arg:"" optional:"" help:"A counter, a pattern of their names as pct_*, or a word of their names or meanings as timeout. Without it all are shown."`
}

// wideMeaning is where meanings are broken, in characters.
const wideMeaning = 80

// Run prints the meanings of those that the pattern finds.
func (c *countersCmd) Run(a *app) error {
	found, err := c.find()
	if err != nil {
		return err
	}
	t := ui.NewTable("")
	t.AppendHeader([]any{"counter", "meaning"})
	for _, m := range found {
		t.AppendRow([]any{m.Counter, text.WrapSoft(m.Text, wideMeaning)})
	}
	if err := ui.Print(a.out, t); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.out, "# is a number, * many counters; best effort, in our own words: HPE does not vouch for it")
	return err
}

func (c *countersCmd) find() ([]nic.Meaning, error) {
	if _, err := path.Match(c.Pattern, ""); err != nil {
		return nil, usageError{fmt.Errorf("%q is no pattern: *, ? and [a-z] have a meaning", c.Pattern)}
	}
	var found []nic.Meaning
	for _, m := range nic.CassiniMeanings() {
		if c.finds(m) {
			found = append(found, m)
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	if meaning, ok := nic.Describe(c.Pattern); ok {
		return []nic.Meaning{{Counter: c.Pattern, Text: meaning}}, nil
	}
	return nil, fmt.Errorf("nothing is known of %q: lnx counters shows all counters that are", c.Pattern)
}

// finds says whether the pattern is one of the entry's names, or a word in it.
func (c *countersCmd) finds(m nic.Meaning) bool {
	if !strings.ContainsAny(c.Pattern, `*?[\`) {
		return strings.Contains(m.Counter, c.Pattern) || strings.Contains(strings.ToLower(m.Text), strings.ToLower(c.Pattern))
	}
	for _, number := range strings.Split("# 0 1 2 3 4 5 6 7 8 9", " ") {
		if ok, _ := path.Match(c.Pattern, strings.ReplaceAll(m.Counter, "#", number)); ok {
			return true
		}
	}
	return false
}
