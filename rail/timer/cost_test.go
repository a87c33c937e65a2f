package timer

import (
	"io"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/providers/fierr"
	"golnx/rail/intercept"
)

// nowhere is a file that has room for everything.
type nowhere struct{ io.Writer }

func (nowhere) Truncate(int64) error { return nil }
func (nowhere) Close() error         { return nil }

// direct drives the hooks of one endpoint without a chain.
func direct(t testing.TB, cfg Config) (op func(), close func()) {
	t.Helper()
	cfg.Dir = t.TempDir()
	r, err := New(cfg, Env{Clock: wall(), create: func(string) (file, error) { return nowhere{io.Discard}, nil }})
	require.NoError(t, err)
	h := r.Hooks()
	w := newWorld(t, 1, []*intercept.Hooks{h}, "eth0")
	var context any = w
	var kept any
	next := func(c *intercept.Send) error { kept = c.Context; return nil }
	read := func([]intercept.Entry) (int, error) { return 1, nil }
	send := intercept.Send{Op: intercept.OpTSend, To: w.to[0], IOV: [][]byte{make([]byte, 8)}, Tag: 7}
	var done intercept.Completion
	return func() {
			send.Context = context
			if h.TSend(w.view.Rails[0], &send, next) != nil {
				panic("refused")
			}
			if h.CQRead != nil {
				_, _ = h.CQRead(w.view, nil, read)
			}
			done.Context = kept
			h.Complete(w.view.Rails[0], &done)
			if done.Context != context {
				panic("another context")
			}
		}, func() {
			require.NoError(t, r.Close())
		}
}

func TestNoAllocation(t *testing.T) {
	for _, cfg := range []Config{{CQGap: 1}, {OpsMinBytes: 9}, {OpsBytes: 1024}} {
		op, end := direct(t, cfg)
		require.Zero(t, testing.AllocsPerRun(1000, op), "%+v", cfg)
		end()
	}
}

// Nor do calls that have to be tried again, remote memory access and waiting.
func TestNoAllocationOtherPaths(t *testing.T) {
	r, hooks := start(t, Config{CQGap: 1}, Env{})
	w := newWorld(t, 1, hooks, "eth0")
	h, rail := hooks[0], w.view.Rails[0]
	send := intercept.Send{Op: intercept.OpTSend, To: w.to[0], Context: w}
	again := func(*intercept.Send) error { return fierr.Again }
	write := intercept.RMA{Op: intercept.OpWrite, To: w.to[0]}
	var done intercept.Completion
	accept := func(c *intercept.RMA) error { done.Context = c.Context; return nil }
	wait := func([]intercept.Entry) (int, error) { return 0, nil }
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		if h.TSend(rail, &send, again) == nil || send.Context != w {
			panic("not refused")
		}
		write.Context = w
		if h.Write(rail, &write, accept) != nil {
			panic("refused")
		}
		h.Complete(rail, &done)
		_, _ = h.CQWait(w.view, nil, wait)
	}))
	require.NoError(t, r.Close())
	ops, _, _ := recorded(t, r)
	require.Len(t, ops, 1001)
}

// The cost of an operation: send, one read of the CQ, completion.
func BenchmarkOperation(b *testing.B) {
	for _, bc := range []struct {
		name string
		cfg  Config
	}{
		{"ops", Config{}},
		{"ops+cqgap", Config{CQGap: 1 << 30}},
		{"ended", Config{OpsBytes: 1024}},
		{"skipped", Config{OpsMinBytes: 9}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			op, end := direct(b, bc.cfg)
			b.ReportAllocs()
			best := time.Duration(math.MaxInt64) // on a machine that does other things too
			for b.Loop() {
				start := time.Now()
				for range 1000 {
					op()
				}
				best = min(best, time.Since(start))
			}
			b.ReportMetric(float64(best.Nanoseconds())/1000, "best-ns/op")
			b.StopTimer()
			end()
		})
	}
}

func BenchmarkClock(b *testing.B) {
	clock := wall()
	best := int64(math.MaxInt64)
	for b.Loop() {
		start := clock()
		for range 1000 {
			clock()
		}
		best = min(best, clock()-start)
	}
	b.ReportMetric(float64(best)/1000, "best-ns/call")
}
