package lnx_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
)

// TSendMsg with FlagInject gives its buffers back at once, whether it has a completion
// or not.
func TestInjectMsg(t *testing.T) {
	onLinks(t, func(t *testing.T, c choice) {
		a, b := newNode(t, c.options()), newNode(t, c.options())
		toB, toA := a.insert(b.ep.Name()), b.insert(a.ep.Name())
		for _, size := range []int{0, 1, 8, int(a.ep.Link().Info.InjectSize)} {
			for _, flags := range []lnx.Flags{0, lnx.FlagCompletion, lnx.FlagRemoteCQData, lnx.FlagCompletion | lnx.FlagRemoteCQData} {
				m := message{Size: size, Tag: 1, Seed: uint64(size), HasData: flags&lnx.FlagRemoteCQData != 0, Data: 0xfeed}
				r := b.post(size, toA, 1, 0)
				p := &pending{buf: payload(m.Seed, size)}
				msg := &lnx.Msg{IOV: split(p.buf, 2), Addr: toB, Tag: 1, Data: m.Data, Context: p}
				a.until(func() bool { b.poll(); return a.ep.TSendMsg(msg, flags|lnx.FlagInject) == nil })
				clear(p.buf)
				a.until(func() bool { b.poll(); return r.done && (p.done || flags&lnx.FlagCompletion == 0) })
				check(t, r, m, toA)
				for range 100 {
					a.poll()
				}
				require.Equal(t, flags&lnx.FlagCompletion != 0, p.times == 1, "%v", flags)
				require.Nil(t, p.err)
			}
		}
		require.Empty(t, a.odd)
	})
}
