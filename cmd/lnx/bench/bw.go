package bench

import (
	"fmt"
	"math"
	"time"
)

func init() {
	Register(Test{
		Name:    "bw",
		Help:    bwHelp,
		Size:    bwSize,
		Window:  bwWindow,
		Both:    true,
		Batches: true,
		Iters:   bwIters,
		Lead:    leadBW,
		Follow:  followStream,
	})
}

// What the test is with every operation.
const (
	bwHelp   = "bytes a second in one direction, or both"
	bwWindow = 16
	bwSize   = 64 << 10
)

func bwIters(size int) int { return min(100_000, max(100, 1<<32/max(size, 1))) }

func leadBW(e *End, p Params) (Result, error) {
	took, rails, err := leadStream(e, p)
	if err != nil {
		return Result{}, err
	}
	return bwResult(p, took, rails), nil
}

func bwResult(p Params, took time.Duration, rails []RailCount) Result {
	rate := math.Round(float64(p.streamed()) * float64(p.Size) / took.Seconds())
	return Result{
		Key: "bytes_per_s", Value: rate, Rails: rails, Took: took,
		Cells: []Cell{
			{"bandwidth [GB/s]", fmt.Sprintf("%.3f", rate/1e9)},
			{"[Gbit/s]", fmt.Sprintf("%.2f", rate*8/1e9)},
		},
	}
}
