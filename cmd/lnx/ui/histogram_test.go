package ui

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHistogram(t *testing.T) {
	var out strings.Builder
	require.NoError(t, Histogram(&out, "times", "us", []Count{{1, 5000}, {1.5, 2500}, {4, 2490}, {1000, 10}}))
	lines := strings.Split(out.String(), "\n")
	require.Equal(t, "times [us]", lines[0])
	require.Len(t, lines, 1+histogramRows+1+1)
	require.Regexp(t, `^≤ +1\.072 │ █{50} +50\.0000 %$`, lines[1])
	require.Regexp(t, `^≤ +1\.149 │ +0\.0000 %$`, lines[2])
	require.Regexp(t, `^≤ +4 │ █{24} +24\.9000 %$`, lines[histogramRows])
	require.Regexp(t, `^≤ +1000 │ ▏ +0\.1000 %$`, lines[histogramRows+1])
}

// No value is lost, whatever rounding does to the bounds.
func TestHistogramCountsAll(t *testing.T) {
	for _, counts := range [][]Count{
		{{7, 3}},
		{{0.1, 1}, {0.1000001, 1}},
		{{0.3, 1}, {0.7, 1000}, {1e6, 1}},
		{{1e-9, 1}, {1e9, 1}},
	} {
		var want, got int64
		for _, c := range counts {
			want += c.N
		}
		rows := histogram(counts)
		for i, r := range rows {
			got += r.N
			require.True(t, i == 0 || r.Value >= rows[i-1].Value)
		}
		require.Equal(t, want, got, "%v", counts)
	}
	require.Empty(t, histogram(nil))
}
