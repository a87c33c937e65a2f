package lnx

import (
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/peer"
	"golnx/providers/fierr"
	"golnx/providers/sim"
	"golnx/rail"
)

// The environment chooses between the two policies of fi_lnx(7), the option between
// all of them and before the environment. Only one that keeps to a path claims order.
func TestChoosingAPolicy(t *testing.T) {
	for _, c := range []struct {
		option, env, want string
		refused           bool
	}{
		{"", "", rail.PerPeer, false},
		{"", "PER_PEER", rail.PerPeer, false},
		{"", "PER_MSG", rail.PerMsg, false},
		{"PER_PEER", "PER_MSG", rail.PerPeer, false},
		{"PER_MSG", "", rail.PerMsg, false},
		{"WEIGHTED", "PER_MSG", rail.Weighted, false},
		{"NEAREST", "what an option overrides", rail.Nearest, false},
		{"", "WEIGHTED", "", true},
		{"", "NEAREST", "", true},
	} {
		vars := map[string]string{}
		if c.env != "" {
			vars["FI_LNX_MULTI_RAIL_SELECTION"] = c.env
		}
		listing, err := Links(Options{Links: "shm", Policy: c.option, Lookup: env(vars)})
		if c.refused {
			require.ErrorContains(t, err, "FI_LNX_MULTI_RAIL_SELECTION", "%+v", c)
			require.ErrorContains(t, err, c.env, "%+v", c)
			continue
		}
		require.NoError(t, err, "%+v", c)
		const sas = 1 << 8 // FI_ORDER_SAS
		require.Equal(t, c.want == rail.PerPeer, listing.Links[0].Info.MsgOrder&sas != 0, "%+v", c)
		ep, err := Open(listing.Links[0])
		require.NoError(t, err)
		require.Equal(t, c.want, ep.sel.Policy(), "%+v", c)
		require.Equal(t, c.want == rail.PerPeer, ep.Ordered(), "%+v", c)
		require.NoError(t, ep.Close())
	}
}

// A peer that is inserted again keeps its Addr. One that is removed while a send to it
// is under way is unknown from then on, but its Addr is nobody else's, not even when
// its place is taken after the send has ended.
func TestSimAddrOfRemovedPeer(t *testing.T) {
	w := newSimWorld(t, 2, simRails(2, sim.Rail{Rate: 8e9, Latency: 100}), Options{})
	a, b := w.nodes[0].ep, w.nodes[1].ep
	av := a.AV()
	again, err := av.Insert(b.Name())
	require.NoError(t, err)
	require.EqualValues(t, 1, again)
	known, err := av.Lookup(1)
	require.NoError(t, err)
	own, err := peer.Decode(b.Name())
	require.NoError(t, err)
	require.Equal(t, own.String(), known.String())

	r := w.recv(1, 0, 7, 1000)
	s, err := w.send(0, 1, 7, simNoise(1, 1000))
	require.NoError(t, err)
	require.NoError(t, av.Remove(1))
	require.ErrorIs(t, av.Remove(1), fierr.EInval)
	_, err = av.Lookup(1)
	require.ErrorIs(t, err, fierr.EInval)
	_, err = w.send(0, 1, 7, nil)
	require.ErrorIs(t, err, fierr.EInval)
	insert := func() Addr {
		addr, err := av.Insert(w.open(simRails(2, sim.Rail{}), Options{}).ep.Name())
		require.NoError(t, err)
		return addr
	}
	require.EqualValues(t, 2, insert(), "the send is under way")
	require.Zero(t, s.times)

	w.settle()
	w.good(s, r)
	third := insert()
	require.Equal(t, uint32(1), uint32(third), "the place is free")
	require.NotEqual(t, Addr(1), third)
	_, err = av.Lookup(1)
	require.ErrorIs(t, err, fierr.EInval)
	w.idle()
}
