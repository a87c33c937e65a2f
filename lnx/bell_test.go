package lnx

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/peer"
)

// asleep waits until an endpoint sleeps with its bell armed: from then on only the bell
// wakes it before its nap is over.
func asleep(t *testing.T, ep *Endpoint) {
	t.Helper()
	require.Eventually(t, ep.wait.sleeping.Load, 10*time.Second, 100*time.Microsecond)
}

// A message over shm wakes an endpoint that would sleep for very long, every time.
func TestBellWakes(t *testing.T) {
	for _, links := range []string{"shm", "shm+tcp:lo"} {
		t.Run(links, func(t *testing.T) {
			a, b, toB, toA := pair(t, Options{Links: links})
			b.bells.nap = time.Hour
			entries := make([]Entry, 4)
			for round := range 300 {
				buf := make([]byte, 8)
				require.NoError(t, b.TRecv(buf, toA, 1, 0, nil))
				woken := make(chan error, 1)
				go func() {
					_, err := b.CQ().Wait(t.Context(), entries)
					woken <- err
				}()
				if round%2 == 0 { // the other half catches it on its way to sleep
					asleep(t, b)
				}
				for a.TSend([]byte{byte(round)}, toB, 1, nil) != nil {
					_, _ = a.CQ().Read(make([]Entry, 4))
				}
				select {
				case err := <-woken:
					require.NoError(t, err)
					require.Equal(t, byte(round), buf[0])
				case <-time.After(20 * time.Second):
					require.Fail(t, "not woken", "round %d", round)
				}
			}
		})
	}
}

// Nobody rings for a peer without a bell, so that it is looked for often.
func TestMutePeers(t *testing.T) {
	a, b, toB, _ := pair(t, Options{Links: "shm"})
	require.True(t, a.belled())
	require.True(t, b.belled())
	require.NoError(t, a.AV().Remove(toB))
	own, err := peer.Decode(b.Name())
	require.NoError(t, err)
	own.Ext.Bell = nil
	blob, err := peer.Encode21(own)
	require.NoError(t, err)
	toB, err = a.AV().Insert(blob)
	require.NoError(t, err)
	require.False(t, a.belled())
	require.NoError(t, a.AV().Remove(toB))
	require.True(t, a.belled())
	own.Ext.Bell = []byte("nonsense")
	blob, err = peer.Encode21(own)
	require.NoError(t, err)
	_, err = a.AV().Insert(blob)
	require.NoError(t, err)
	require.False(t, a.belled())
}

// While a transfer is under way its steps are looked for.
func TestBellDuringTransfer(t *testing.T) {
	a, b, toB, toA := pair(t, Options{Links: "shm"})
	a.bells.nap, b.bells.nap = time.Hour, time.Hour
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for range 50 {
		sent := make(chan error, 1)
		go func() { sent <- a.Send(ctx, toB, 1, make([]byte, 1<<20)) }()
		asleep(t, a)
		_, err := b.Recv(ctx, toA, 1, 0, make([]byte, 1<<20))
		require.NoError(t, err)
		require.NoError(t, <-sent)
	}
}

// A transfer that another goroutine starts wakes who sleeps until the bell rings, since
// nobody rings for its steps.
func TestTransferWakesSleeper(t *testing.T) {
	a, b, toB, toA := connected(t, Options{Links: "shm"})
	a.bells.nap = time.Hour
	b.lock()
	b.leaveBell(b.peerOf(toA)) // it does not even ring for the end
	b.mu.Unlock()
	entries := make([]Entry, 4)
	for range 20 {
		require.NoError(t, b.TRecv(make([]byte, 1<<20), toA, 1, 0, nil))
		woken := make(chan error, 1)
		go func() {
			_, err := a.CQ().Wait(t.Context(), entries)
			woken <- err
		}()
		asleep(t, a)
		require.NoError(t, a.TSend(make([]byte, 1<<20), toB, 1, nil))
		want(t, b, make([]Entry, 4), FlagRecv)
		select {
		case err := <-woken:
			require.NoError(t, err)
		case <-time.After(20 * time.Second):
			require.Fail(t, "not woken")
		}
	}
}
