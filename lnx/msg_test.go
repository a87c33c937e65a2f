package lnx_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
)

func TestMsgSmoke(t *testing.T) {
	onLinks(t, func(t *testing.T, c choice) {
		a, b := newNode(t, c.options()), newNode(t, c.options())
		toB, toA := a.insert(b.ep.Name()), b.insert(a.ep.Name())
		for _, size := range []int{0, 8, 64, 65, 5000, 100_000, 1 << 20} {
			for _, first := range []bool{true, false} {
				p := &pending{buf: make([]byte, size)}
				s := &pending{buf: payload(1, size)}
				if first {
					require.NoError(t, b.ep.MRecv(p.buf, toA, p))
				}
				a.until(func() bool { b.poll(); return a.ep.MSend(s.buf, toB, s) == nil })
				if !first {
					before := b.unexpected()
					a.until(func() bool { b.poll(); return b.unexpected() > before-1 })
					require.NoError(t, b.ep.MRecv(p.buf, toA, p))
				}
				a.until(func() bool { b.poll(); return p.done && s.done })
				require.Nil(t, p.err)
				require.Equal(t, lnx.Entry{Context: p, Flags: lnx.FlagMsg | lnx.FlagRecv, Len: size, Src: toA}, p.entry)
				require.Equal(t, lnx.Entry{Context: s, Flags: lnx.FlagMsg | lnx.FlagSend, Src: lnx.AddrUnspec}, s.entry)
				require.Equal(t, s.buf, p.buf)
			}
		}
	})
}
