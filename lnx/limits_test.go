package lnx_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
	"golnx/providers/fierr"
)

// A full CQ refuses operations and loses nothing.
func TestCQFull(t *testing.T) {
	onMatchers(t, func(t *testing.T, c choice) {
		const size, count = 8, 50
		opts := c.options()
		opts.CQSize = size
		n := newNode(t, opts)
		a := startAgent(t, c, limit)
		toA := n.insert(a.name)
		toN := a.do(order{Do: "insert", Blob: n.ep.Name()}).Addr
		var posted []*pending
		var msgs []message
		for i := range count {
			posted = append(posted, n.post(8, toA, 1, 0))
			msgs = append(msgs, message{Size: 8, Tag: 1, Seed: uint64(i)})
		}
		a.Put(order{Do: "send", Addr: toN, Msgs: msgs})
		// While another goroutine waits, it drives the rails, and completions
		// that nobody reads pile up.
		refused := func() error { return n.ep.TRecv(nil, toA, 99, 0, nil) }
		ctx, cancel := context.WithCancel(t.Context())
		waiter := make(chan error, 1)
		go func() { _, err := n.ep.Recv(ctx, toA, 98, 0, nil); waiter <- err }()
		for end := deadline(); refused() == nil; runtime.Gosched() {
			require.False(t, end(), "the CQ does not fill")
		}
		cancel()
		require.ErrorIs(t, inTime(t, func() error { return <-waiter }), context.Canceled)
		require.ErrorIs(t, refused(), fierr.EAgain)
		require.ErrorIs(t, n.ep.TSend(nil, toA, 1, nil), fierr.EAgain)
		require.ErrorIs(t, n.ep.TRecvMsg(&lnx.Msg{Addr: toA}, lnx.FlagPeek), fierr.EAgain)
		n.finish(posted...)
		for i, p := range posted {
			check(t, p, msgs[i], toA)
		}
		a.sent(t)
		n.until(func() bool { return refused() == nil })
		a.Wait()
	})
}

// Receives beyond MaxPosted are refused until others end.
func TestMaxPosted(t *testing.T) {
	opts := choice{Links: "shm"}.options()
	opts.MaxPosted = 10
	n := newNode(t, opts)
	self := n.insert(n.ep.Name())
	var posted []*pending
	for range 10 {
		posted = append(posted, n.post(8, self, 1, 0))
	}
	for range 3 {
		require.ErrorIs(t, n.ep.TRecv(nil, self, 1, 0, nil), fierr.EAgain)
	}
	m := message{Size: 8, Tag: 1, Seed: 1}
	n.send(self, m)
	n.finish(posted[0])
	check(t, posted[0], m, self)
	last := n.post(8, self, 1, 0)
	require.ErrorIs(t, n.ep.TRecv(nil, self, 1, 0, nil), fierr.EAgain)
	require.NoError(t, n.ep.Cancel(posted[1]))
	n.finish(posted[1])
	n.post(8, self, 1, 0)
	for range 9 {
		n.send(self, m)
	}
	n.finish(append(posted[2:], last)...)
}

// Unexpected messages beyond MaxUnexpected wait with their senders and are not
// lost.
func TestMaxUnexpected(t *testing.T) {
	onLinks(t, func(t *testing.T, c choice) {
		const most, count = 20, 2000
		opts := c.options()
		opts.MaxUnexpected = most
		n := newNode(t, opts)
		a := startAgent(t, c, 2*limit)
		toA := n.insert(a.name)
		toN := a.do(order{Do: "insert", Blob: n.ep.Name()}).Addr
		var msgs []message
		for i := range count {
			msgs = append(msgs, message{Size: 8 + i%10*1000, Tag: uint64(i % 2), Seed: uint64(i)})
		}
		a.Put(order{Do: "send", Addr: toN, Msgs: msgs})
		n.until(func() bool { return n.unexpected() >= most })
		// The limit is looked at between calls; one call into shm may bring many.
		brought := n.unexpected()
		for range 1000 {
			n.poll()
		}
		require.Equal(t, brought, n.unexpected())
		for _, m := range msgs {
			check(t, n.recv(m.Size, toA, m.Tag, 0), m, toA)
		}
		a.sent(t)
		a.Wait()
	})
}

// Exactly MaxSends sends can be under way; those beyond are refused until others have
// completed.
func TestMaxSends(t *testing.T) {
	onLinks(t, func(t *testing.T, c choice) {
		most := 3
		if !c.network() {
			most = 1 // shm itself takes one large message to a peer at a time
		}
		opts := c.options()
		opts.MaxSends = most
		a, b := newNode(t, opts), newNode(t, c.options())
		toB, toA := a.insert(b.ep.Name()), b.insert(a.ep.Name())
		both := func(cond func() bool) { a.until(func() bool { b.poll(); return cond() }) }
		hello := b.post(0, toA, 1, 0)
		both(func() bool { return a.ep.TInject(nil, toB, 1) == nil })
		both(func() bool { return hello.done })
		m := message{Size: 100_000, Tag: 1, Seed: 7}
		for range 3 {
			var sends, recvs []*pending
			for range most {
				p, err := a.start(toB, m)
				require.NoError(t, err)
				sends = append(sends, p)
			}
			// Nobody drives b, so that none of them completes.
			for range 100 {
				require.ErrorIs(t, a.startOnce(toB, m, &pending{buf: payload(m.Seed, m.Size)}), fierr.EAgain)
				require.ErrorIs(t, a.ep.TInject(nil, toB, 1), fierr.EAgain, "injected messages count as well")
				a.poll()
			}
			for range sends {
				recvs = append(recvs, b.post(m.Size, toA, 1, 0))
			}
			for _, p := range append(sends, recvs...) {
				both(func() bool { return p.done })
			}
			for _, p := range recvs {
				check(t, p, m, toA)
			}
		}
	})
}

