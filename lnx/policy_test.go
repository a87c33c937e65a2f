package lnx

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/providers/sim"
	"golnx/rail"
)

// lastRail is a user's policy: the last path that is there.
type lastRail struct{}

func (lastRail) Pick(r *rail.Rails, p *rail.Peer, _ rail.Call) (int, rail.Why) {
	reach := p.Reach()
	return reach[len(reach)-1].First, rail.Why{}
}
func (lastRail) Heard(*rail.Rails, *rail.Peer, int)               {}
func (lastRail) Explain(*rail.Rails, *rail.Peer, rail.Why) string { return "the last one" }
func (lastRail) Ordered() bool                                    { return true }

// A policy of the user's is asked for the rail of each peer.
func TestOwnPolicy(t *testing.T) {
	require.NoError(t, rail.RegisterPolicy("LAST", func([]rail.Info, rail.Options) (rail.Policy, error) { return lastRail{}, nil }))
	w := newSimWorld(t, 2, simRails(3, sim.Rail{}), Options{Policy: "LAST"})
	r := w.recv(1, 0, 7, 3)
	_, err := w.send(0, 1, 7, []byte{1, 2, 3})
	require.NoError(t, err)
	w.settle()
	w.good(r)
	stats := w.nodes[0].ep.Stats()
	require.Zero(t, stats[0].TSends+stats[1].TSends)
	require.EqualValues(t, 1, stats[2].TSends)
	w.idle()
}

// The link of one machine is tried on another under aliases: both links of the spec
// open, each with its rail under its own name, and carry messages.
func TestAliasedLinks(t *testing.T) {
	listing, err := Links(Options{
		Links: "shm+cxi:cxi0|shm+cxi:cxi1", Lookup: env(nil), DisableShm: true,
		ProviderAlias: map[string]string{"cxi": "tcp;ofi_rxm"},
		DomainAlias:   map[string]string{"cxi0": "lo", "cxi1": "lo"},
	})
	require.NoError(t, err)
	require.Len(t, listing.Links, 2)
	for i, name := range []string{"cxi:cxi0=tcp;ofi_rxm:lo", "cxi:cxi1=tcp;ofi_rxm:lo"} {
		a, err := Open(listing.Links[i])
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, a.Close()) })
		require.Equal(t, name, a.Stats()[0].Name)
		b, err := Open(listing.Links[i])
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, b.Close()) })
		toB, err := a.AV().Insert(b.Name())
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		sent := make(chan error, 1)
		go func() { sent <- a.Send(ctx, toB, 1, []byte("over an alias")) }()
		buf := make([]byte, 64)
		info, err := b.Recv(ctx, AddrUnspec, 1, 0, buf)
		require.NoError(t, err)
		require.Equal(t, "over an alias", string(buf[:info.Len]))
		require.NoError(t, <-sent)
	}
}
