package ui

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// Count says how often a value was seen.
type Count struct {
	Value float64
	N     int64
}

// A histogram has rows whose upper bounds grow by the same factor each, as times of
// messages want it, up to where histogramMost of the values are, and one for the
// others.
const (
	histogramRows  = 20
	histogramMost  = 0.999
	histogramWidth = 50 // of the longest bar, in characters
)

// Histogram draws how values are distributed. Counts have values above 0 that ascend.
func Histogram(w io.Writer, title, unit string, counts []Count) error {
	rows := histogram(counts)
	var total, most int64
	for _, r := range rows {
		total, most = total+r.N, max(most, r.N)
	}
	if _, err := fmt.Fprintf(w, "%s [%s]\n", title, unit); err != nil {
		return err
	}
	for _, r := range rows {
		bar := strings.Repeat("█", int(r.N*histogramWidth/most))
		if bar == "" && r.N > 0 {
			bar = "▏"
		}
		if _, err := fmt.Fprintf(w, "≤ %9.4g │ %-*s %8.4f %%\n", r.Value, histogramWidth, bar, 100*float64(r.N)/float64(total)); err != nil {
			return err
		}
	}
	return nil
}

// histogram answers the rows, each with its upper bound.
func histogram(counts []Count) []Count {
	var total int64
	for _, c := range counts {
		total += c.N
	}
	if total == 0 {
		return nil
	}
	low, high, seen := counts[0].Value, 0.0, int64(0)
	for _, c := range counts {
		if float64(seen) < histogramMost*float64(total) {
			high = c.Value
		}
		seen += c.N
	}
	var rows []Count
	i := 0
	add := func(bound float64) {
		r := Count{Value: bound}
		for ; i < len(counts) && counts[i].Value <= bound; i++ {
			r.N += counts[i].N
		}
		rows = append(rows, r)
	}
	for k := 1; k < histogramRows && low < high; k++ {
		add(low * math.Pow(high/low, float64(k)/histogramRows))
	}
	add(high)
	if i < len(counts) {
		add(counts[len(counts)-1].Value)
	}
	return rows
}
