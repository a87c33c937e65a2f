package sim_test

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/providers"
	"golnx/providers/fierr"
	"golnx/providers/sim"
	"golnx/providers/sim/linear"
)

// What every Core does, the simulated one and (with cgo) those of libfabric.

// kind is one kind of Core.
type kind struct {
	name string
	// open answers how endpoints are opened that reach each other.
	open func(t *testing.T) func(providers.Owner) (providers.Core, error)
}

var kinds = []kind{{"sim", func(t *testing.T) func(providers.Owner) (providers.Core, error) {
	f := sim.New(sim.Options{Auto: true})
	t.Cleanup(func() { require.NoError(t, f.Err()) })
	return func(o providers.Owner) (providers.Core, error) {
		return opened(f.Open([]sim.Rail{{Rate: 100e9, Latency: 1000}}, o, sim.Limits{}))
	}
}}}

// opened keeps a nil *Core from becoming a Core that is not nil.
func opened[C providers.Core](core C, err error) (providers.Core, error) {
	if err != nil {
		return nil, err
	}
	return core, nil
}

// pair is two endpoints that know each other.
type pair struct {
	t        *testing.T
	a, b     *linear.Owner
	toB, toA uint64
	// completions that came while driving
	atA, atB []providers.Completion
}

func open(t *testing.T, how func(providers.Owner) (providers.Core, error)) *linear.Owner {
	t.Helper()
	o, err := linear.Open(how)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, o.Close())
		require.NoError(t, o.Close(), "a second time")
	})
	return o
}

func insert(t *testing.T, o, other *linear.Owner, rail int) uint64 {
	t.Helper()
	name, err := other.Core.Name(rail)
	require.NoError(t, err)
	addr, err := o.Core.Insert(rail, name)
	require.NoError(t, err)
	return addr
}

func onKinds(t *testing.T, test func(t *testing.T, p *pair)) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			how := k.open(t)
			p := &pair{t: t, a: open(t, how), b: open(t, how)}
			p.toB, p.toA = insert(t, p.a, p.b, 0), insert(t, p.b, p.a, 0)
			test(t, p)
		})
	}
}

// until drives both ends.
func (p *pair) until(cond func() bool) {
	p.t.Helper()
	for end := time.Now().Add(20 * time.Second); !cond(); {
		require.True(p.t, time.Now().Before(end), "still waiting; at A %v, at B %v", p.atA, p.atB)
		p.atA = append(p.atA, p.a.Poll()...)
		p.atB = append(p.atB, p.b.Poll()...)
	}
}

// ends waits for so many completions at both ends and answers them.
func (p *pair) ends(atA, atB int) (a, b []providers.Completion) {
	p.t.Helper()
	p.until(func() bool { return len(p.atA) >= atA && len(p.atB) >= atB })
	a, b = p.atA, p.atB
	require.Len(p.t, a, atA)
	require.Len(p.t, b, atB)
	p.atA, p.atB = nil, nil
	return a, b
}

// arrived waits for so many unexpected messages at B.
func (p *pair) arrived(n int) []providers.Slot {
	p.t.Helper()
	p.until(func() bool { return len(p.b.Unexpected()) >= n })
	return p.b.Unexpected()
}

// send starts a send of A to B, which may take several tries over a network.
func (p *pair) send(op providers.SendOp, bufs ...[]byte) {
	p.t.Helper()
	op.Dest = p.toB
	p.until(func() bool {
		_, err := p.a.Send(0, op, bufs...)
		if err != nil {
			require.ErrorIs(p.t, err, fierr.EAgain)
		}
		return err == nil
	})
}

func (p *pair) recv(src, tag, ignore uint64, bufs ...[]byte) providers.Slot {
	p.t.Helper()
	slot, err := p.b.Recv(src, tag, ignore, bufs...)
	require.NoError(p.t, err)
	return slot
}

