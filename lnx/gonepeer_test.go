package lnx_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/internal/twoproc"
	"golnx/lnx"
	"golnx/providers/fierr"
)

// left is a message that waits when its sender goes, and how it is taken then.
type left struct {
	message
	way           string
	before, after lnx.Flags // of TRecvMsg, while the sender is there and when it has gone
	claim         *pending
}

// leftBehind are messages of sizes around the providers' ways, for each way to take
// one.
func leftBehind() (all []*left, msgs []message) {
	for _, way := range []left{
		{way: "receive"},
		{way: "claim", before: lnx.FlagPeek | lnx.FlagClaim, after: lnx.FlagClaim | lnx.FlagCompletion},
		{way: "claim and drop", before: lnx.FlagPeek | lnx.FlagClaim, after: lnx.FlagClaim | lnx.FlagDiscard | lnx.FlagCompletion},
		{way: "peek", after: lnx.FlagPeek},
		{way: "drop", after: lnx.FlagPeek | lnx.FlagDiscard},
	} {
		for _, size := range []int{8, 5000, 16_384, 16_385, 20_000, 70_000, 1 << 20} {
			l := way
			l.message = message{Size: size, Tag: uint64(len(all)), Seed: uint64(len(all))}
			all, msgs = append(all, &l), append(msgs, l.message)
		}
	}
	return all, msgs
}

// claimLeft claims those that are received by claims.
func (n *node) claimLeft(all []*left, from lnx.Addr) {
	for _, l := range all {
		if l.before != 0 {
			l.claim = &pending{}
			n.recvMsg(&lnx.Msg{Addr: from, Tag: l.Tag, Context: l.claim}, l.before)
			require.Nil(n.t, l.claim.err)
		}
	}
}

// takeLeft takes all when the sender has gone: each comes whole or is an error, of the
// call or of its completion.
func (n *node) takeLeft(all []*left, from lnx.Addr) (whole int) {
	for _, l := range all {
		what := fmt.Sprintf("%s of %d bytes", l.way, l.Size)
		p := &pending{}
		if l.claim != nil {
			p = l.claim
		}
		renewed(p, l.Size)
		var err error
		if l.after == 0 {
			err = n.ep.TRecv(p.buf, from, l.Tag, 0, p)
		} else {
			m := &lnx.Msg{Addr: from, Tag: l.Tag, Context: p}
			if l.after&(lnx.FlagPeek|lnx.FlagDiscard) == 0 {
				m.IOV = [][]byte{p.buf}
			}
			err = n.ep.TRecvMsg(m, l.after)
		}
		if err != nil {
			// EINVAL says that what was claimed is not there any more.
			require.True(n.t, errors.Is(err, lnx.ErrPeerDead) || errors.Is(err, fierr.EInval) && l.claim != nil, "%s: %v", what, err)
			continue
		}
		n.finish(p)
		if p.err != nil {
			continue
		}
		require.Equal(n.t, []any{l.Size, l.Tag, from}, []any{p.entry.Len, p.entry.Tag, p.entry.Src}, what)
		if l.after&(lnx.FlagPeek|lnx.FlagDiscard) == 0 {
			require.True(n.t, bytes.Equal(payload(l.Seed, l.Size), p.buf), what)
			whole++
		}
	}
	return whole
}

// untilDead waits until it is known that the peer has gone.
func (n *node) untilDead(peer lnx.Addr) {
	n.until(func() bool { return errors.Is(n.ep.TSend(nil, peer, 1<<40, nil), lnx.ErrPeerDead) })
}

// closesFirst has a sender of its own process close before its messages are taken.
var closesFirst = twoproc.NewRole("closes first", func(c *twoproc.Child) {
	var link choice
	c.Get(&link)
	n, a := openNode(c, link.options()), openNode(c, link.options())
	toN, toA := a.insert(n.ep.Name()), n.insert(a.ep.Name())
	all, msgs := leftBehind()
	for i, m := range msgs {
		p := &pending{buf: payload(m.Seed, m.Size)}
		a.until(func() bool { n.poll(); return a.startOnce(toN, m, p) == nil })
		a.until(func() bool { n.poll(); return n.waits(uint64(i+1), m.Tag) })
	}
	n.claimLeft(all, toA)
	require.NoError(c, a.ep.Close())
	n.untilDead(toA)
	whole := n.takeLeft(all, toA)
	require.NoError(c, n.ep.Close())
	c.Put(whole)
})

// Messages that wait when their sender closes are received whole or not at all.
func TestUnexpectedOfClosedPeer(t *testing.T) {
	onMatchers(t, func(t *testing.T, c choice) {
		p := closesFirst.Start(t, limit)
		p.Put(c)
		var whole int
		p.Get(&whole)
		t.Logf("%d received", whole)
		require.GreaterOrEqual(t, whole, 2, "small messages are here already")
		p.Wait()
	})
}

// So are those of a process that is killed.
func TestUnexpectedOfKilledPeer(t *testing.T) {
	onMatchers(t, func(t *testing.T, c choice) {
		n, a, toA, toN := meet(t, c)
		all, msgs := leftBehind()
		a.Put(order{Do: "send", Addr: toN, Msgs: msgs})
		n.await(uint64(len(msgs)), msgs[len(msgs)-1].Tag)
		n.claimLeft(all, toA)
		a.Kill()
		n.untilDead(toA)
		whole := n.takeLeft(all, toA)
		t.Logf("%d received", whole)
		require.GreaterOrEqual(t, whole, 2, "small messages are here already")
	})
}
