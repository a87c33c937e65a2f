package trace

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/internal/trace/synth"
)

func synthetic(t *testing.T, c synth.Config) *Run {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, synth.Write(dir, c))
	run, err := Open(dir)
	require.NoError(t, err)
	require.Empty(t, run.Notes())
	return run
}

// durations answers those of each path and operation, in order.
func durations(t *testing.T, run *Run) map[string][]int64 {
	t.Helper()
	all := map[string][]int64{}
	require.NoError(t, run.Ops(t.Context(), nil, func(op *Op) error {
		key := op.Link.Path.String() + op.Op.Op
		all[key] = append(all[key], op.Duration())
		return nil
	}))
	for _, d := range all {
		slices.Sort(d)
	}
	return all
}

func TestSummary(t *testing.T) {
	run := synthetic(t, synth.Config{Ops: 30_000})
	rows, err := run.Summarise(t.Context(), nil, false)
	require.NoError(t, err)
	want := durations(t, run)
	require.Len(t, rows, len(want))
	for _, r := range rows {
		d := want[r.Path.String()+r.Op]
		require.EqualValues(t, len(d), r.Count)
		require.Equal(t, d[len(d)-1], r.Max)
		for _, p := range []float64{50, 99} {
			// Rounded to a whole number, the place may be one off.
			i := int(p / 100 * float64(len(d)))
			require.GreaterOrEqual(t, float64(r.Percentile(p)), 0.99*float64(d[max(0, i-1)]), "p%g of %s", p, r.Path)
			require.LessOrEqual(t, float64(r.Percentile(p)), 1.01*float64(d[min(len(d)-1, i+1)]), "p%g of %s", p, r.Path)
		}
		n := int64(0)
		for _, b := range r.Distribution() {
			n += b.Count
		}
		require.Equal(t, r.Count, n)
	}
}

// The rows of pairs of ranks add up to those of all.
func TestSummaryByRank(t *testing.T) {
	run := synthetic(t, synth.Config{Ops: 5000})
	all, err := run.Summarise(t.Context(), nil, false)
	require.NoError(t, err)
	byRank, err := run.Summarise(t.Context(), nil, true)
	require.NoError(t, err)
	require.Greater(t, len(byRank), len(all))
	sums := map[string]int64{}
	for _, r := range byRank {
		require.NotEqual(t, r.Rank, r.Peer)
		require.NotEqual(t, Unknown, r.Peer)
		sums[r.Path.String()+r.Op] += r.Bytes
	}
	for _, r := range all {
		require.Equal(t, r.Bytes, sums[r.Path.String()+r.Op])
	}
}

func TestAnalysisAddsUp(t *testing.T) {
	run := synthetic(t, synth.Config{Ops: 20_000})
	a, err := run.Analyse(t.Context(), nil, Limits{Bins: 64, Points: 1000})
	require.NoError(t, err)
	var rows, rails, matrix, nics struct{ ops, bytes float64 }
	for _, r := range a.Summary {
		rows.ops, rows.bytes = rows.ops+float64(r.Count), rows.bytes+float64(r.Bytes)
	}
	for _, r := range a.Rails {
		for _, c := range r.Cells.Cells() {
			rails.ops, rails.bytes = rails.ops+float64(c.Ops), rails.bytes+c.Bytes
		}
	}
	for _, c := range a.ByRank.Cells {
		matrix.ops, matrix.bytes = matrix.ops+float64(c.Ops), matrix.bytes+float64(c.Bytes)
	}
	for _, c := range a.ByNIC.Cells {
		nics.ops, nics.bytes = nics.ops+float64(c.Ops), nics.bytes+float64(c.Bytes)
	}
	require.EqualValues(t, 20_000, a.Ops)
	for _, sum := range []struct{ ops, bytes float64 }{rows, rails, matrix, nics} {
		require.Equal(t, float64(a.Ops), sum.ops)
		require.InEpsilon(t, float64(a.Bytes), sum.bytes, 1e-9)
	}
	require.Equal(t, []string{"0", "1", "2", "3"}, a.ByRank.Labels, "no peer is unknown")
	require.Zero(t, a.Rails[len(a.Rails)-1].Ops, "no rail is unknown")
}

