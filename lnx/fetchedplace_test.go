package lnx

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A message that was fetched is no longer its provider's: who is removed does not matter
// to it, and the provider is not asked whose it is.
func TestRemovedPeerBesideFetchedMessage(t *testing.T) {
	const size = 200
	b, err := Open(linkOf(t, "shm+tcp:lo"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	a, err := Open(linkOf(t, "tcp:lo"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	toB, err := a.AV().Insert(b.Name())
	require.NoError(t, err)
	_, err = b.AV().Insert(a.Name())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), pairLimit)
	defer cancel()
	sent := calling(func() error { return a.Send(ctx, toB, 77, make([]byte, size)) })
	soon(t, func() bool { return len(driven(b)) == 1 && b.fetchedBytes == size }, "the message over tcp")
	require.NoError(t, outcome(t, sent, "Send"))
	b.lock()
	places := b.waitingOf()
	b.mu.Unlock()
	require.Zero(t, places.rails)
	require.Empty(t, places.addrs, "the provider is asked")

	p, to := meetWaiting(t, b)
	p.Put(70_000)
	soon(t, func() bool { return len(driven(b)) == 2 }, "the message over shm")
	p.Kill()
	soon(t, func() bool { driven(b); return b.dead(to) }, "the end of the peer")
	require.NoError(t, b.AV().Remove(to))
	info, err := b.Recv(ctx, AddrUnspec, 77, 0, make([]byte, size))
	require.NoError(t, err)
	require.Equal(t, size, info.Len)
}

// Receiving a message that was fetched ends what others wait for, also while they sleep.
func TestFetchedMessageWakesWait(t *testing.T) {
	for _, c := range []struct {
		links string
		size  int
	}{{"tcp:lo", 10}, {"shm", 1000}} {
		t.Run(fmt.Sprint(c.links, " ", c.size), func(t *testing.T) {
			a, b, toB, toA := connected(t, Options{Links: c.links})
			b.wait.nap, b.bells.nap = time.Hour, time.Hour // nothing else wakes it
			ctx, cancel := context.WithTimeout(t.Context(), pairLimit)
			defer cancel()
			sent := calling(func() error { return a.Send(ctx, toB, 7, make([]byte, c.size)) })
			soon(t, func() bool { driven(b); return b.fetchedBytes == uint64(c.size) }, "the message")
			require.NoError(t, outcome(t, sent, "Send"))
			waiter := calling(func() error { _, err := b.CQ().Wait(ctx, make([]Entry, 1)); return err })
			soon(t, b.wait.sleeping.Load, "sleep")
			require.NoError(t, b.TRecv(make([]byte, c.size), toA, 7, 0, nil))
			require.NoError(t, outcome(t, waiter, "Wait"))
		})
	}
}

func linkOf(t *testing.T, links string) *Link {
	t.Helper()
	l, err := Links(Options{Links: links, Lookup: env(nil)})
	require.NoError(t, err)
	return l.Links[0]
}
