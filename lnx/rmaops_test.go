package lnx_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
	"golnx/mr"
	"golnx/providers/fierr"
)

// rmaPair is two nodes, of which a reaches a window of b's memory.
type rmaPair struct {
	t        *testing.T
	a, b     *node
	toB, toA lnx.Addr
	w        *windowed
}

func newRMAPair(t *testing.T, opts lnx.Options, size int) *rmaPair {
	t.Helper()
	p := &rmaPair{t: t, a: newNode(t, opts), b: newNode(t, opts)}
	p.toB, p.toA = p.a.insert(p.b.ep.Name()), p.b.insert(p.a.ep.Name())
	p.w = newWindow(t, p.b, p.a, p.toB, size, mr.RemoteRead|mr.RemoteWrite)
	return p
}

// begin repeats a call that starts an operation while it answers EAGAIN.
func (p *rmaPair) begin(call func() error) error {
	p.t.Helper()
	var err error
	p.a.until(func() bool {
		p.b.poll()
		err = call()
		return !errors.Is(err, fierr.EAgain)
	})
	return err
}

// done waits for an operation, and answers its completion.
func (p *rmaPair) done(op *pending) lnx.Entry {
	p.t.Helper()
	p.a.until(func() bool { p.b.poll(); return op.done })
	require.Nil(p.t, op.err)
	require.Equal(p.t, 1, op.times)
	return op.entry
}

// told waits for a write with data to show at the target, and answers its completion.
func (p *rmaPair) told() lnx.Entry {
	p.t.Helper()
	p.a.until(func() bool { p.b.poll(); return len(p.b.odd) > 0 })
	require.Len(p.t, p.b.odd, 1)
	e := p.b.odd[0]
	p.b.odd = nil
	return e
}

// holds waits for the target's memory to be as wanted.
func (p *rmaPair) holds(off int, want []byte) {
	p.t.Helper()
	p.a.until(func() bool { p.b.poll(); return bytes.Equal(p.w.inside()[off:off+len(want)], want) })
	p.w.untouched(p.t)
}

var wrote, read = lnx.FlagRMA | lnx.FlagWrite, lnx.FlagRMA | lnx.FlagRead

// Every call does what it is called, with the completions that fi_cq(3) has for it.
func TestRMACalls(t *testing.T) {
	onMatchers(t, func(t *testing.T, c choice) {
		p := newRMAPair(t, c.rma(), 1<<20)
		ep, mem := p.a.ep, p.w.remote
		seed := uint64(0)
		fresh := func(n int) []byte { seed++; return payload(seed, n) }
		for _, n := range []int{8, 64, 4000, 10_000, 300_000} {
			op := &pending{buf: fresh(n)}
			require.NoError(t, p.begin(func() error { return ep.Write(op.buf, mem, 5, op) }))
			require.Equal(t, wrote, p.done(op).Flags)
			p.holds(5, op.buf)

			in := &pending{buf: make([]byte, n)}
			require.NoError(t, p.begin(func() error { return ep.Read(in.buf, mem, 5, in) }))
			require.Equal(t, read, p.done(in).Flags)
			require.True(t, bytes.Equal(op.buf, in.buf))

			for parts := 2; parts <= ep.Link().Info.IOVLimit; parts++ {
				op = &pending{buf: fresh(n)}
				require.NoError(t, p.begin(func() error { return ep.WriteV(split(op.buf, parts), mem, 7, op) }))
				p.done(op)
				p.holds(7, op.buf)
				in = &pending{buf: make([]byte, n)}
				require.NoError(t, p.begin(func() error { return ep.ReadV(split(in.buf, parts), mem, 7, in) }))
				p.done(in)
				require.True(t, bytes.Equal(op.buf, in.buf), "%d parts", parts)
			}

			op = &pending{buf: fresh(n)}
			require.NoError(t, p.begin(func() error { return ep.WriteData(op.buf, 77, mem, 9, op) }))
			require.Equal(t, wrote, p.done(op).Flags)
			e := p.told()
			require.Equal(t, lnx.FlagRMA|lnx.FlagRemoteWrite|lnx.FlagRemoteCQData, e.Flags)
			require.EqualValues(t, 77, e.Data)
			require.Equal(t, n, e.Len)
			if c.network() && !c.Direct {
				require.Equal(t, lnx.AddrUnspec, e.Src, "rxm does not tell")
			} else {
				require.Equal(t, p.toA, e.Src)
			}
			require.True(t, bytes.Equal(op.buf, p.w.inside()[9:9+n]), "the bytes are there when the target is told")

			// two ranges, three buffers, with data
			op = &pending{buf: fresh(n)}
			m := &lnx.RMAMsg{
				IOV: split(op.buf, 3), Context: op, Data: 1 << 63,
				Remote: []lnx.RemoteRange{{mem, 0, uint64(n / 4)}, {mem, 500_000, uint64(n - n/4)}},
			}
			require.NoError(t, p.begin(func() error { return ep.WriteMsg(m, lnx.FlagCompletion|lnx.FlagRemoteCQData) }))
			p.done(op)
			require.Equal(t, uint64(1<<63), p.told().Data)
			p.holds(0, op.buf[:n/4])
			p.holds(500_000, op.buf[n/4:])
			in = &pending{buf: make([]byte, n)}
			m = &lnx.RMAMsg{IOV: split(in.buf, 2), Context: in, Remote: m.Remote}
			require.NoError(t, p.begin(func() error { return ep.ReadMsg(m, lnx.FlagCompletion) }))
			p.done(in)
			require.True(t, bytes.Equal(op.buf, in.buf))
		}
		require.Empty(t, p.a.odd)
		require.Empty(t, p.a.oddErr)
		require.Empty(t, p.b.oddErr)
	})
}

