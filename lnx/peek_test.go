package lnx_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
	"golnx/providers/fierr"
)

// recvMsg calls TRecvMsg and waits for its completion.
func (n *node) recvMsg(m *lnx.Msg, flags lnx.Flags) *pending {
	p := m.Context.(*pending)
	require.NoError(n.t, n.ep.TRecvMsg(m, flags))
	n.finish(p)
	return p
}

// renewed is the same context for one more operation.
func renewed(p *pending, size int) *pending {
	*p = pending{buf: make([]byte, size)}
	return p
}

// What a peek says is what a receive then gets; what it claims or discards nobody
// else gets. Sizes are around the providers' protocols.
func TestPeek(t *testing.T) {
	onMatchers(t, func(t *testing.T, c choice) {
		n, a, toA, toN := meet(t, c)
		seen := uint64(0)
		for _, size := range []int{0, 10, 4000, 9000, 100_000, 1 << 20} {
			msgs := []message{
				{Size: size, Tag: 0x10, Seed: 1, HasData: true, Data: 99},
				{Size: size, Tag: 0x11, Seed: 2},
				{Size: size, Tag: 0x12, Seed: 3},
				{Size: size, Tag: 0x13, Seed: 4},
				{Size: size, Tag: 0x14, Seed: 5},
			}
			source := toA
			if c.Direct { // who sent it a peek from anybody does not say
				source = lnx.AddrUnspec
			}
			peeked := func(p *pending, m message) {
				t.Helper()
				require.Nil(t, p.err)
				require.Equal(t, []any{m.Size, m.Tag, source}, []any{p.entry.Len, p.entry.Tag, p.entry.Src})
				if m.HasData {
					require.NotZero(t, p.entry.Flags&lnx.FlagRemoteCQData)
					require.Equal(t, m.Data, p.entry.Data)
				}
			}
			any := func(p *pending) *lnx.Msg {
				return &lnx.Msg{Addr: lnx.AddrUnspec, Tag: 0x10, Ignore: 0xf, Context: p}
			}
			nothing := n.recvMsg(any(&pending{}), lnx.FlagPeek)
			require.ErrorIs(t, nothing.err, fierr.ENoMsg)

			a.Put(order{Do: "send", Addr: toN, Msgs: msgs})
			seen += uint64(len(msgs))
			n.await(seen, 0x14)
			peeked(n.recvMsg(any(&pending{}), lnx.FlagPeek), msgs[0])
			peeked(n.recvMsg(any(&pending{}), lnx.FlagPeek|lnx.FlagCompletion), msgs[0])
			nothing = n.recvMsg(&lnx.Msg{Addr: toA, Tag: 0x20, Context: &pending{}}, lnx.FlagPeek)
			require.ErrorIs(t, nothing.err, fierr.ENoMsg)

			// Claim the first; the next peek and a receive go past it.
			claim := &pending{}
			peeked(n.recvMsg(any(claim), lnx.FlagPeek|lnx.FlagClaim), msgs[0])
			require.ErrorIs(t, n.ep.TRecvMsg(any(claim), lnx.FlagPeek|lnx.FlagClaim), fierr.EBusy)
			peeked(n.recvMsg(any(&pending{}), lnx.FlagPeek), msgs[1])
			check(t, n.recv(size, toA, 0x10, 0xf), msgs[1], toA)

			// Discard one from the queue, and one that was claimed.
			peeked(n.recvMsg(any(&pending{}), lnx.FlagPeek|lnx.FlagDiscard), msgs[2])
			second := &pending{}
			peeked(n.recvMsg(any(second), lnx.FlagPeek|lnx.FlagClaim), msgs[3])
			p := n.recvMsg(any(renewed(second, 0)), lnx.FlagClaim|lnx.FlagDiscard|lnx.FlagCompletion)
			require.Nil(t, p.err)
			require.ErrorIs(t, n.ep.TRecvMsg(any(second), lnx.FlagClaim), fierr.EInval, "discarded")

			// Receive what was claimed.
			m := any(renewed(claim, size))
			m.IOV = [][]byte{claim.buf}
			check(t, n.recvMsg(m, lnx.FlagClaim|lnx.FlagCompletion), msgs[0], toA)
			require.ErrorIs(t, n.ep.TRecvMsg(m, lnx.FlagClaim), fierr.EInval, "received")

			check(t, n.recv(size, toA, 0x14, 0), msgs[4], toA)
			nothing = n.recvMsg(any(&pending{}), lnx.FlagPeek)
			require.ErrorIs(t, nothing.err, fierr.ENoMsg)
			a.sent(t)
		}
		a.Wait()
	})
}

