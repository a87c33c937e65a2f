package lnx_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/internal/twoproc"
	"golnx/lnx"
)

// cutBlobs knows an endpoint of its own process only by the first part of its blob,
// as C LNX would have written it, and goes on sending when that endpoint closes.
var cutBlobs = twoproc.NewRole("cut blobs", func(c *twoproc.Child) {
	var link choice
	c.Get(&link)
	a, b := openNode(c, link.options()), openNode(c, link.options())
	accepted := 0
	for cut := 1; cut < len(b.ep.Name()); cut++ {
		blob := b.ep.Name()
		blob = blob[:len(blob)-cut]
		toB, err := a.ep.AV().Insert(blob)
		if err != nil {
			continue
		}
		accepted++
		m := message{Size: 8, Tag: 1, Seed: uint64(cut)}
		r := b.post(m.Size, b.insert(a.ep.Name()), 1, 0)
		p := &pending{buf: payload(m.Seed, m.Size)}
		sent := false
		a.until(func() bool {
			sent = sent || a.startOnce(toB, m, p) == nil
			b.poll()
			return sent && p.done && r.done
		})
		require.Nil(c, r.err)
		require.NoError(c, b.ep.Close())
		for _, size := range []int{8, 5000, 1 << 20} {
			require.ErrorIs(c, a.ep.TSend(make([]byte, size), toB, 1, nil), lnx.ErrPeerDead, "cut by %d", cut)
		}
		require.NoError(c, a.ep.AV().Remove(toB))
		_, err = a.ep.AV().Insert(blob)
		require.ErrorIs(c, err, lnx.ErrPeerDead, "cut by %d", cut)
		b = openNode(c, link.options())
	}
	require.NoError(c, a.ep.Close())
	require.NoError(c, b.ep.Close())
	c.Put(accepted)
})

// The part of a blob that C LNX knows is enough to see that the peer was an endpoint
// of this process and has closed.
func TestCutBlobOfClosedEndpoint(t *testing.T) {
	for _, c := range choices {
		if c.network() {
			continue
		}
		t.Run(c.String(), func(t *testing.T) {
			p := cutBlobs.Start(t, limit)
			p.Put(c)
			var accepted int
			p.Get(&accepted)
			require.Positive(t, accepted, "cuts that pass for a blob of C LNX")
			p.Wait()
		})
	}
}