// An injected write gives its buffer back at once, and has no completion here.
func TestInjectWrite(t *testing.T) {
	onLinks(t, func(t *testing.T, c choice) {
		p := newRMAPair(t, c.rma(), 1<<16)
		most := int(p.a.ep.Link().Info.InjectSize)
		for i, n := range []int{0, 1, 8, most} {
			for _, data := range []bool{false, true} {
				want := payload(uint64(i), n)
				buf := bytes.Clone(want)
				require.NoError(t, p.begin(func() error {
					if data {
						return p.a.ep.InjectWriteData(buf, uint64(i), p.w.remote, 100)
					}
					return p.a.ep.InjectWrite(buf, p.w.remote, 100)
				}))
				clear(buf)
				if data {
					e := p.told()
					require.Equal(t, n, e.Len)
					require.EqualValues(t, i, e.Data)
				}
				p.holds(100, want)
			}
		}
		require.ErrorIs(t, p.a.ep.InjectWrite(make([]byte, most+1), p.w.remote, 0), fierr.EMsgSize)
		// without FlagCompletion only the target hears of it
		want := payload(99, 50_000)
		m := &lnx.RMAMsg{IOV: [][]byte{want}, Context: "quiet", Data: 5, Remote: []lnx.RemoteRange{{p.w.remote, 0, 50_000}}}
		require.NoError(t, p.begin(func() error { return p.a.ep.WriteMsg(m, lnx.FlagRemoteCQData) }))
		require.EqualValues(t, 5, p.told().Data)
		p.holds(0, want)
		// what follows it is complete, and so it is
		op := &pending{buf: make([]byte, 8)}
		require.NoError(t, p.begin(func() error { return p.a.ep.Read(op.buf, p.w.remote, 0, op) }))
		p.done(op)
		require.Empty(t, p.a.odd)
		require.Empty(t, p.a.oddErr)
	})
}

// Each completion level is met or refused by the rail's name. With delivery complete the
// bytes are in the target's memory when the initiator is told.
func TestCompletionLevels(t *testing.T) {
	onLinks(t, func(t *testing.T, c choice) {
		p := newRMAPair(t, c.rma(), 1<<20)
		offered := lnx.Flags(p.a.ep.Link().Info.Levels)
		t.Log("offered:", offered)
		for _, level := range []lnx.Flags{lnx.FlagInjectComplete, lnx.FlagTransmitComplete, lnx.FlagDeliveryComplete} {
			for _, n := range []int{0, 8, 4096, 5000, 500_000} {
				t.Run(fmt.Sprintf("%v/size=%d", level, n), func(t *testing.T) {
					op := &pending{buf: payload(uint64(level)+uint64(n), n)}
					m := &lnx.RMAMsg{IOV: [][]byte{op.buf}, Context: op, Remote: []lnx.RemoteRange{{p.w.remote, 3, uint64(n)}}}
					err := p.begin(func() error { return p.a.ep.WriteMsg(m, lnx.FlagCompletion|level) })
					if offered&level == 0 {
						require.ErrorIs(t, err, fierr.EOpNotSupp)
						require.ErrorContains(t, err, "rail tcp;ofi_rxm:lo does not offer "+level.String())
						return
					}
					require.NoError(t, err)
					p.done(op)
					if level == lnx.FlagDeliveryComplete {
						require.True(t, bytes.Equal(op.buf, p.w.inside()[3:3+n]))
					}
					p.holds(3, op.buf)
					in := &pending{buf: make([]byte, n)}
					m.IOV, m.Context = [][]byte{in.buf}, in
					require.NoError(t, p.begin(func() error { return p.a.ep.ReadMsg(m, lnx.FlagCompletion|level) }))
					p.done(in)
					require.True(t, bytes.Equal(op.buf, in.buf))
				})
			}
		}
		m := &lnx.RMAMsg{Remote: []lnx.RemoteRange{{Mem: p.w.remote}}}
		require.ErrorIs(t, p.a.ep.WriteMsg(m, lnx.FlagInjectComplete|lnx.FlagTransmitComplete), fierr.EBadFlags)
		require.ErrorIs(t, p.a.ep.WriteMsg(m, lnx.FlagInject|lnx.FlagDeliveryComplete), fierr.EBadFlags)
		require.ErrorIs(t, p.a.ep.WriteMsg(m, lnx.FlagPeek), fierr.EBadFlags)
		require.ErrorIs(t, p.a.ep.ReadMsg(m, lnx.FlagInject), fierr.EBadFlags)
	})
}
