package lnx_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/internal/twoproc"
	"golnx/lnx"
	"golnx/providers/fierr"
)

// did starts an operation and waits for its end.
func (n *node) did(op *pending, start func() error) {
	var err error
	n.until(func() bool { err = start(); return err != fierr.Again })
	require.NoError(n.t, err)
	n.finish(op)
	require.Nil(n.t, op.err)
}

// Vectors, several ranges, flags, levels and injects do between processes, where shm has
// another way for them, what they do within one.
func TestRMAFormsTwoProcesses(t *testing.T) {
	for _, c := range choices[:3] { // the fourth is as the second
		t.Run(c.String(), func(t *testing.T) {
			n := newNode(t, c.rma())
			p := startTarget(t, n, rmaOrder{Choice: c, Size: 1 << 20})
			ep, seed := n.ep, uint64(0)
			fresh := func(size int) *pending { seed++; return &pending{buf: payload(seed, size)} }
			told := func() (e lnx.Entry) {
				var all []lnx.Entry
				p.Put(rmaOrder{Do: "told", Size: 1})
				p.Get(&all)
				require.Len(t, all, 1)
				return all[0]
			}
			parts := ep.Link().Info.IOVLimit
			for _, size := range []int{64, 10_000, 300_000} {
				out, in := fresh(size), &pending{buf: make([]byte, size)}
				n.did(out, func() error { return ep.WriteV(split(out.buf, parts), p.mem, 7, out) })
				n.did(in, func() error { return ep.ReadV(split(in.buf, parts), p.mem, 7, in) }) // behind it
				require.True(t, bytes.Equal(out.buf, in.buf), "%d in %d parts", size, parts)
				require.True(t, bytes.Equal(out.buf, p.holds(7, size)))

				ranges := []lnx.RemoteRange{{Mem: p.mem, Len: uint64(size / 4)}, {Mem: p.mem, Off: 500_000, Len: uint64(size - size/4)}}
				for _, level := range []lnx.Flags{0, lnx.FlagInjectComplete, lnx.FlagTransmitComplete, lnx.FlagDeliveryComplete} {
					if level&^lnx.Flags(ep.Link().Info.Levels) != 0 {
						continue
					}
					out, in := fresh(size), &pending{buf: make([]byte, size)}
					m := &lnx.RMAMsg{IOV: split(out.buf, 3), Remote: ranges, Data: seed, Context: out}
					n.did(out, func() error { return ep.WriteMsg(m, lnx.FlagCompletion|lnx.FlagRemoteCQData|level) })
					require.Equal(t, seed, told().Data)
					got := append(p.holds(0, size/4), p.holds(500_000, size-size/4)...)
					require.True(t, bytes.Equal(out.buf, got), "%v", level)
					m = &lnx.RMAMsg{IOV: split(in.buf, 2), Remote: ranges, Context: in}
					n.did(in, func() error { return ep.ReadMsg(m, lnx.FlagCompletion) })
					require.True(t, bytes.Equal(out.buf, in.buf))
				}
			}
			for _, size := range []int{1, int(ep.Link().Info.InjectSize)} {
				want := fresh(size).buf
				buf := bytes.Clone(want)
				n.until(func() bool { return ep.InjectWriteData(buf, 9, p.mem, 100) == nil })
				clear(buf) // is the caller's again
				require.Equal(t, size, told().Len)
				require.True(t, bytes.Equal(want, p.holds(100, size)))
			}
			p.Wait()
		})
	}
}

// multiRole gives buffers away for messages of another process, and says what it found in
// them.
var multiRole = twoproc.NewRole("multi-receiver", func(c *twoproc.Child) {
	var link choice
	c.Get(&link)
	n := openNode(c, link.options())
	defer func() { require.NoError(c, n.ep.Close()) }()
	c.Put(n.ep.Name())
	var blob []byte
	c.Get(&blob)
	from := n.insert(blob)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Second)
	defer cancel()
	var sizes []int
	c.Get(&sizes)
	var buf []byte
	var e [1]lnx.Entry
	for i, released := 0, true; i < len(sizes); i++ {
		if released {
			buf = make([]byte, 400_000)
			m := &lnx.Msg{IOV: [][]byte{buf}, Addr: from, Context: "buffer"}
			require.NoError(c, n.ep.MRecvMsg(m, lnx.FlagMultiRecv|lnx.FlagCompletion))
		}
		_, err := n.ep.CQ().Wait(ctx, e[:])
		require.NoError(c, err)
		released = e[0].Flags&lnx.FlagMultiRecv != 0
		if e[0].Flags&lnx.FlagRecv == 0 { // only gives the buffer back
			require.True(c, released)
			i--
			continue
		}
		require.Equal(c, sizes[i], e[0].Len)
		require.Equal(c, from, e[0].Src)
		require.True(c, bytes.Equal(payload(uint64(i), sizes[i]), buf[e[0].Off:e[0].Off+e[0].Len]), "message %d", i)
	}
	c.Put(true)
	c.Get(&blob)
})

// Untagged messages of another process lie one behind the other in buffers for many.
func TestMultiRecvTwoProcesses(t *testing.T) {
	for _, c := range choices[:3] { // the fourth is as the second
		t.Run(c.String(), func(t *testing.T) {
			n := newNode(t, c.options())
			p := multiRole.Start(t, 60*time.Second)
			p.Put(c)
			var blob []byte
			p.Get(&blob)
			to := n.insert(blob)
			p.Put(n.ep.Name())
			var sizes []int
			for i := range 60 {
				sizes = append(sizes, []int{8, 1000, 5000, 20_000, 150_000}[i%5])
			}
			p.Put(sizes)
			for i, size := range sizes {
				require.NoError(t, n.ep.Untagged().Send(within(t), to, payload(uint64(i), size)))
			}
			require.True(t, driven(t, func() (ok bool) { p.Get(&ok); return ok }, n))
			p.Put([]byte{})
			p.Wait()
		})
	}
}

// What another process does with memory is counted, by whatever way it comes.
func TestRemoteCounterTwoProcesses(t *testing.T) {
	c := choices[0] // shm, which has FI_RMA_EVENT
	opts := c.rma()
	opts.Caps |= lnx.CapRMAEvent
	n := newNode(t, opts)
	p := startTarget(t, n, rmaOrder{Choice: c, Caps: lnx.CapRMAEvent, Size: 1 << 20})
	counted := func() (k uint64) {
		p.Put(rmaOrder{Do: "counted"})
		p.Get(&k)
		return k
	}
	want := uint64(0)
	for _, size := range []int{8, 5000, 300_000} {
		for what, call := range map[string]func(context.Context, []byte, uint64) error{
			"write": p.mem.WriteAt, "read": p.mem.ReadAt,
			"data": func(ctx context.Context, b []byte, off uint64) error { return p.mem.WriteDataAt(ctx, b, 1, off) },
		} {
			require.NoError(t, call(within(t), make([]byte, size), 0))
			want++
			n.until(func() bool { return counted() >= want })
			require.Equal(t, want, counted(), fmt.Sprint(what, size))
		}
	}
	p.Wait()
}
