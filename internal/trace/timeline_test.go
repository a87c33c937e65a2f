package trace

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func sum(into, from *float64) { *into += *from }

// Whatever the order of the times, each is in the bin that it belongs to, and bins are
// no wider than they must be.
func TestTimelineAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bins := rapid.IntRange(2, 40).Draw(t, "bins")
		line := NewTimeline(bins)
		lane := newLane(line, sum)
		start := rapid.Int64Range(0, math.MaxInt64/2).Draw(t, "start")
		span := rapid.Int64Range(0, 1<<rapid.IntRange(0, 61).Draw(t, "bits")).Draw(t, "span")
		times := rapid.SliceOfN(rapid.Int64Range(start, start+span), 1, 60).Draw(t, "times")
		for _, at := range times {
			*lane.at(at)++
		}
		require.Equal(t, line.Bins(), len(lane.Cells()))
		require.LessOrEqual(t, line.Bins(), bins)
		want := make([]float64, line.Bins())
		for _, at := range times {
			want[at/line.Width()-line.Start()/line.Width()]++
		}
		require.Equal(t, want, lane.Cells())
		low, high := slices.Min(times), slices.Max(times)
		require.Equal(t, low/line.Width()*line.Width(), line.Start())
		half := line.Width() / 2
		if half >= 1<<minShift {
			require.Greater(t, high/half-low/half+1, int64(bins), "half the width would do")
		}
	})
}

func TestSpread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := NewTimeline(16)
		lane := newLane(line, sum)
		total := 0.0
		for range rapid.IntRange(1, 20).Draw(t, "spans") {
			t0 := rapid.Int64Range(1e15, 1e15+1e6).Draw(t, "t0")
			t1 := t0 + rapid.Int64Range(0, 1e6).Draw(t, "long")
			all := 0.0
			line.spread(t0, t1, func(cell int, share float64) {
				all += share
				lane.cells[cell] += share
			})
			require.InDelta(t, 1, all, 1e-9)
			total++
		}
		got := 0.0
		for _, v := range lane.Cells() {
			got += v
		}
		require.InDelta(t, total, got, 1e-6)
	})
}

func TestSpreadByTime(t *testing.T) {
	line := NewTimeline(4)
	lane := newLane(line, sum)
	put := func(t0, t1 int64) {
		line.spread(t0, t1, func(cell int, share float64) { lane.cells[cell] += share })
	}
	put(0, 512) // four bins of 128 ns
	require.Equal(t, int64(256), line.Width(), "the end belongs to the next bin")
	require.Equal(t, []float64{0.5, 0.5, 0}, lane.Cells())
	put(64, 320)
	require.Equal(t, []float64{0.5 + 0.75, 0.5 + 0.25, 0}, lane.Cells())
	put(600, 600)
	require.Equal(t, []float64{1.25, 0.75, 1}, lane.Cells())
}

func TestTimelineOfNothing(t *testing.T) {
	line := NewTimeline(4)
	require.Zero(t, line.Bins())
	require.Empty(t, newLane(line, sum).Cells())
}
