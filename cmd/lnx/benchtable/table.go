package benchtable

import (
	"fmt"
	"io"

	"golnx/cmd/lnx/ui"
)

// Print prints the results as a table.
func Print(w io.Writer, results []Result, rounds int) error {
	title := fmt.Sprintf("Medians of %d rounds; ratios round by round", rounds)
	columns := []string{"golnx", "base", "ratio", "min..max", "goal"}
	t := ui.NewTable(title, columns...)
	t.AppendHeader([]any{"", "golnx", "base", "ratio", "min..max", "goal", ""})
	for _, r := range results {
		t.AppendRow(append([]any{r.Name}, cells(r)...))
	}
	if err := ui.Print(w, t); err != nil {
		return err
	}
	for _, r := range results {
		if r.Skipped != "" {
			if _, err := fmt.Fprintf(w, "%s: skipped: %s\n", r.Name, r.Skipped); err != nil {
				return err
			}
		}
	}
	return nil
}

func cells(r Result) []any {
	switch {
	case r.Skipped != "":
		return []any{"", "", "", "", "", "skipped"}
	case r.Failed != "":
		return []any{"", "", "", "", "", "failed"}
	}
	base, ratio, spread := "", "", ""
	if r.Base != nil {
		base = figure(median(r.Base), r.Unit)
		ratio = fmt.Sprintf("%.3f", r.Ratio.Median)
		spread = fmt.Sprintf("%.3f..%.3f", r.Ratio.Min, r.Ratio.Max)
	} else {
		spread = fmt.Sprintf("%.4g..%.4g", r.Ratio.Min, r.Ratio.Max)
	}
	goal, met := "", ""
	if r.Goal != 0 {
		goal, met = fmt.Sprintf("≤ %g", r.Goal), "met"
		if r.More {
			goal = fmt.Sprintf("≥ %g", r.Goal)
		}
		if !r.Met {
			met = "missed"
		}
	}
	return []any{figure(median(r.Ours), r.Unit), base, ratio, spread, goal, met}
}

// figure writes a number with its unit.
func figure(v float64, unit string) string {
	switch unit {
	case "msg/s", "op/s":
		return fmt.Sprintf("%.2f M %s", v/1e6, unit)
	case "B/s":
		return fmt.Sprintf("%.2f G%s", v/1e9, unit)
	}
	digits := 3
	for x := v; x >= 1 && digits > 0; x /= 10 {
		digits--
	}
	return fmt.Sprintf("%.*f %s", digits, v, unit)
}
