package bench

import (
	"fmt"
	"math"
	"time"
)

func init() {
	Register(Test{
		Name:       "rate",
		Help:       rateHelp,
		Window:     rateWindow,
		Both:       true,
		Batches:    true,
		Goroutines: true,
		Iters:      rateIters,
		Lead:       leadRate,
		Follow:     followRate,
	})
}

// What the test is with every operation.
const (
	rateHelp   = "messages a second in one direction, or both"
	rateWindow = 64
)

func rateIters(size int) int { return min(1_000_000, max(100, 1<<31/max(size, 1))) }

func leadRate(e *End, p Params) (Result, error) {
	lead := leadStream
	if p.Goroutines > 0 {
		lead = leadBlockingStream
	}
	took, rails, err := lead(e, p)
	if err != nil {
		return Result{}, err
	}
	return rateResult(p, took, rails, "msgs_per_s", "msg"), nil
}

func rateResult(p Params, took time.Duration, rails []RailCount, key, unit string) Result {
	rate := math.Round(float64(p.streamed()) / took.Seconds())
	return Result{
		Key: key, Value: rate, Rails: rails, Took: took,
		Cells: []Cell{{"rate [M " + unit + "/s]", fmt.Sprintf("%.3f", rate/1e6)}},
	}
}

func followRate(e *End, p Params) error {
	if p.Goroutines > 0 {
		return newBlocking(e, p, tagFollow, tagLead).follow((*worker).sink)
	}
	return followStream(e, p)
}
