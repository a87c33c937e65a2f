package lnx

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// A message above the inject size that waits is gone when its sender, of this process,
// closes, though the sender was removed before.
func TestRemovedPeerThatClosesWithMessageWaiting(t *testing.T) {
	for _, c := range []struct {
		name   string
		before bool // the message comes, and then the sender is removed
	}{{"removed before", false}, {"removed", true}} {
		t.Run(c.name, func(t *testing.T) {
			_, b, _, _ := connected(t, Options{Links: "shm"})
			a, err := Open(b.Link())
			require.NoError(t, err)
			toB, toA := connect(t, a, b)
			if !c.before {
				require.NoError(t, b.AV().Remove(toA))
			}
			ctx, cancel := context.WithTimeout(t.Context(), pairLimit)
			defer cancel()
			_, err = a.SendAsync(ctx, toB, 5, make([]byte, 300_000))
			require.NoError(t, err)
			soon(t, func() bool { return len(driven(b)) == 1 }, "the message")
			if c.before {
				require.NoError(t, b.AV().Remove(toA))
			}
			require.NoError(t, a.Close())
			require.Empty(t, driven(b))
			turns(t, b, 1000)
		})
	}
}
