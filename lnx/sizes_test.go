package lnx_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
)

// sizesOf are message sizes around which the providers change their ways.
func sizesOf(link *lnx.Link) []int {
	sizes := []int{0, 1, 64<<10 - 1, 64 << 10, 64<<10 + 1, 4 << 20}
	around := func(n uint64) {
		sizes = append(sizes, int(n)-1, int(n), int(n)+1)
	}
	around(link.Info.InjectSize)
	for _, r := range link.Rails {
		around(r.InjectSize)
	}
	around(16384) // the eager size of rxm
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

func messagesOf(link *lnx.Link) (msgs []message) {
	for i, size := range sizesOf(link) {
		msgs = append(msgs, message{Size: size, Tag: uint64(i) << 60 >> 2, Seed: uint64(size)})
		msgs = append(msgs, message{Size: size, Tag: ^uint64(i), Data: ^uint64(0) - uint64(i), HasData: true, Seed: uint64(size) + 1})
	}
	return msgs
}

// Every size arrives whole, over each link, from and to another process, whether
// its receive was posted before or not.
func TestSizes(t *testing.T) {
	onMatchers(t, func(t *testing.T, c choice) {
		n, a, toA, toN := meet(t, c)
		seen := [2]uint64{}
		for _, m := range messagesOf(n.ep.Link()) {
			one := []message{m}

			// to the agent: expected, then unexpected
			a.do(order{Do: "post", Addr: toN, Msgs: one})
			a.Put(order{Do: "collect", Addr: toN, Msgs: one})
			n.send(toA, m)
			n.during(a)
			a.Put(order{Do: "await", N: seen[0] + 1, Tag: m.Tag})
			p, err := n.start(toA, m)
			require.NoError(t, err)
			n.during(a)
			seen[0]++
			a.Put(order{Do: "recv", Addr: toN, Msgs: one})
			n.finish(p)
			n.during(a)
			require.Nil(t, p.err)

			// from the agent
			r := n.post(m.Size, toA, m.Tag, 0)
			a.Put(order{Do: "send", Addr: toN, Msgs: one})
			n.finish(r)
			a.sent(t)
			check(t, r, m, toA)
			a.Put(order{Do: "send", Addr: toN, Msgs: one})
			seen[1]++
			n.await(seen[1], m.Tag)
			check(t, n.recv(m.Size, toA, m.Tag, 0), m, toA)
			a.sent(t)
		}
		a.Wait()
		for i, s := range n.ep.Stats() {
			require.Zero(t, s.Errors, s)
			if i == 0 {
				require.NotZero(t, s.RxExpected*s.TSends, s)
				require.Equal(t, c.Direct, s.RxUnexpected == 0, s)
			} else {
				require.Zero(t, s.RxExpected+s.RxUnexpected+s.TSends, "shm takes local traffic")
			}
		}
	})
}