func noise(seed uint64, n int) []byte {
	rng := rand.New(rand.NewPCG(seed, 7))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

const sends, receives = providers.FlagTagged | providers.FlagSend, providers.FlagTagged | providers.FlagRecv

func TestMessages(t *testing.T) {
	onKinds(t, func(t *testing.T, p *pair) {
		uses := map[[2]int]int{} // a slot's last Gen, plus one
		used := func(c providers.Completion) {
			slot := [2]int{int(c.Kind), int(c.Slot)}
			require.GreaterOrEqual(t, int(c.Gen), uses[slot])
			uses[slot] = int(c.Gen) + 1
		}
		for i, size := range []int{0, 1, 64, 65, 5000, 300_000} {
			for _, expected := range []bool{true, false} {
				msg, buf := noise(uint64(i), size), make([]byte, size)
				var slot providers.Slot
				if expected {
					slot = p.recv(p.toA, uint64(i), 0, buf)
				}
				p.send(providers.SendOp{Tag: uint64(i)}, msg)
				if !expected {
					waiting := p.arrived(1)[0]
					m := p.b.Core.Unexpected(waiting)
					require.Equal(t, uint64(size), m.Size)
					require.Equal(t, uint64(i), m.Tag)
					require.Equal(t, p.toA, m.Src)
					require.Zero(t, m.Rail)
					require.Zero(t, m.Flags&providers.FlagRemoteCQData)
					slot = p.recv(p.toA, uint64(i), 0, buf)
					require.Equal(t, waiting, slot)
				}
				a, b := p.ends(1, 1)
				used(a[0])
				used(b[0])
				require.Equal(t, uint64(sends), a[0].Flags)
				require.Equal(t, providers.Transmit, a[0].Kind)
				require.Zero(t, a[0].Err)
				require.Equal(t, uint64(receives), b[0].Flags)
				require.Equal(t, providers.Receive, b[0].Kind)
				require.Equal(t, slot, b[0].Slot)
				require.Equal(t, uint64(size), b[0].Len)
				require.Equal(t, uint64(i), b[0].Tag)
				require.Zero(t, b[0].Err)
				require.True(t, bytes.Equal(msg, buf), "%d bytes, expected %v", size, expected)
			}
		}
	})
}

func TestTruncation(t *testing.T) {
	onKinds(t, func(t *testing.T, p *pair) {
		for i, c := range []struct{ size, room int }{{8, 7}, {8, 0}, {5000, 4999}, {300_000, 17}} {
			for _, expected := range []bool{true, false} {
				msg, buf := noise(uint64(i), c.size), make([]byte, c.room)
				if expected {
					p.recv(p.toA, 1, 0, buf)
				}
				p.send(providers.SendOp{Tag: 1}, msg)
				if !expected {
					p.arrived(1)
					p.recv(p.toA, 1, 0, buf)
				}
				a, b := p.ends(1, 1)
				require.Zero(t, a[0].Err, "the sender does not notice")
				require.Equal(t, int32(fierr.ETrunc), b[0].Err)
				require.Equal(t, uint64(c.room), b[0].Len)
				require.Equal(t, uint64(c.size-c.room), b[0].Olen)
				require.True(t, bytes.Equal(msg[:c.room], buf), "%v, expected %v", c, expected)
			}
		}
	})
}

func TestRemoteCQData(t *testing.T) {
	onKinds(t, func(t *testing.T, p *pair) {
		const data = 0xfedcba9876543210
		for _, expected := range []bool{true, false} {
			if expected {
				p.recv(p.toA, 0, ^uint64(0))
			}
			p.send(providers.SendOp{Tag: 3, Data: data, Flags: providers.FlagRemoteCQData})
			if !expected {
				m := p.b.Core.Unexpected(p.arrived(1)[0])
				require.Equal(t, uint64(data), m.Data)
				require.NotZero(t, m.Flags&providers.FlagRemoteCQData)
				p.recv(p.toA, 0, ^uint64(0))
			}
			_, b := p.ends(1, 1)
			require.Equal(t, uint64(data), b[0].Data)
			require.Equal(t, uint64(receives|providers.FlagRemoteCQData), b[0].Flags)
			require.Equal(t, uint64(3), b[0].Tag)
		}
	})
}

func TestBuffers(t *testing.T) {
	onKinds(t, func(t *testing.T, p *pair) {
		limit := p.a.Core.Rails()[0].IOVLimit
		for _, size := range []int{10, 100_000} {
			msg := noise(1, size)
			x, y := make([]byte, size/3), make([]byte, size-size/3)
			p.recv(p.toA, 1, 0, x, y)
			bufs := [][]byte{msg[:size/2], msg[size/2:]}[:min(2, limit)]
			p.send(providers.SendOp{Tag: 1}, bufs...)
			_, b := p.ends(1, 1)
			require.Zero(t, b[0].Err)
			require.True(t, bytes.Equal(msg, append(x, y...)), "%d bytes", size)
		}
	})
}

// An injected message does not need its buffer any more.
func TestInject(t *testing.T) {
	onKinds(t, func(t *testing.T, p *pair) {
		msg := noise(1, int(p.a.Core.Rails()[0].InjectSize))
		sentAs, buf := bytes.Clone(msg), make([]byte, len(msg))
		p.send(providers.SendOp{Tag: 1, Flags: providers.FlagInject}, msg)
		clear(msg)
		p.recv(p.toA, 1, 0, buf)
		_, b := p.ends(1, 1)
		require.Zero(t, b[0].Err)
		require.Equal(t, sentAs, buf)
	})
}

// The sender of a message is unknown until its address is inserted.
func TestWhose(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			how := k.open(t)
			p := &pair{t: t, a: open(t, how), b: open(t, how)}
			p.toB = insert(t, p.a, p.b, 0)
			msg, buf := noise(1, 5000), make([]byte, 5000)
			p.send(providers.SendOp{Tag: 1}, msg)
			slot := p.arrived(1)[0]
			require.Equal(t, providers.NoAddr, p.b.Core.Unexpected(slot).Src)
			require.Equal(t, providers.NoAddr, p.b.Core.Whose(slot))

			p.toA = insert(t, p.b, p.a, 0)
			p.b.Resolve()
			require.Equal(t, slot, p.recv(p.toA, 1, 0, buf), "the receive takes the message that waits")
			_, b := p.ends(1, 1)
			require.Equal(t, slot, b[0].Slot)
			require.Zero(t, b[0].Err)
			require.True(t, bytes.Equal(msg, buf))
		})
	}
}

