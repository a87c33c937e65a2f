package benchtable

import (
	"errors"
	"math"
	"slices"
)

// Result is what was measured for a row.
type Result struct {
	Name string  `json:"name"`
	Unit string  `json:"unit"`
	Goal float64 `json:"goal,omitempty"`
	More bool    `json:"more_is_better,omitempty"`
	// Ours are the figures of the rounds, Base those of the better base.
	Ours        []float64 `json:"ours,omitempty"`
	Base        []float64 `json:"base,omitempty"`
	OursCommand string    `json:"ours_command"`
	BaseCommand string    `json:"base_command,omitempty"`
	// Ratio is the figure that the goal is about: ours by the base, round by
	// round, or ours.
	Ratio Spread `json:"ratio,omitzero"`
	// Met says whether the median meets the goal.
	Met bool `json:"met"`
	// Skipped and Failed say why there are no figures.
	Skipped string `json:"skipped,omitempty"`
	Failed  string `json:"failed,omitempty"`
}

// Spread sums up the rounds.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

func spread(values []float64) Spread {
	return Spread{median(values), slices.Min(values), slices.Max(values)}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// result compares the figures of a row.
func (b *bench) result(row Row) Result {
	r := Result{Name: row.Name, Unit: row.Unit, Goal: row.Goal, More: row.More, OursCommand: row.Ours.Command.String()}
	if err := b.compare(row, &r); err != nil {
		var skip *SkipError
		if errors.As(err, &skip) {
			r.Skipped = skip.Reason
		} else {
			r.Failed = err.Error()
		}
	}
	return r
}

func (b *bench) compare(row Row, r *Result) error {
	var err error
	if r.Ours, err = b.figure(row.Ours); err != nil {
		return err
	}
	ratios := r.Ours
	for _, f := range row.Base {
		base, err := b.figure(f)
		if err != nil {
			return err
		}
		if r.Base == nil || better(median(base), median(r.Base), row.More) {
			r.Base, r.BaseCommand = base, f.Command.String()
		}
	}
	if r.Base != nil {
		ratios = make([]float64, len(r.Ours))
		for i := range ratios {
			if r.Base[i] == 0 {
				return errors.New(r.BaseCommand + " measured 0: there is no ratio to it")
			}
			ratios[i] = r.Ours[i] / r.Base[i]
		}
	}
	r.Ratio = spread(ratios)
	r.Met = row.Goal == 0 || !better(row.Goal, r.Ratio.Median, row.More)
	return nil
}

// better says whether a is the better figure.
func better(a, b float64, more bool) bool {
	if more {
		return a > b
	}
	return a < b
}

// String is the command as it could be typed, without what all have in common.
func (c Command) String() string { return c.Program + " " + c.Args }
