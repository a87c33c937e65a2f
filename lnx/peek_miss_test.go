package lnx_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
	"golnx/providers/fierr"
)

// A peek of any kind that finds no message answers ENOMSG, claims and drops nothing,
// and the messages which it passed over are received whole.
func TestPeekMisses(t *testing.T) {
	onMatchers(t, func(t *testing.T, c choice) {
		n, a, toA, toN := meet(t, c)
		self := n.insert(n.ep.Name())
		peeks := []lnx.Flags{lnx.FlagPeek, lnx.FlagPeek | lnx.FlagClaim, lnx.FlagPeek | lnx.FlagDiscard, lnx.FlagPeek | lnx.FlagClaim | lnx.FlagCompletion}
		miss := func(from lnx.Addr, tag, ignore uint64, what string) {
			t.Helper()
			for _, flags := range peeks {
				p := n.recvMsg(&lnx.Msg{Addr: from, Tag: tag, Ignore: ignore, Context: &pending{}}, flags)
				require.ErrorIs(t, p.err, fierr.ENoMsg, "%s: %v", what, flags)
				require.Equal(t, 1, p.times)
				for _, claim := range []lnx.Flags{lnx.FlagClaim, lnx.FlagClaim | lnx.FlagDiscard} {
					err := n.ep.TRecvMsg(&lnx.Msg{Context: p}, claim)
					require.ErrorIs(t, err, fierr.EInval, "%s: %v has claimed nothing", what, flags)
				}
			}
		}
		seen := uint64(0)
		for i, size := range []int{0, 8, 4096, 4097, 16_384, 16_385, 1 << 20} {
			miss(lnx.AddrUnspec, 0, ^uint64(0), "no message at all")
			m := message{Size: size, Tag: 0x10, Seed: uint64(i)}
			a.Put(order{Do: "send", Addr: toN, Msgs: []message{m}})
			seen++
			n.await(seen, 0x10)
			miss(lnx.AddrUnspec, 0x11, 0, "another tag")
			miss(toA, 0x30, 0xf, "another tag under the mask")
			miss(self, 0x10, 0, "another source")
			claim := &pending{}
			n.recvMsg(&lnx.Msg{Addr: toA, Tag: 0x10, Context: claim}, lnx.FlagPeek|lnx.FlagClaim)
			require.Nil(t, claim.err)
			miss(lnx.AddrUnspec, 0, ^uint64(0), "the message is claimed")
			r := n.post(8, toA, 0x10, 0) // is for the next message
			renewed(claim, size)
			got := n.recvMsg(&lnx.Msg{IOV: [][]byte{claim.buf}, Addr: toA, Tag: 0x10, Context: claim}, lnx.FlagClaim|lnx.FlagCompletion)
			check(t, got, m, toA)
			require.False(t, r.done)
			require.NoError(t, n.ep.Cancel(r))
			n.finish(r)
			a.sent(t)
		}
		a.Wait()
	})
}