// Messages of one rail to another are matched in the order sent, whatever their
// sizes.
func TestOrder(t *testing.T) {
	onKinds(t, func(t *testing.T, p *pair) {
		const n = 60
		sizes := []int{8, 40_000, 3000, 0}
		bufs := make([][]byte, n)
		for i := range n / 2 {
			bufs[i] = make([]byte, 40_000)
			p.recv(p.toA, 5, 0, bufs[i])
		}
		for i := range n {
			p.send(providers.SendOp{Tag: 5}, noise(uint64(i), sizes[i%4]))
		}
		p.arrived(n / 2)
		for i := n / 2; i < n; i++ {
			bufs[i] = make([]byte, 40_000)
			p.recv(p.toA, 5, 0, bufs[i])
		}
		p.ends(n, n)
		for i := range n {
			require.True(t, bytes.Equal(noise(uint64(i), sizes[i%4]), bufs[i][:sizes[i%4]]), "message %d", i)
		}
	})
}

// A receive that is taken back leaves its buffer alone.
func TestCancel(t *testing.T) {
	onKinds(t, func(t *testing.T, p *pair) {
		first, second := make([]byte, 8), make([]byte, 8)
		slot := p.recv(p.toA, 1, 0, first)
		require.True(t, p.b.Cancel(slot))
		require.False(t, p.b.Cancel(slot))
		p.recv(p.toA, 1, 0, second)
		p.send(providers.SendOp{Tag: 1}, noise(1, 8))
		p.ends(1, 1)
		require.Equal(t, make([]byte, 8), first)
		require.Equal(t, noise(1, 8), second)
	})
}

// A probe has no tag and no bytes, meets no receive and completes as a stray.
func TestProbe(t *testing.T) {
	onKinds(t, func(t *testing.T, p *pair) {
		p.recv(p.toA, 0, ^uint64(0))
		prober := p.a.Core.(providers.Prober)
		p.until(func() bool { return prober.Probe(0, p.toB) == nil })
		_, b := p.ends(0, 1)
		require.Equal(t, 1, p.b.Strays)
		require.Equal(t, uint64(providers.FlagMsg|providers.FlagRecv), b[0].Flags)
		require.Zero(t, b[0].Len)
		require.Zero(t, b[0].Err)
	})
}

// An untagged message meets no tagged receive. The plain owner receives it into nothing.
func TestUntagged(t *testing.T) {
	onKinds(t, func(t *testing.T, p *pair) {
		p.recv(p.toA, 0, ^uint64(0))
		for i, size := range []int{0, 8, 5000, 300_000} {
			data := uint64(size)
			p.send(providers.SendOp{Data: data, Flags: providers.FlagMsg | providers.FlagRemoteCQData}, noise(1, size))
			a, b := p.ends(1, 1)
			require.Equal(t, i+1, p.b.Strays)
			require.Equal(t, uint64(providers.FlagMsg|providers.FlagSend), a[0].Flags)
			require.Zero(t, a[0].Err)
			require.Equal(t, uint64(providers.FlagMsg|providers.FlagRecv|providers.FlagRemoteCQData), b[0].Flags)
			require.Equal(t, data, b[0].Data)
			require.Zero(t, b[0].Len)
			require.Equal(t, uint64(size), b[0].Olen)
		}
		p.send(providers.SendOp{Flags: providers.FlagMsg}, noise(1, 4), noise(2, 4))
		_, b := p.ends(1, 1)
		require.Equal(t, uint64(8), b[0].Olen)
	})
}

// An address that is removed can be inserted again.
func TestRemove(t *testing.T) {
	onKinds(t, func(t *testing.T, p *pair) {
		require.NoError(t, p.a.Core.Remove(0, p.toB))
		p.toB = insert(t, p.a, p.b, 0)
		p.recv(p.toA, 1, 0)
		p.send(providers.SendOp{Tag: 1})
		p.ends(1, 1)
	})
}
