package lnx_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
	"golnx/providers/fierr"
)

// 64 goroutines use one endpoint at once, half of them the blocking calls and half
// the others with a shared CQ, while some insert peers, read statistics and signal.
func TestParallel(t *testing.T) {
	onLinks(t, func(t *testing.T, c choice) {
		a, b := newNode(t, c.options()), newNode(t, c.options())
		toB, toA := a.insert(b.ep.Name()), b.insert(a.ep.Name())
		ctx, cancel := context.WithTimeout(t.Context(), 2*limit)
		defer cancel()
		const pairs, rounds = 32, 8
		sizes := []int{0, 8, 100, 5000, 70_000}
		var all sync.WaitGroup
		errs := make(chan error, 4*pairs)
		run := func(f func() error) {
			all.Go(func() {
				if err := f(); err != nil {
					errs <- err
					cancel()
				}
			})
		}
		for i := range uint64(pairs) {
			ep, to, from := a.ep, toB, toA
			peer := b.ep
			if i%2 == 1 {
				ep, peer, to, from = b.ep, a.ep, toA, toB
			}
			if i < pairs/2 {
				run(func() error { return blockingSends(ctx, ep, to, i, sizes, rounds) })
				run(func() error { return blockingRecvs(ctx, peer, from, i, sizes, rounds) })
			} else {
				run(func() error { return queuedSends(ctx, ep, to, i, sizes, rounds) })
				run(func() error { return queuedRecvs(ctx, peer, from, i, sizes, rounds) })
			}
		}
		stop := make(chan struct{})
		var aside sync.WaitGroup
		for _, n := range []*node{a, b} {
			aside.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					n.ep.Stats()
					n.ep.CQ().Signal()
					if _, err := n.ep.AV().Insert(b.ep.Name()); err != nil {
						errs <- err
					}
					if !errors.Is(n.ep.Cancel("nobody"), fierr.ENoEnt) {
						errs <- errors.New("canceled nobody's")
					}
				}
			})
		}
		all.Wait()
		close(stop)
		aside.Wait()
		close(errs)
		for err := range errs {
			require.NoError(t, err)
		}
	})
}

func numbered(i, round uint64, size int) []byte {
	return payload(i<<32|round, size)
}

func blockingSends(ctx context.Context, ep *lnx.Endpoint, to lnx.Addr, tag uint64, sizes []int, rounds uint64) error {
	for r := range rounds {
		for _, size := range sizes {
			if err := ep.Send(ctx, to, tag, numbered(tag, r, size)); err != nil {
				return fmt.Errorf("send %d: %w", tag, err)
			}
		}
	}
	return nil
}

func blockingRecvs(ctx context.Context, ep *lnx.Endpoint, from lnx.Addr, tag uint64, sizes []int, rounds uint64) error {
	for r := range rounds {
		for _, size := range sizes {
			buf := make([]byte, size+1)
			info, err := ep.Recv(ctx, from, tag, 0, buf)
			if err != nil {
				return fmt.Errorf("recv %d: %w", tag, err)
			}
			if info.Len != size || string(buf[:size]) != string(numbered(tag, r, size)) {
				return fmt.Errorf("recv %d, round %d: %+v instead of %d bytes", tag, r, info, size)
			}
		}
	}
	return nil
}

// ended is the context of an operation whose completion any goroutine may read.
type ended struct {
	over atomic.Bool
	len  int
}

// pump reads completions for whomever they are until e is over.
func pump(ctx context.Context, ep *lnx.Endpoint, e *ended) error {
	var entries [4]lnx.Entry
	for i := 0; !e.over.Load(); i++ {
		var n int
		var err error
		if i%2 == 0 {
			n, err = ep.CQ().Read(entries[:])
		} else {
			// Somebody else may read what this one waits for; signals come all
			// the time.
			n, err = ep.CQ().Wait(ctx, entries[:])
		}
		for _, entry := range entries[:n] {
			o := entry.Context.(*ended)
			o.len = entry.Len
			if o.over.Swap(true) {
				return errors.New("completed twice")
			}
		}
		if errors.Is(err, fierr.EAvail) {
			failed, err := ep.CQ().ReadErr()
			if err == nil {
				return failed
			}
			continue // somebody was faster
		}
		if err != nil && !errors.Is(err, fierr.EAgain) {
			return err
		}
	}
	return nil
}

func queuedSends(ctx context.Context, ep *lnx.Endpoint, to lnx.Addr, tag uint64, sizes []int, rounds uint64) error {
	for r := range rounds {
		for _, size := range sizes {
			e := &ended{}
			buf := numbered(tag, r, size)
			for {
				err := ep.TSend(buf, to, tag, e)
				if err == nil {
					break
				}
				if !errors.Is(err, fierr.EAgain) || ctx.Err() != nil {
					return fmt.Errorf("tsend %d: %w", tag, err)
				}
			}
			if err := pump(ctx, ep, e); err != nil {
				return fmt.Errorf("tsend %d: %w", tag, err)
			}
		}
	}
	return nil
}

func queuedRecvs(ctx context.Context, ep *lnx.Endpoint, from lnx.Addr, tag uint64, sizes []int, rounds uint64) error {
	for r := range rounds {
		for _, size := range sizes {
			e := &ended{}
			buf := make([]byte, size+1)
			if err := ep.TRecv(buf, from, tag, 0, e); err != nil {
				return fmt.Errorf("trecv %d: %w", tag, err)
			}
			if err := pump(ctx, ep, e); err != nil {
				return fmt.Errorf("trecv %d: %w", tag, err)
			}
			if e.len != size || string(buf[:size]) != string(numbered(tag, r, size)) {
				return fmt.Errorf("trecv %d, round %d: %d instead of %d bytes", tag, r, e.len, size)
			}
		}
	}
	return nil
}

// A goroutine that waits in Wait does not take the completions of blocking calls,
// and they do not take its.
func TestWaitBesideBlocking(t *testing.T) {
	onLinks(t, func(t *testing.T, c choice) {
		n := newNode(t, c.options())
		self := n.insert(n.ep.Name())
		const count = 500
		seen := make(chan error, 1)
		go func() {
			var entries [1]lnx.Entry
			for i := range uint64(count) {
				k, err := n.ep.CQ().Wait(t.Context(), entries[:])
				if err != nil || k != 1 || entries[0].Context != i {
					seen <- fmt.Errorf("completion %d: %d, %+v, %v", i, k, entries[0], err)
					return
				}
			}
			seen <- nil
		}()
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		queued, blocked := make([]byte, 8), make([]byte, 8)
		for i := range uint64(count) {
			require.NoError(t, n.ep.TRecv(queued, self, 1, 0, i))
			require.NoError(t, n.ep.Send(ctx, self, 1, binary.LittleEndian.AppendUint64(nil, i)))
			require.NoError(t, n.ep.Send(ctx, self, 2, binary.LittleEndian.AppendUint64(nil, ^i)))
			_, err := n.ep.Recv(ctx, self, 2, 0, blocked)
			require.NoError(t, err)
			require.Equal(t, ^i, binary.LittleEndian.Uint64(blocked))
		}
		require.NoError(t, inTime(t, func() error { return <-seen }))
	})
}
