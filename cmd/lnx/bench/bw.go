package bench

import (
	"fmt"
	"math"
)

func init() {
	Register(Test{
		Name:   "bw",
		Help:   "bytes a second in one direction, or both",
		Window: 16,
		Both:   true,
		Iters:  func(size int) int { return min(100_000, max(100, 1<<32/max(size, 1))) },
		Lead:   leadBW,
		Follow: followStream,
	})
}

func leadBW(e *End, p Params) (Result, error) {
	took, rails, err := leadStream(e, p)
	if err != nil {
		return Result{}, err
	}
	rate := math.Round(float64(p.streamed()) * float64(p.Size) / took.Seconds())
	return Result{
		Key: "bytes_per_s", Value: rate, Rails: rails, Took: took,
		Cells: []Cell{
			{"bandwidth [GB/s]", fmt.Sprintf("%.3f", rate/1e9)},
			{"[Gbit/s]", fmt.Sprintf("%.2f", rate*8/1e9)},
		},
	}, nil
}
