package timer

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/rail/intercept"
)

// Several endpoints open, send, are read and close at the same time, and the recorder is
// closed in the middle of it.
func TestConcurrency(t *testing.T) {
	for _, early := range []bool{false, true} {
		ts := new(tickers)
		r, hooks := start(t, Config{CQGap: 1, NIC: true}, Env{Clock: wall(), Ticker: ts.ticker, records: 256})
		var done, running sync.WaitGroup
		var total [4]uint64
		running.Add(len(total))
		for g := range total {
			done.Go(func() {
				for life := range 5 {
					w := newWorld(t, uint64(1+g+life*len(total)), hooks, "lo", "eth1")
					if life == 1 {
						running.Done()
					}
					for i := range 500 {
						if w.send(i%2, i/2%2, make([]byte, i), uint64(i), i) != nil {
							t.Error("a send was refused")
						}
						total[g]++
						if i%8 == 7 {
							for k := range 8 {
								if got := w.end(0, 0, 0); got != i-7+k {
									t.Errorf("context %v instead of %v", got, i-7+k)
								}
							}
							_, _ = hooks[0].CQRead(w.view, nil, func([]intercept.Entry) (int, error) { return 8, nil })
							_, _ = hooks[0].CQWait(w.view, nil, func([]intercept.Entry) (int, error) { return 0, nil })
						}
					}
					w.closing(hooks)
				}
			})
		}
		running.Wait()
		ts.tick(flushEvery)
		r.Flush()
		if early {
			require.NoError(t, r.Close())
		}
		done.Wait()
		require.NoError(t, r.Close())
		ops, links, m := recorded(t, r)
		require.Equal(t, uint64(len(ops)), m.Ops.Recorded)
		require.NotEmpty(t, ops)
		if !early {
			sum := uint64(0)
			for _, n := range total {
				sum += n
			}
			require.Equal(t, sum, m.Ops.Recorded+m.Ops.Dropped+m.Ops.Unfinished)
			require.LessOrEqual(t, m.Ops.Unfinished, uint64(5*4*4))
			require.Len(t, links, 5*4*4)
		}
		for _, op := range ops {
			require.Less(t, op.Link, len(links))
			require.Equal(t, int64(op.Tag), op.Bytes)
			require.Equal(t, int(op.Tag%2), links[op.Link].Rail)
		}
	}
}
