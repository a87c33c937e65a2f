package lnx_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
)

// CQ.Wait drives all rails: with nothing else called it gets the messages of a peer that
// has only shm and of one that has only tcp, who take turns.
func TestWaitDrivesAllRails(t *testing.T) {
	n := newNode(t, choice{Links: "shm+tcp:lo"}.options())
	peers := []*node{newNode(t, choice{Links: "shm"}.options()), newNode(t, choice{Links: "tcp:lo"}.options())}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var toN, from []lnx.Addr
	for _, p := range peers {
		toN, from = append(toN, p.insert(n.ep.Name())), append(from, n.insert(p.ep.Name()))
	}
	sent := make(chan error, 1)
	for i, size := range []int{8, 5000, 100_000, 8, 1 << 20, 0} {
		for p, peer := range peers {
			buf, got := payload(uint64(i), size), make([]byte, size)
			require.NoError(t, n.ep.TRecv(got, from[p], uint64(i), 0, i))
			go func() { sent <- peer.ep.Send(ctx, toN[p], uint64(i), buf) }()
			var e [1]lnx.Entry
			_, err := n.ep.CQ().Wait(ctx, e[:])
			require.NoError(t, err)
			require.Equal(t, i, e[0].Context)
			require.Equal(t, from[p], e[0].Src)
			require.Equal(t, buf, got)
			require.NoError(t, <-sent)
		}
	}
	for _, s := range n.ep.Stats() {
		require.EqualValues(t, 6, s.RxExpected, "%v", s)
	}
}
