package lnx

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/internal/twoproc"
)

// removedRole is the peer that is removed: it sends all the time. The first word from
// the other side stops that, with the second nothing is sent back any more.
var removedRole = twoproc.NewRole("removed", func(c *twoproc.Child) {
	l, err := Links(Options{Links: "shm"})
	require.NoError(c, err)
	r := newRemoval(context.Background(), len(removedSizes))
	r.a, err = Open(l.Links[0])
	require.NoError(c, err)
	c.Put(r.a.Name())
	var name []byte
	require.True(c, c.Get(&name))
	r.toB, err = r.a.AV().Insert(name)
	require.NoError(c, err)
	for tag, size := range removedSizes {
		r.run(r.send, tag, size)
	}
	r.run(r.take, len(removedSizes), 8)
	var word string
	for c.Get(&word) {
		switch word {
		case "stop":
			r.stop.Store(true)
		case "back":
			r.back.Store(true)
		}
	}
	r.end(c)
	require.NoError(c, r.a.Close())
})

// A peer in another process that is removed while it sends takes nothing with it: shm
// moves its messages from process to process, where within one it shares the memory.
func TestPeerOfAnotherProcessRemovedDuringTraffic(t *testing.T) {
	l, err := Links(Options{Links: "shm", Lookup: env(nil)})
	require.NoError(t, err)
	r := newRemoval(t.Context(), len(removedSizes))
	defer r.cancel()
	r.b, err = Open(l.Links[0])
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.b.Close()) })
	a := removedRole.Start(t, 3*pairLimit)
	var name []byte
	a.Get(&name)
	toA, err := r.b.AV().Insert(name)
	require.NoError(t, err)
	r.toA.Store(uint64(toA))
	a.Put(r.b.Name())
	for tag, size := range removedSizes {
		r.run(r.recv, tag, size)
	}
	r.run(r.sendBack, len(removedSizes), 8)
	r.remove(t, name, 64)
	a.Put("stop")
	r.stop.Store(true)
	r.end(t)
	a.Put("back")
	a.Wait()
	require.False(t, slices.ContainsFunc(r.b.Stats(), func(s RailStats) bool { return s.Errors > 0 }), "%v", r.b.Stats())
}
