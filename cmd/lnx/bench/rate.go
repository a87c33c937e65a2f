package bench

import (
	"fmt"
	"math"
)

func init() {
	Register(Test{
		Name:   "rate",
		Help:   "messages a second in one direction, or both",
		Window: 64,
		Both:   true,
		Iters:  func(size int) int { return min(1_000_000, max(100, 1<<31/max(size, 1))) },
		Lead:   leadRate,
		Follow: followStream,
	})
}

func leadRate(e *End, p Params) (Result, error) {
	took, rails, err := leadStream(e, p)
	if err != nil {
		return Result{}, err
	}
	rate := math.Round(float64(p.streamed()) / took.Seconds())
	return Result{
		Key: "msgs_per_s", Value: rate, Rails: rails,
		Cells: []Cell{{"rate [M msg/s]", fmt.Sprintf("%.3f", rate/1e6)}},
	}, nil
}
