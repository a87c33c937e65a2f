package lnx_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
	"golnx/providers/fierr"
)

// The first sends go to a peer that does not drive its rails yet; when it does,
// they arrive.
func TestPeerStartsLate(t *testing.T) {
	onLinks(t, func(t *testing.T, c choice) {
		for _, size := range []int{8, 5000, 1 << 20} {
			n, a, toA, toN := meet(t, c)
			m := message{Size: size, Tag: 1, Seed: 1}
			p := &pending{buf: payload(m.Seed, m.Size)}
			tries := 0
			started := func() bool { tries++; return n.startOnce(toA, m, p) == nil }
			begun := false
			n.until(func() bool {
				begun = begun || started()
				return tries >= 2000 || begun && n.unexpected() == 0
			})
			a.Put(order{Do: "recv", Addr: toN, Msgs: []message{m}})
			n.until(func() bool { begun = begun || started(); return begun && p.done })
			require.Nil(t, p.err)
			n.during(a)
			a.Wait()
		}
	})
}

// A stopped process is slow, not dead: it gets everything when it goes on.
func TestPeerStops(t *testing.T) {
	onLinks(t, func(t *testing.T, c choice) {
		n, a, toA, toN := meet(t, c)
		require.NoError(t, n.roundTrip(a, toA, toN, message{Size: 8, Tag: 1}))
		var msgs []message
		for i := range 100 {
			msgs = append(msgs, message{Size: 8 + i%2*10000, Tag: 1, Seed: uint64(i)})
		}
		a.Stop()
		a.Put(order{Do: "recv", Addr: toN, Msgs: msgs})
		var sends []*pending
		for polls := 0; len(sends) < len(msgs) && polls < 10_000; polls++ {
			p := &pending{buf: payload(msgs[len(sends)].Seed, msgs[len(sends)].Size)}
			if n.startOnce(toA, msgs[len(sends)], p) == nil {
				sends = append(sends, p)
			}
			n.poll()
		}
		a.Continue()
		n.until(func() bool {
			if len(sends) < len(msgs) {
				p := &pending{buf: payload(msgs[len(sends)].Seed, msgs[len(sends)].Size)}
				if n.startOnce(toA, msgs[len(sends)], p) == nil {
					sends = append(sends, p)
				}
			}
			return len(sends) == len(msgs)
		})
		n.finish(sends...)
		for _, p := range sends {
			require.Nil(t, p.err)
		}
		n.during(a)
		a.Wait()
	})
}

// A process that ends and is started again is another peer: the old Addr fails,
// the new one works.
func TestPeerRestarts(t *testing.T) {
	onLinks(t, func(t *testing.T, c choice) {
		n := newNode(t, c.options())
		var old []lnx.Addr
		for i := range 3 {
			a := startAgent(t, c, 60*time.Second)
			toA := n.insert(a.name)
			require.NotContains(t, old, toA)
			toN := a.do(order{Do: "insert", Blob: n.ep.Name()}).Addr
			// Nobody else sends to us, so any source is this one.
			r := n.post(5000, lnx.AddrUnspec, 1, 0)
			m := message{Size: 5000, Tag: 1, Seed: uint64(i)}
			a.Put(order{Do: "send", Addr: toN, Msgs: []message{m}})
			n.finish(r)
			check(t, r, m, toA)
			a.sent(t)
			require.NoError(t, n.roundTrip(a, toA, toN, m))
			if i == 1 {
				a.Wait() // ends in order
			} else {
				a.Kill()
			}
			var err error
			n.until(func() bool {
				p := &pending{buf: []byte{1}}
				if err = n.ep.TSend(p.buf, toA, 1, p); err == nil {
					n.until(func() bool { return p.done })
				}
				return err != nil && err != fierr.Again
			})
			require.ErrorIs(t, err, lnx.ErrPeerDead)
			if i == 1 {
				require.NoError(t, n.ep.AV().Remove(toA))
			}
			old = append(old, toA)
		}
	})
}
