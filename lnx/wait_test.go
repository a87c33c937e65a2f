package lnx_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
	"golnx/providers/fierr"
)

// waiting starts CQ.Wait, which may not have begun when this returns, and answers the
// channel of its outcome.
func waiting(ctx context.Context, ep *lnx.Endpoint, entries []lnx.Entry) chan error {
	c := make(chan error, 1)
	go func() {
		n, err := ep.CQ().Wait(ctx, entries)
		if err == nil && n != 1 {
			err = errors.New("not one completion")
		}
		c <- err
	}()
	return c
}

// Whatever ends CQ.Wait does so at any moment: before the wait has begun, while it
// spins or while it sleeps, for any number of callers.
func TestWaitEnds(t *testing.T) {
	for _, links := range []string{"shm", "tcp:lo", "shm+tcp:lo"} {
		t.Run(links, func(t *testing.T) {
			n := newNode(t, choice{Links: links}.options())
			self := n.insert(n.ep.Name())
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			entries := make([]lnx.Entry, 4)
			buf := make([]byte, 8)
			for range 20 {
				// Another call than Wait's own makes the message complete.
				require.NoError(t, n.ep.TRecv(buf, self, 1, 0, "recv"))
				c := waiting(ctx, n.ep, entries)
				n.until(func() bool { return n.ep.TInject(buf, self, 1) == nil })
				require.NoError(t, inTime(t, func() error { return <-c }))
				require.Equal(t, "recv", entries[0].Context)
			}
			cases := []struct {
				name string
				end  func()
				want error
			}{
				{"signal", n.ep.CQ().Signal, fierr.EAgain},
				{"context", cancel, context.Canceled},
				{"close", func() { require.NoError(t, n.ep.Close()) }, lnx.ErrClosed},
			}
			for _, c := range cases {
				var all []chan error
				wctx := ctx
				if c.name == "close" {
					wctx = t.Context()
				}
				for range 3 {
					all = append(all, waiting(wctx, n.ep, entries[:1:1]))
				}
				ended := inTime(t, func() (errs []error) {
					// A signal ends only the waits that have begun.
					for len(errs) < len(all) {
						c.end()
						for _, w := range all {
							select {
							case err := <-w:
								errs = append(errs, err)
							case <-time.After(time.Millisecond):
							}
						}
					}
					return errs
				})
				for _, err := range ended {
					require.ErrorIs(t, err, c.want, c.name)
				}
			}
			_, err := n.ep.CQ().Wait(t.Context(), entries)
			require.ErrorIs(t, err, lnx.ErrClosed)
		})
	}
}

// Close at any moment ends the waits that begin around it.
func TestWaitWhileClosing(t *testing.T) {
	for round := range 60 {
		n := openNode(t, choice{Links: "shm"}.options())
		var all []chan error
		begin := make(chan struct{})
		for i := range 4 {
			c := make(chan error, 1)
			all = append(all, c)
			go func() {
				<-begin
				var err error
				for err == nil || errors.Is(err, fierr.EAgain) {
					switch i {
					case 0:
						_, err = n.ep.CQ().Wait(context.Background(), make([]lnx.Entry, 1))
					case 1:
						_, err = n.ep.Recv(context.Background(), lnx.AddrUnspec, 1, 0, make([]byte, 8))
					case 2:
						n.ep.CQ().Signal()
						_, err = n.ep.CQ().Read(make([]lnx.Entry, 1))
					case 3:
						var f *lnx.Future
						if f, err = n.ep.RecvAsync(context.Background(), lnx.AddrUnspec, 2, 0, nil); err == nil {
							_, err = f.Wait(context.Background())
						}
					}
				}
				c <- err
			}()
		}
		close(begin)
		closed := make(chan error, 1)
		go func() { closed <- n.ep.Close() }()
		require.NoError(t, inTime(t, func() error { return <-closed }), round)
		for i, c := range all {
			require.ErrorIs(t, inTime(t, func() error { return <-c }), lnx.ErrClosed, "round %d, call %d", round, i)
		}
	}
}
