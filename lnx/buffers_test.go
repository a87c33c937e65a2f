package lnx

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// A receive whose message is on its way into the buffer ends when the message has
// arrived: neither the limit of unexpected messages nor the end of its context give
// the buffer back before.
func TestBufferOfMessageUnderWay(t *testing.T) {
	onRails(t, func(t *testing.T, links string) {
		for _, c := range []struct {
			name string
			recv func(b *Endpoint, ctx context.Context, from Addr, buf []byte) error
			ends bool // the context, meanwhile
		}{
			{"Recv", blockingRecv, false},
			{"Recv, context ended", blockingRecv, true},
			{"Future.Wait", futureRecv, false},
			{"Future.Wait, context ended", futureRecv, true},
		} {
			t.Run(c.name, func(t *testing.T) {
				const size = 4 << 20
				a, b, toB, toA := connected(t, Options{Links: links, MaxUnexpected: 1})
				flooder, floodB := another(t, b)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				big, buf := simNoise(1, size), make([]byte, size)
				received := calling(func() error { return c.recv(b, ctx, toA, buf) })
				soon(t, func() bool { b.lock(); defer b.mu.Unlock(); return b.posted.Len() == 1 }, "the receive")
				require.NoError(t, a.TSend(big, toB, 1, "big"))
				soon(t, func() bool { return flooder.TInject([]byte("flood"), floodB, 2) == nil }, "TInject")
				// Nobody drives a, so that the transfer does not end.
				soon(t, func() bool {
					b.lock()
					defer b.mu.Unlock()
					return b.active == 1 && b.suq.Len() == 1
				}, "both messages")
				if c.ends {
					cancel()
				}
				turns(t, b, 10_000)
				require.Empty(t, received, "ended before the message arrived")
				sent := 0
				soon(t, func() bool {
					n, _ := a.CQ().Read(make([]Entry, 1))
					sent += n
					return len(received) == 1
				}, "the message")
				require.NoError(t, <-received)
				require.True(t, bytes.Equal(big, buf), "the message is whole")
				_, err := b.Recv(t.Context(), AddrUnspec, 2, 0, make([]byte, 5))
				require.NoError(t, err, "what came meanwhile")
				soon(t, func() bool {
					n, _ := a.CQ().Read(make([]Entry, 1))
					sent += n
					_, _ = b.CQ().Read(nil)
					return sent == 1
				}, "the completion of the send")
			})
		}
	})
}

func blockingRecv(b *Endpoint, ctx context.Context, from Addr, buf []byte) error {
	_, err := b.Recv(ctx, from, 1, 0, buf)
	return err
}

// futureRecv waits on when its context has ended, as long as it cannot cancel.
func futureRecv(b *Endpoint, ctx context.Context, from Addr, buf []byte) error {
	f, err := b.RecvAsync(ctx, from, 1, 0, buf)
	if err != nil {
		return err
	}
	if _, err = f.Wait(ctx); err == nil || !errors.Is(err, context.Canceled) && !errors.Is(err, ErrUnexpectedFull) {
		return err
	}
	if f.Cancel() {
		return fmt.Errorf("canceled: %w", err)
	}
	_, err = f.Wait(context.Background())
	return err
}
