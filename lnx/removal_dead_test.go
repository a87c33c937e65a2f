package lnx

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/internal/twoproc"
	"golnx/providers"
	"golnx/providers/fierr"
)

// waitingRole sends one message that nobody receives before the process is killed.
var waitingRole = twoproc.NewRole("waiting", func(c *twoproc.Child) {
	l, err := Links(Options{Links: "shm"})
	require.NoError(c, err)
	ep, err := Open(l.Links[0])
	require.NoError(c, err)
	c.Put(ep.Name())
	var name []byte
	require.True(c, c.Get(&name))
	to, err := ep.AV().Insert(name)
	require.NoError(c, err)
	var size int
	require.True(c, c.Get(&size))
	buf := make([]byte, size)
	number(buf, uint64(size))
	_ = ep.Send(context.Background(), to, 5, buf) // it does not return
})

// Messages above the inject size that wait lie with their senders. Receives that take
// them when sender and process have gone fail, and nothing else does. Only then are the
// places of the senders in the rail free.
func TestRemovedPeersThatDieWithMessagesWaiting(t *testing.T) {
	for _, c := range []struct {
		name           string
		before, buried bool // the message comes, the peer is known to be dead, and then it is removed
	}{{"removed before", false, false}, {"removed", true, false}, {"removed when dead", true, true}} {
		t.Run(c.name, func(t *testing.T) {
			l, err := Links(Options{Links: "shm", Lookup: env(nil)})
			require.NoError(t, err)
			b, err := Open(l.Links[0])
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, b.Close()) })
			const peers, size = fewRetired + 2, 70_000
			for i := range peers {
				a, to := meetWaiting(t, b)
				if !c.before {
					require.NoError(t, b.AV().Remove(to))
				}
				a.Put(size)
				soon(t, func() bool { return len(driven(b)) > i }, "message %d", i)
				if c.before && !c.buried {
					require.NoError(t, b.AV().Remove(to))
				}
				a.Kill()
				if c.buried {
					soon(t, func() bool { driven(b); return b.dead(to) }, "the end of peer %d", i)
					require.NoError(t, b.AV().Remove(to))
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), pairLimit)
			defer cancel()
			for range peers {
				_, err := b.Recv(ctx, AddrUnspec, 5, 0, make([]byte, size))
				require.ErrorIs(t, err, fierr.EIO)
			}
			last, to := meetWaiting(t, b)
			require.NoError(t, b.AV().Remove(to))
			last.Kill()
			b.lock()
			defer b.mu.Unlock()
			require.Len(t, b.retired, 1)
		})
	}
}

func meetWaiting(t *testing.T, b *Endpoint) (*twoproc.Proc, Addr) {
	a := waitingRole.Start(t, pairLimit)
	var name []byte
	a.Get(&name)
	to, err := b.AV().Insert(name)
	require.NoError(t, err)
	a.Put(b.Name())
	return a, to
}

// driven drives an endpoint and answers which messages wait.
func driven(ep *Endpoint) []providers.Slot {
	_, _ = ep.CQ().Read(make([]Entry, 1)) // there are no entries
	ep.lock()
	defer ep.mu.Unlock()
	return slices.Collect(ep.suq.All())
}

// dead says that a peer is known to have ended.
func (ep *Endpoint) dead(addr Addr) bool {
	ep.lock()
	defer ep.mu.Unlock()
	return ep.peerOf(addr).err != nil
}