// Coarser cells have the percentiles of what is in them, and leave the cells alone.
func TestCoarser(t *testing.T) {
	run := synthetic(t, synth.Config{Ops: 20_000})
	a, err := run.Analyse(t.Context(), nil, Limits{Bins: 64, Points: 1000})
	require.NoError(t, err)
	var all []int64
	require.NoError(t, run.Ops(t.Context(), nil, func(op *Op) error {
		if op.Link.Path.Rail == a.Rails[0].Name {
			all = append(all, op.Duration())
		}
		return nil
	}))
	slices.Sort(all)
	for range 2 {
		whole := Coarser(a.Rails[0].Cells.Cells(), 1000)
		require.Len(t, whole, 1)
		require.EqualValues(t, len(all), whole[0].Ops)
		require.Equal(t, all[len(all)-1], whole[0].Max)
		require.InEpsilon(t, all[len(all)/2], whole[0].Percentile(50), 0.07)
	}
	require.Len(t, Coarser(a.Rails[0].Cells.Cells(), 4), (a.Line.Bins()+3)/4)
}

// All operations are kept while they are few; of many, the longest of each rail in each
// bin and all in the bounds.
func TestPoints(t *testing.T) {
	run := synthetic(t, synth.Config{Ops: 20_000})
	all, err := run.Analyse(t.Context(), nil, Limits{})
	require.NoError(t, err)
	require.Len(t, all.Points, 20_000)
	require.True(t, slices.IsSortedFunc(all.Points, func(a, b Point) int { return int(a.Start - b.Start) }))

	limits := Limits{Bins: 32, Points: 2000}
	some, err := run.Analyse(t.Context(), nil, limits)
	require.NoError(t, err)
	require.LessOrEqual(t, len(some.Points), limits.Points)
	require.Greater(t, len(some.Points), limits.Points/4)
	again, err := run.Analyse(t.Context(), nil, limits)
	require.NoError(t, err)
	require.Equal(t, some.Points, again.Points, "chance is always the same")

	kept := map[Point]bool{}
	for _, p := range some.Points {
		require.False(t, kept[p], "none is there twice")
		kept[p] = true
	}
	type cell struct {
		rail int
		bin  int64
	}
	worst := map[cell]Point{}
	for _, p := range all.Points {
		key := cell{p.Rail, p.End / some.Line.Width()}
		if w, ok := worst[key]; !ok || worse(&p, &w) > 0 {
			worst[key] = p
		}
	}
	require.Greater(t, len(worst), 40)
	for _, p := range worst {
		require.True(t, kept[p], "%+v is missing", p)
	}
}

func TestCounters(t *testing.T) {
	run := opened(t, map[string]string{
		"meta_rank0.json": meta("a"), "meta_rank1.json": meta("a"), "meta_rank2.json": meta("b"),
		"nic_rank0.csv": nicHeader + "0,eth0,x,100\n0,eth0,still,7\n1000,eth0,x,150\n1000,eth0,still,7\n2000,eth0,x,20\n3000,eth0,x,50\n",
		"nic_rank1.csv": nicHeader + "0,eth0,x,100\n1000,eth0,x,150\n0,eth1,x,0\n4096,eth1,x,4096\n",
		"nic_rank2.csv": nicHeader + "0,eth0,x,1\n1000,eth0,x,2\n",
	})
	a, err := run.Analyse(t.Context(), nil, Limits{Bins: 64})
	require.NoError(t, err)
	var names []string
	for _, c := range a.Counters {
		names = append(names, c.Host+" "+c.Device+" "+c.Counter)
	}
	require.Equal(t, []string{"a eth0 x", "a eth1 x", "b eth0 x"}, names, "a device counts once on each host, and not if it stands still")
	sum := CounterCell{}
	for _, c := range a.Counters[0].Cells.Cells() {
		sum.add(&c)
	}
	require.InDelta(t, 80, sum.Delta, 1e-9, "from 1000 to 2000 it was set back")
	require.InDelta(t, 2000, sum.Covered, 1e-6)
	require.InDelta(t, 80, a.Counters[0].Total, 0)
	for i, c := range a.Counters[1].Cells.Cells() {
		if c.Covered > 0 {
			require.InEpsilon(t, 1e9, c.Rate(), 1e-9, "bin %d", i)
		}
	}
	require.InDelta(t, 0, a.Counters[0].Cells.Cells()[int(1500/a.Line.Width())].Covered, 1e-9)
}

