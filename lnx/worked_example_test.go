package lnx_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
)

// The worked example of docs/architecture.md, and the same with receives ahead that
// nothing matches, so that the queue does not search one by one.
func TestWorkedExample(t *testing.T) {
	for _, ahead := range []int{0, 200} {
		n, peer5 := newNode(t, choice{Links: "shm"}.options()), newNode(t, choice{Links: "shm"}.options())
		stranger := newNode(t, choice{Links: "shm"}.options())
		from5 := n.insert(peer5.ep.Name())
		for i := range ahead {
			n.post(8, from5, 1<<40|uint64(i), 0)
		}
		age := []*pending{
			n.post(8, from5, 0x10, 0),
			n.post(8, lnx.AddrUnspec, 0x10, 0),
			n.post(8, from5, 0x10, 0x0f),
			n.post(8, lnx.AddrUnspec, 0, ^uint64(0)),
		}
		takes := func(sender *node, tag uint64, want int, from lnx.Addr) {
			t.Helper()
			m := message{Size: 8, Tag: tag, Seed: tag}
			to, p := sender.insert(n.ep.Name()), &pending{buf: payload(tag, 8)}
			sender.until(func() bool { n.poll(); return sender.startOnce(to, m, p) == nil })
			n.finish(age[want-1])
			check(t, age[want-1], m, from)
			for i, p := range age {
				require.Equal(t, i == want-1 || p.buf == nil, p.done, "receive %d", i+1)
			}
			age[want-1].buf = nil // taken
		}
		takes(peer5, 0x10, 1, from5)
		takes(peer5, 0x10, 2, from5)
		takes(peer5, 0x17, 3, from5)
		age[0] = n.post(8, from5, 0x18, 0)
		takes(stranger, 0x18, 4, lnx.AddrUnspec)
	}
}
