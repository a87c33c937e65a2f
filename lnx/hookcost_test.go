package lnx

import (
	"testing"
	"time"

	"golnx/providers/fierr"
	"golnx/rail/intercept"
)

// BenchmarkHooks sends 8 bytes back and forth over shm between two endpoints of one
// goroutine, as BenchmarkRoundTrip, once for each set of consumers in turn, so that what
// else the machine does falls on all of them. A message is two operations, a send and a
// receive. plain-ns/msg is one without consumers, +…-ns/msg is what consumers at both
// ends add to that: the fastest turns are compared.
func BenchmarkHooks(b *testing.B) {
	const rounds, turns = 25, 20
	kinds := []struct {
		name string
		opts Options
	}{
		{name: "plain"},
		{name: "empty", opts: Options{Hooks: []*intercept.Hooks{{Name: "empty"}}}},
		{name: "hook", opts: Options{Hooks: []*intercept.Hooks{forwarding()}}},
		{name: "timer", opts: Options{Lookup: env(map[string]string{"INTERCEPT_TIMER_DIR": b.TempDir()})}},
	}
	var pingPongs []func()
	for _, k := range kinds {
		k.opts.Links = "shm"
		pingPongs = append(pingPongs, pingPong(b, k.opts))
	}
	b.Cleanup(func() { check(b, StopRecording()) })
	best := make([]time.Duration, len(kinds))
	b.ReportAllocs()
	for b.Loop() {
		for i, round := range pingPongs {
			for range turns {
				start := time.Now()
				for range rounds {
					round()
				}
				if took := time.Since(start); best[i] == 0 || took < best[i] {
					best[i] = took
				}
			}
		}
	}
	of := func(i int) float64 { return float64(best[i]) / (2 * rounds) }
	b.ReportMetric(of(0), "plain-ns/msg")
	for i, k := range kinds[1:] {
		b.ReportMetric(of(i+1)-of(0), "+"+k.name+"-ns/msg")
	}
}

// forwarding is a consumer that looks at each operation and passes it on.
func forwarding() *intercept.Hooks {
	return &intercept.Hooks{
		Name:     "forwarding",
		TSend:    func(_ *intercept.Rail, c *intercept.Send, next func(*intercept.Send) error) error { return next(c) },
		TRecv:    func(_ *intercept.Rail, c *intercept.Recv, next func(*intercept.Recv) error) error { return next(c) },
		Complete: func(*intercept.Rail, *intercept.Completion) {},
	}
}

// pingPong opens two endpoints and answers a round trip between them.
func pingPong(tb testing.TB, opts Options) (round func()) {
	x, y, toY, toX := pair(tb, opts)
	out, in := make([]byte, 8), make([]byte, 8)
	entries := make([]Entry, 8)
	move := func(from, to *Endpoint, dst, src Addr) {
		check(tb, to.TRecv(in, src, 1, 0, nil))
		err := from.TSend(out, dst, 1, nil)
		for err == fierr.Again { // not connected yet
			_, _ = to.CQ().Read(nil)
			err = from.TSend(out, dst, 1, nil)
		}
		check(tb, err)
		want(tb, from, entries, FlagSend)
		want(tb, to, entries, FlagRecv)
	}
	round = func() { move(x, y, toY, toX); move(y, x, toX, toY) }
	round()
	return round
}
