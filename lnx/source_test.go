package lnx_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
)

// An endpoint that inserts its own name can send to itself.
func TestSelf(t *testing.T) {
	onMatchers(t, func(t *testing.T, c choice) {
		n := newNode(t, c.options())
		self := n.insert(n.ep.Name())
		seen := uint64(0)
		for _, m := range messagesOf(n.ep.Link()) {
			expected := n.post(m.Size, self, m.Tag, 0)
			p, err := n.start(self, m)
			require.NoError(t, err)
			n.finish(p, expected)
			check(t, expected, m, self)

			p, err = n.start(self, m)
			require.NoError(t, err)
			seen++
			n.await(seen, m.Tag)
			unexpected := n.post(m.Size, lnx.AddrUnspec, m.Tag, 0)
			n.finish(p, unexpected)
			check(t, unexpected, m, self)
			require.Nil(t, p.err)
		}
		// Truncated, too.
		for _, size := range []int{100, 5000, 1 << 20} {
			m := message{Size: size, Tag: 1, Seed: 1}
			r := n.post(size-1, self, 1, 0)
			p, err := n.start(self, m)
			require.NoError(t, err)
			n.finish(p, r)
			checkCut(t, r, r.buf, m, self)
			require.Nil(t, p.err)
		}
	})
}

// Messages of a sender that is not in the AV can be received from any source; when
// it is inserted, those that wait become its own.
func TestUnknownSender(t *testing.T) {
	onMatchers(t, func(t *testing.T, c choice) {
		for _, size := range []int{8, 5000, 1 << 20} {
			a := startAgent(t, c, 60*time.Second)
			n := newNode(t, c.options())
			toN := a.do(order{Do: "insert", Blob: n.ep.Name()}).Addr
			var msgs []message
			for i := range 4 {
				msgs = append(msgs, message{Size: size, Tag: uint64(i), Seed: uint64(i)})
			}
			anyone := n.post(size, lnx.AddrUnspec, 0, 0)
			a.Put(order{Do: "send", Addr: toN, Msgs: msgs})
			last := uint64(3)
			if c.Direct { // tcp takes from a stranger only what it can show
				last = 1
			}
			n.await(3, last)
			n.finish(anyone)
			check(t, anyone, msgs[0], lnx.AddrUnspec)
			check(t, n.recv(size, lnx.AddrUnspec, 1, 0), msgs[1], lnx.AddrUnspec)

			toA := n.insert(a.name)
			check(t, n.recv(size, toA, 2, 0), msgs[2], toA)
			check(t, n.recv(size, lnx.AddrUnspec, 3, 0), msgs[3], toA)
			a.sent(t)
			again := n.post(size, toA, 0, ^uint64(0))
			a.Put(order{Do: "send", Addr: toN, Msgs: msgs[:1]})
			n.finish(again)
			check(t, again, msgs[0], toA)
			a.sent(t)
			a.Wait()
		}
	})
}

// Receives are matched in the order posted, whether they name a sender or not.
func TestPostedOrder(t *testing.T) {
	onMatchers(t, func(t *testing.T, c choice) {
		n, a, toA, toN := meet(t, c)
		const count = 200 // more than the flat queue holds
		var posted []*pending
		var msgs []message
		for i := range count {
			from, ignore := toA, uint64(0)
			if i%3 == 0 {
				from = lnx.AddrUnspec
			}
			if i%5 == 0 {
				ignore = 0xff
			}
			posted = append(posted, n.post(8, from, 0x100, ignore))
			msgs = append(msgs, message{Size: 8, Tag: 0x100, Seed: uint64(i)})
		}
		a.Put(order{Do: "send", Addr: toN, Msgs: msgs})
		n.finish(posted...)
		for i, p := range posted {
			check(t, p, msgs[i], toA)
		}
		a.sent(t)

		// The same for messages that wait.
		a.Put(order{Do: "send", Addr: toN, Msgs: msgs})
		n.await(count, 0x100)
		for i := range count {
			from, ignore := toA, uint64(0)
			if i%3 == 0 {
				from, ignore = lnx.AddrUnspec, ^uint64(0)
			}
			check(t, n.recv(8, from, 0x100, ignore), msgs[i], toA)
		}
		a.sent(t)
		a.Wait()
	})
}

// A directed receive does not take the message of another sender.
func TestDirected(t *testing.T) {
	onMatchers(t, func(t *testing.T, c choice) {
		n, a, toA, aToN := meet(t, c)
		b := startAgent(t, c, 60*time.Second)
		toB := n.insert(b.name)
		bToN := b.do(order{Do: "insert", Blob: n.ep.Name()}).Addr
		for _, size := range []int{8, 5000} {
			m := message{Size: size, Tag: 1}
			mb := message{Size: size, Tag: 1, Seed: 1}
			fromB, fromA := n.post(size, toB, 1, 0), n.post(size, toA, 1, 0)
			a.Put(order{Do: "send", Addr: aToN, Msgs: []message{m}})
			n.finish(fromA)
			check(t, fromA, m, toA)
			require.False(t, fromB.done)
			b.Put(order{Do: "send", Addr: bToN, Msgs: []message{mb}})
			n.finish(fromB)
			check(t, fromB, mb, toB)
			a.sent(t)
			b.sent(t)
		}
		a.Wait()
		b.Wait()
	})
}

// 1,000 messages each way at once, of many sizes: those of a tag come in order.
func TestBothWays(t *testing.T) {
	onMatchers(t, func(t *testing.T, c choice) {
		n, a, toA, toN := meet(t, c)
		require.True(t, n.ep.Ordered())
		const count, tags, most = 1000, 3, 100_000
		var msgs []message
		sizes := []int{0, 8, 64, 65, 1000, 4096, 4097, 20_000, most}
		for i := range count {
			msgs = append(msgs, message{Size: sizes[i*i%len(sizes)], Tag: uint64(i % tags), Seed: uint64(i)})
		}
		a.Put(order{Do: "exchange", Addr: toN, Msgs: msgs})
		n.exchange(toA, msgs)
		a.done()
		a.Wait()
	})
}

// exchange sends and receives all messages, with a window of both under way.
func (n *node) exchange(peer lnx.Addr, msgs []message) {
	const window = 32
	var sends, recvs []*pending
	sent, checked := 0, 0
	retry := (*pending)(nil)
	n.until(func() bool {
		for len(recvs) < len(msgs) && len(recvs)-checked < window {
			m := msgs[len(recvs)]
			recvs = append(recvs, n.post(100_000, peer, m.Tag, 0))
		}
		for len(sends) < len(msgs) && len(sends)-sent < window {
			m := msgs[len(sends)]
			if retry == nil {
				retry = &pending{buf: payload(m.Seed, m.Size)}
			}
			if n.startOnce(peer, m, retry) != nil {
				break
			}
			sends, retry = append(sends, retry), nil
		}
		for ; sent < len(sends) && sends[sent].done; sent++ {
			require.Nil(n.t, sends[sent].err)
		}
		for ; checked < len(recvs) && recvs[checked].done; checked++ {
			check(n.t, recvs[checked], msgs[checked], peer)
			recvs[checked].buf = nil
		}
		return sent == len(msgs) && checked == len(msgs)
	})
}
