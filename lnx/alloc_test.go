//go:build !race

package lnx_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
)

// Sending, receiving and reading completions do not allocate, whatever the way of
// the message.
func TestNoAllocation(t *testing.T) {
	const runs = 300
	for _, links := range []string{"shm", "shm+tcp:lo", "shm direct", "tcp:lo direct"} {
		for _, size := range []int{0, 8, 4096, 5000, 100_000} {
			t.Run(fmt.Sprintf("%s/size=%d", links, size), func(t *testing.T) {
				opts := choose(links).options()
				l := &lane{a: newNode(t, opts), b: newNode(t, opts), ctx: t}
				l.toB, l.toA = l.a.insert(l.b.ep.Name()), l.b.insert(l.a.ep.Name())
				out, in := make([]byte, size), make([]byte, size)
				allocs := func(f func()) float64 {
					f() // slots and queues grow
					return testing.AllocsPerRun(runs, f)
				}
				require.Zero(t, allocs(func() {
					must(l.b.ep.TRecv(in, l.toA, 1, 0, l.ctx))
					l.send(out, 1, false)
					l.finish(1, 1)
				}), "expected")
				require.Zero(t, allocs(func() {
					must(l.b.ep.TRecv(in, l.toA, 3, 0, l.ctx))
					must(l.b.ep.TRecv(in, lnx.AddrUnspec, 2, ^uint64(0), l.ctx))
					l.send(out, 2, true)
					l.finish(1, 1)
					l.send(out, 3, true)
					l.finish(1, 1)
				}), "with wildcards")
				before := l.b.unexpected()
				require.Zero(t, allocs(func() {
					l.send(out, 2, true)
					for range 100 {
						l.read(l.b)
					}
					must(l.b.ep.TRecv(in, lnx.AddrUnspec, 2, 1, l.ctx))
					l.finish(1, 1)
				}), "unexpected")
				if !choose(links).Direct {
					require.Equal(t, before+runs+2, l.b.unexpected())
				}
				if size > int(l.a.ep.Link().Info.InjectSize) {
					return
				}
				require.Zero(t, allocs(func() {
					must(l.b.ep.TRecv(in, l.toA, 1, 0, l.ctx))
					must(l.a.ep.TInject(out, l.toB, 1))
					l.finish(0, 1)
				}), "injected")
			})
		}
	}
}

// Nor do untagged messages, in buffers of their own or in one for many.
func TestMsgNoAllocation(t *testing.T) {
	const runs = 300
	for _, links := range []string{"shm", "shm+tcp:lo"} {
		for _, size := range []int{0, 8, 4096, 5000, 100_000} {
			t.Run(fmt.Sprintf("%s/size=%d", links, size), func(t *testing.T) {
				opts := choice{Links: links}.options()
				l := &lane{a: newNode(t, opts), b: newNode(t, opts), ctx: t}
				l.toB, l.toA = l.a.insert(l.b.ep.Name()), l.b.insert(l.a.ep.Name())
				out, in := make([]byte, size), make([]byte, size)
				allocs := func(f func()) float64 {
					f() // slots and queues grow
					return testing.AllocsPerRun(runs, f)
				}
				require.Zero(t, allocs(func() {
					must(l.b.ep.MRecv(in, l.toA, l.ctx))
					l.msend(out, false)
					l.finish(1, 1)
				}), "expected")
				before := l.b.unexpected()
				require.Zero(t, allocs(func() {
					l.msend(out, true)
					for range 100 {
						l.read(l.b)
					}
					must(l.b.ep.MRecv(in, lnx.AddrUnspec, l.ctx))
					l.finish(1, 1)
				}), "unexpected")
				require.Equal(t, before+runs+2, l.b.unexpected())
				many := &lnx.Msg{IOV: [][]byte{make([]byte, 2*max(size, 1)+63)}, Addr: l.toA, Context: l.ctx}
				require.Zero(t, allocs(func() {
					must(l.b.ep.MRecvMsg(many, lnx.FlagMultiRecv|lnx.FlagCompletion))
					l.msend(out, false)
					l.finish(1, 1)
					l.msend(out, false)
					l.finish(1, 1)
				}), "multi-receive")
				require.Equal(t, before+runs+2, l.b.unexpected())
				if size > int(l.a.ep.Link().Info.InjectSize) {
					return
				}
				require.Zero(t, allocs(func() {
					must(l.b.ep.MRecv(in, l.toA, l.ctx))
					must(l.a.ep.MInject(out, l.toB))
					l.finish(0, 1)
				}), "injected")
			})
		}
	}
}
