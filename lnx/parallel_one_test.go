package lnx_test

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// 64 goroutines, senders and receivers, use a single endpoint that sends to itself:
// half of them the blocking calls, the others those of libfabric with a shared CQ.
func TestParallelOnOneEndpoint(t *testing.T) {
	onLinks(t, func(t *testing.T, c choice) {
		n := newNode(t, c.options())
		self := n.insert(n.ep.Name())
		ctx, cancel := context.WithTimeout(t.Context(), 2*limit)
		defer cancel()
		const pairs, rounds = 32, 6
		sizes := []int{0, 8, 100, 5000, 70_000}
		errs := make(chan error, 2*pairs)
		var all sync.WaitGroup
		run := func(f func() error) {
			all.Go(func() {
				if err := f(); err != nil {
					errs <- err
					cancel()
				}
			})
		}
		for tag := range uint64(pairs) {
			if tag%2 == 0 {
				run(func() error { return blockingSends(ctx, n.ep, self, tag, sizes, rounds) })
				run(func() error { return blockingRecvs(ctx, n.ep, self, tag, sizes, rounds) })
			} else {
				run(func() error { return queuedSends(ctx, n.ep, self, tag, sizes, rounds) })
				run(func() error { return queuedRecvs(ctx, n.ep, self, tag, sizes, rounds) })
			}
		}
		through := make(chan struct{})
		go func() { all.Wait(); close(through) }()
		for waiting := true; waiting; runtime.Gosched() {
			select {
			case <-through:
				waiting = false
			default:
				n.ep.CQ().Signal() // ends the waits for what another one has read
			}
		}
		close(errs)
		for err := range errs {
			require.NoError(t, err)
		}
	})
}
