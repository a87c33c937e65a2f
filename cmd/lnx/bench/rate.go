package bench

import (
	"fmt"
	"math"
)

func init() {
	Register(Test{
		Name:       "rate",
		Help:       "messages a second in one direction, or both",
		Window:     64,
		Both:       true,
		Goroutines: true,
		Iters:      func(size int) int { return min(1_000_000, max(100, 1<<31/max(size, 1))) },
		Lead:       leadRate,
		Follow:     followRate,
	})
}

func leadRate(e *End, p Params) (Result, error) {
	lead := leadStream
	if p.Goroutines > 0 {
		lead = leadBlockingStream
	}
	took, rails, err := lead(e, p)
	if err != nil {
		return Result{}, err
	}
	rate := math.Round(float64(p.streamed()) / took.Seconds())
	return Result{
		Key: "msgs_per_s", Value: rate, Rails: rails, Took: took,
		Cells: []Cell{{"rate [M msg/s]", fmt.Sprintf("%.3f", rate/1e6)}},
	}, nil
}

func followRate(e *End, p Params) error {
	if p.Goroutines > 0 {
		return newBlocking(e, p, tagFollow, tagLead).follow((*worker).sink)
	}
	return followStream(e, p)
}