// A claimed message that is longer than the buffers is truncated as any other.
func TestClaimTruncated(t *testing.T) {
	onMatchers(t, func(t *testing.T, c choice) {
		n, a, toA, toN := meet(t, c)
		for i, size := range []int{2, 4096, 5000, 1 << 20} {
			m := message{Size: size, Tag: 1, Seed: uint64(i)}
			a.Put(order{Do: "send", Addr: toN, Msgs: []message{m}})
			n.await(uint64(i)+1, m.Tag)
			p := &pending{}
			n.recvMsg(&lnx.Msg{Addr: toA, Tag: 1, Context: p}, lnx.FlagPeek|lnx.FlagClaim)
			renewed(p, size-1)
			n.recvMsg(&lnx.Msg{IOV: [][]byte{p.buf}, Addr: toA, Tag: 1, Context: p}, lnx.FlagClaim)
			checkCut(t, p, p.buf, m, toA)
			a.sent(t)
		}
		a.Wait()
	})
}

// Without FlagCompletion only failures are reported.
func TestSelectiveCompletion(t *testing.T) {
	onMatchers(t, func(t *testing.T, c choice) {
		n, a, toA, toN := meet(t, c)
		sent := []message{{Size: 5000, Tag: 1, Seed: 1}, {Size: 5000, Tag: 2, Seed: 2}}
		a.do(order{Do: "post", Addr: toN, Msgs: sent})
		a.Put(order{Do: "collect", Addr: toN, Msgs: sent})
		quiet, loud := &pending{buf: payload(1, 5000)}, &pending{buf: payload(2, 5000)}
		n.until(func() bool {
			return n.ep.TSendMsg(&lnx.Msg{IOV: [][]byte{quiet.buf}, Addr: toA, Tag: 1, Context: quiet}, 0) == nil
		})
		n.until(func() bool {
			return n.ep.TSendMsg(&lnx.Msg{IOV: [][]byte{loud.buf}, Addr: toA, Tag: 2, Context: loud}, lnx.FlagCompletion) == nil
		})
		n.finish(loud)
		n.during(a)

		silent, cut, last := &pending{buf: make([]byte, 8)}, &pending{buf: make([]byte, 7)}, &pending{buf: make([]byte, 8)}
		for i, p := range []*pending{silent, cut, last} {
			flags := lnx.Flags(0)
			if p == last {
				flags = lnx.FlagCompletion
			}
			require.NoError(t, n.ep.TRecvMsg(&lnx.Msg{IOV: [][]byte{p.buf}, Addr: toA, Tag: uint64(i), Context: p}, flags))
		}
		msgs := []message{{Size: 8, Tag: 0, Seed: 3}, {Size: 8, Tag: 1, Seed: 4}, {Size: 8, Tag: 2, Seed: 5}}
		a.Put(order{Do: "send", Addr: toN, Msgs: msgs})
		n.finish(cut, last)
		a.sent(t)
		checkCut(t, cut, cut.buf, msgs[1], toA)
		check(t, last, msgs[2], toA)
		require.Equal(t, payload(3, 8), silent.buf)
		require.Zero(t, quiet.times+silent.times)
		require.Empty(t, n.odd)
		require.Empty(t, n.oddErr)
		a.Wait()
	})
}