// A full CQ refuses claims as well: what is claimed stays so, and what is not is there
// still, until there is room.
func TestCQFullKeepsClaims(t *testing.T) {
	onMatchers(t, func(t *testing.T, c choice) {
		const size = 3
		opts := c.options()
		opts.CQSize = size
		n := newNode(t, opts)
		self := n.insert(n.ep.Name())
		msgs := []message{{Size: 8, Tag: 1, Seed: 1}, {Size: 5000, Tag: 1, Seed: 2}, {Size: 60, Tag: 1, Seed: 3}}
		for _, m := range msgs {
			m.Inject = m.Size < 64
			p, err := n.start(self, m)
			require.NoError(t, err)
			if c.network() { // below the eager size the completion does not wait for a receive
				n.finish(p)
			}
		}
		n.await(uint64(len(msgs)), msgs[len(msgs)-1].Tag)
		claims := []*pending{{}, {}}
		for _, claim := range claims {
			n.recvMsg(&lnx.Msg{Addr: self, Tag: 1, Context: claim}, lnx.FlagPeek|lnx.FlagClaim)
		}
		peek := &lnx.Msg{Addr: self, Tag: 1, Context: "peek"}
		for range size {
			require.NoError(t, n.ep.TRecvMsg(peek, lnx.FlagPeek))
		}
		buf := make([]byte, 5000)
		for range 3 {
			for _, flags := range []lnx.Flags{lnx.FlagPeek, lnx.FlagPeek | lnx.FlagClaim, lnx.FlagPeek | lnx.FlagDiscard} {
				require.ErrorIs(t, n.ep.TRecvMsg(peek, flags), fierr.EAgain, "%v", flags)
			}
			for _, claim := range claims {
				for _, flags := range []lnx.Flags{lnx.FlagClaim, lnx.FlagClaim | lnx.FlagDiscard} {
					m := &lnx.Msg{IOV: [][]byte{buf}, Addr: self, Tag: 1, Context: claim}
					require.ErrorIs(t, n.ep.TRecvMsg(m, flags), fierr.EAgain, "%v", flags)
				}
			}
		}
		for len(n.odd) < size {
			n.poll()
		}
		for i, claim := range claims {
			renewed(claim, msgs[i].Size)
			m := &lnx.Msg{IOV: [][]byte{claim.buf}, Addr: self, Tag: 1, Context: claim}
			check(t, n.recvMsg(m, lnx.FlagClaim|lnx.FlagCompletion), msgs[i], self)
		}
		check(t, n.recv(msgs[2].Size, self, 1, 0), msgs[2], self)
	})
}

// When MaxUnexpectedBytes of messages that had to be fetched are held, nothing is driven,
// which is said, and none is lost. One call into rxm can bring many at once.
func TestMaxUnexpectedBytes(t *testing.T) {
	for _, c := range choices {
		if !c.network() {
			continue // nothing is fetched
		}
		t.Run(c.String(), func(t *testing.T) {
			const size, most, count = 17_000, 1 << 20, 2000
			opts := c.options()
			opts.MaxUnexpectedBytes = most
			n := newNode(t, opts)
			a := startAgent(t, c, 2*limit)
			toA := n.insert(a.name)
			toN := a.do(order{Do: "insert", Blob: n.ep.Name()}).Addr
			var msgs []message
			for i := range count {
				msgs = append(msgs, message{Size: size, Tag: uint64(i % 2), Seed: uint64(i)})
			}
			a.Put(order{Do: "send", Addr: toN, Msgs: msgs})
			full := func() bool {
				_, err := n.ep.CQ().Read(n.batch[:])
				require.ErrorIs(t, err, fierr.EAgain)
				return errors.Is(err, lnx.ErrUnexpectedFull)
			}
			for late := deadline(); !full(); runtime.Gosched() {
				require.False(t, late(), "it is never full")
			}
			held := n.unexpected()
			require.GreaterOrEqual(t, held, uint64(most/size))
			require.Less(t, held, uint64(count), "one call brings some hundreds at most")
			for range 1000 {
				require.True(t, full())
			}
			require.Equal(t, held, n.unexpected())
			_, err := n.ep.CQ().Wait(t.Context(), n.batch[:])
			require.ErrorIs(t, err, lnx.ErrUnexpectedFull, "nothing can come")
			for _, m := range msgs {
				check(t, n.recv(m.Size, toA, m.Tag, 0), m, toA)
			}
			a.sent(t)
			a.Wait()
		})
	}
}