// Reads count from the peer.
func TestMatrixOfReads(t *testing.T) {
	run := opened(t, map[string]string{
		"endpoints_rank0.csv": endpointsHeader + "0,here,tcp\n", "endpoints_rank1.csv": endpointsHeader + "0,there,tcp\n",
		"links_rank0.csv": linksHeader + "0,0,0,tcp,eth0,eth1,here,there\n1,0,0,tcp,eth0,,here,gone\n",
		"ops_rank0.csv":   opsHeader + "1,2,write,8,0,0x0,0\n1,2,readv,16,0,0x0,0\n1,2,tsend,32,1,0x0,0\n",
	})
	a, err := run.Analyse(t.Context(), nil, Limits{})
	require.NoError(t, err)
	require.Equal(t, &Matrix{
		Labels: []string{"0", "1", "unknown"},
		Cells:  []Traffic{{0, 1, 1, 8}, {0, 2, 1, 32}, {1, 0, 1, 16}},
	}, a.ByRank)
	require.Equal(t, &Matrix{
		Labels: []string{"eth0", "eth1", "unknown"},
		Cells:  []Traffic{{0, 1, 1, 8}, {0, 2, 1, 32}, {1, 0, 1, 16}},
	}, a.ByNIC)
}

func TestLargeMatrix(t *testing.T) {
	labels := strings.Fields(strings.Repeat("r ", 1000))
	sums := map[[2]int]flow{{0, 0}: {1, 10}, {7, 7}: {1, 5}, {999, 0}: {2, 3}}
	m := grouped(labels, sums)
	require.LessOrEqual(t, len(m.Labels), mostLabels)
	require.Equal(t, "r … r", m.Labels[0])
	require.Equal(t, []Traffic{{0, 0, 2, 15}, {124, 0, 2, 3}}, m.Cells)
}

func TestGaps(t *testing.T) {
	run := opened(t, map[string]string{"cqgaps_rank0.csv": "start_ns,end_ns,endpoint\n1000,9000,0\n20000,20500,0\n"})
	a, err := run.Analyse(t.Context(), nil, Limits{Bins: 16})
	require.NoError(t, err)
	sum := 0.0
	for _, g := range a.Gaps.Cells() {
		sum += g
	}
	require.InDelta(t, 8500, sum, 1e-6)
}

func TestFormat(t *testing.T) {
	for ns, want := range map[int64]string{0: "0 ns", 999: "999 ns", 1234: "1.23 µs", 99_949: "99.9 µs", 123_456: "123 µs", 999_600: "1.00 ms", 60e9: "60 s"} {
		require.Equal(t, want, FormatDuration(ns))
	}
	for n, want := range map[float64]string{0: "0 B", 999: "999 B", 1000: "0.98 KiB", 1024: "1 KiB", 1 << 30: "1 GiB", 1.5 * (1 << 20): "1.50 MiB"} {
		require.Equal(t, want, FormatBytes(n))
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1000: "-1,000", 1234567: "1,234,567", math.MinInt64: "-9,223,372,036,854,775,808"} {
		require.Equal(t, want, FormatCount(n))
	}
}
