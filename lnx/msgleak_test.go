package lnx_test

import (
	"github.com/stretchr/testify/require"

	"golnx/lnx"
)

// lifeOfMsgs leaves untagged messages and receives behind in every state.
func lifeOfMsgs(t require.TestingT, a, b *node, toB, toA lnx.Addr, transfers bool) {
	both := func(cond func() bool) {
		a.until(func() bool { b.poll(); return cond() })
	}
	start := func(size int) {
		m := message{Size: size, Untagged: true}
		p := &pending{buf: payload(1, size)}
		both(func() bool { return a.startOnce(toB, m, p) == nil })
	}
	multi := func(size int) *pending {
		p := &pending{buf: make([]byte, size)}
		require.NoError(t, b.ep.MRecvMsg(&lnx.Msg{IOV: [][]byte{p.buf}, Addr: toA, Context: p}, lnx.FlagMultiRecv|lnx.FlagCompletion))
		return p
	}
	p := b.mpost(100, toA)
	start(100)
	both(func() bool { return p.done })
	// one buffer used up, one canceled, one with messages and room
	used := multi(1000)
	start(900)
	start(800)
	both(func() bool { return used.entry.Flags&lnx.FlagMultiRecv != 0 })
	p = multi(10_000)
	start(800)
	both(func() bool { return p.done })
	require.NoError(t, b.ep.Cancel(p))
	p = multi(100_000)
	start(8)
	start(5000)
	both(func() bool { return p.times == 2 })
	b.mpost(10, lnx.AddrUnspec)
	if transfers {
		start(90_000) // under way
		start(0)
	}
	// unexpected
	for _, size := range []int{0, 8, 4000} {
		m := message{Size: size, Untagged: true}
		s := &pending{buf: payload(1, size)}
		both(func() bool { return b.startOnce(toA, m, s) == nil })
	}
}
