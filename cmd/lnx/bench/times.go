package bench

import (
	"fmt"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// longest bounds what a histogram tells apart, in ns; more counts as that much.
const longest = int64(100 * time.Second)

// Times are the single times of a run, with three significant digits.
type Times struct {
	*hdrhistogram.Histogram // in ns
	// Per is the number of recorded times that make one of what is reported: 2
	// for round trips of which the half is.
	Per int
}

func newTimes(per int) *Times { return &Times{hdrhistogram.New(1, longest, 3), per} }

// record does nothing without a histogram.
func record(h *hdrhistogram.Histogram, d time.Duration) error {
	if h == nil {
		return nil
	}
	return h.RecordValue(min(int64(d), longest))
}

// us answers a recorded time as it is reported, in microseconds, to 0.1 ns.
func (t *Times) us(ns float64) float64 { return math.Round(ns/float64(t.Per)*10) / 1e4 }

// US is us for a time of the histogram.
func (t *Times) US(ns int64) float64 { return t.us(float64(ns)) }

// Spread has times in microseconds.
type Spread struct {
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	Mean float64 `json:"mean"`
}

// spread sums the times up.
func (t *Times) spread() Spread {
	return Spread{P50: t.US(t.ValueAtQuantile(50)), P99: t.US(t.ValueAtQuantile(99)), Mean: t.us(t.Mean())}
}

func (s Spread) cells(what string) []Cell {
	return []Cell{
		{what + "p50 [us]", fmt.Sprintf("%.3f", s.P50)},
		{what + "p99 [us]", fmt.Sprintf("%.3f", s.P99)},
		{what + "mean [us]", fmt.Sprintf("%.3f", s.Mean)},
	}
}

// Percentiles are the times in microseconds below which that many are.
type Percentiles struct {
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p99.9"`
	P9999 float64 `json:"p99.99"`
	Max   float64 `json:"max"`
}

// Percentiles answers them.
func (t *Times) Percentiles() Percentiles {
	at := func(q float64) float64 { return t.US(t.ValueAtQuantile(q)) }
	return Percentiles{at(50), at(90), at(99), at(99.9), at(99.99), t.US(t.Max())}
}

// Cells are those that the tests do not show anyway.
func (p Percentiles) Cells() []Cell {
	return []Cell{
		{"p90 [us]", fmt.Sprintf("%.3f", p.P90)},
		{"p99.9 [us]", fmt.Sprintf("%.3f", p.P999)},
		{"p99.99 [us]", fmt.Sprintf("%.3f", p.P9999)},
		{"max [us]", fmt.Sprintf("%.3f", p.Max)},
	}
}
