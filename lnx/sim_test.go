package lnx

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"golnx/peer"
	"golnx/providers"
	"golnx/providers/sim"
	"golnx/rail"
)

// Two endpoints send each other messages of all sizes, the second half of them
// before the receives are posted. PER_MSG gives each rail an equal share although one
// is slower and refuses some, PER_PEER one rail all.
func TestSimBothDirections(t *testing.T) {
	const n = 120
	for _, policy := range []string{rail.PerMsg, rail.PerPeer} {
		t.Run(policy, func(t *testing.T) {
			w := newSimWorld(t, 2, []sim.Rail{
				{Info: providers.Info{TxSize: 3}, Rate: 100e9, Latency: 1500},
				{Info: providers.Info{TxSize: 3}, Rate: 30e9, Latency: 1500},
			}, Options{Policy: policy})
			sizes := []int{0, 8, 64, 65, 4096, 70_000}
			var sends, recvs []*simOp
			exchange := func(i, at int) {
				op, err := w.send(1-at, at, uint64(i), simNoise(uint64(2*i+at), sizes[i%len(sizes)]))
				require.NoError(t, err)
				sends = append(sends, op)
			}
			post := func(i, at int) {
				recvs = append(recvs, w.recv(at, Addr(1-at), uint64(i), sizes[i%len(sizes)]))
			}
			for _, step := range []struct {
				do   func(i, at int)
				half int
			}{{post, 0}, {exchange, 0}, {exchange, 1}, {post, 1}} {
				for i := step.half * n / 2; i < (step.half+1)*n/2; i++ {
					step.do(i, 0)
					step.do(i, 1)
				}
				w.settle()
			}
			w.good(sends...)
			w.good(recvs...)
			for k, op := range recvs {
				require.True(t, bytes.Equal(simNoise(uint64(k), sizes[k/2%len(sizes)]), op.buf), "message %d to %d", k/2, k%2)
				require.EqualValues(t, 1-k%2, op.entry.Src)
			}
			for _, x := range w.nodes {
				s := x.ep.Stats()
				if policy == rail.PerMsg {
					require.EqualValues(t, n/2, s[0].TSends)
					require.EqualValues(t, n/2, s[0].RxExpected+s[0].RxUnexpected)
				}
				require.EqualValues(t, n, s[0].TSends+s[1].TSends)
				require.EqualValues(t, n/2, s[0].RxExpected+s[1].RxExpected)
				require.EqualValues(t, n/2, s[0].RxUnexpected+s[1].RxUnexpected)
				if policy == rail.PerPeer {
					require.Zero(t, s[0].TSends*s[1].TSends)
				}
			}
			w.idle()
		})
	}
}

// PER_PEER keeps the order although one rail is far slower; PER_MSG does not, which
// Ordered says.
func TestSimOrder(t *testing.T) {
	for _, policy := range []string{rail.PerPeer, rail.PerMsg} {
		w := newSimWorld(t, 2, []sim.Rail{{Latency: 5000}, {Latency: 10}}, Options{Policy: policy})
		var recvs []*simOp
		for range 50 {
			recvs = append(recvs, w.recv(1, 0, 7, 1))
		}
		for i := range 50 {
			_, err := w.send(0, 1, 7, []byte{byte(i)})
			require.NoError(t, err)
			w.f.Advance(7)
		}
		w.settle()
		w.good(recvs...)
		inOrder := true
		for i, op := range recvs {
			inOrder = inOrder && op.buf[0] == byte(i)
		}
		require.Equal(t, policy == rail.PerPeer, inOrder, policy)
		require.Equal(t, inOrder, w.nodes[0].ep.Ordered())
		w.idle()
	}
}

// Two equal rails carry nearly twice as much as one: for one peer under PER_MSG, for
// several under PER_PEER.
func TestSimThroughput(t *testing.T) {
	const total, size = 256, 64 << 10
	elapsed := func(policy string, rails, peers int) float64 {
		w := newSimWorld(t, 1+peers, simRails(rails, sim.Rail{Info: providers.Info{TxSize: 16}, Rate: 200e9, Latency: 1500}), Options{Policy: policy})
		var recvs []*simOp
		buf := make([]byte, size)
		for i := range total {
			recvs = append(recvs, w.recv(1+i%peers, 0, 7, size))
		}
		for i := range total {
			_, err := w.send(0, 1+i%peers, 7, buf)
			require.NoError(t, err)
		}
		w.settle()
		w.good(recvs...)
		ns := float64(w.f.Now())
		w.idle()
		require.GreaterOrEqual(t, ns, total*size*8/(float64(rails)*200), "faster than the rails are")
		return ns
	}
	one := elapsed(rail.PerMsg, 1, 1)
	require.InEpsilon(t, total*size*8/200+1500, one, 0.001)
	for _, c := range []struct {
		policy       string
		rails, peers int
	}{{rail.PerMsg, 2, 1}, {rail.PerMsg, 2, 3}, {rail.PerMsg, 4, 1}, {rail.PerPeer, 2, 2}, {rail.PerPeer, 4, 4}} {
		gain := one / elapsed(c.policy, c.rails, c.peers)
		require.Greater(t, gain, 0.95*float64(c.rails), "%+v", c)
	}
}

// A rail that goes down in the middle of things fails sends; later ones take the other
// rail, and every operation ends. When it is up again it is used again, but by a policy
// that keeps order.
func TestSimRailDown(t *testing.T) {
	for _, policy := range []string{rail.PerMsg, rail.PerPeer} {
		for _, loss := range []sim.Loss{sim.Fail, sim.Lose} {
			t.Run(fmt.Sprintf("%s/loss=%d", policy, loss), func(t *testing.T) {
				// a message takes 100 ns and is 450 ns under way
				w := newSimWorld(t, 3, simRails(2, sim.Rail{Rate: 80e9, Latency: 450}), Options{Policy: policy})
				w.nodes[0].core.Down(0, 1000, loss)
				w.nodes[0].core.Up(0, 100_000)
				down := railDown{w: w}
				down.exchange(60)
				require.Zero(t, down.refused, "there is another rail")
				require.Greater(t, w.nodes[0].ep.Stats()[0].Errors, uint64(down.failed))
				require.Equal(t, loss == sim.Fail, down.failed > 0)
				require.NotZero(t, down.lost)

				w.f.Advance(100_000)
				up := railDown{w: w}
				up.exchange(40) // a path that was given up is tried now and then
				before := w.nodes[0].ep.Stats()
				up.exchange(40)
				require.Zero(t, up.refused+up.failed+up.lost)
				want := []uint64{20, 20}
				if policy == rail.PerPeer {
					want = []uint64{0, 40} // order forbids to go back
				}
				for i, s := range w.nodes[0].ep.Stats() {
					require.Equal(t, want[i], s.Sub(before[i].Stats).TSends)
				}
				w.idle()
			})
		}
	}
}

// railDown exchanges messages and counts what becomes of them.
type railDown struct {
	w *simWorld
	// refused are sends that did not start, failed those that ended so; lost
	// are receives that nothing came for.
	refused, failed, lost int
}

func (d *railDown) exchange(n int) {
	w, sends, recvs := d.w, []*simOp(nil), []*simOp(nil)
	for i := range n {
		to := 1 + i%2
		recvs = append(recvs, w.recv(to, 0, uint64(i), 1000))
		op, err := w.send(0, to, uint64(i), simNoise(uint64(i), 1000))
		if err == nil {
			sends = append(sends, op)
		} else {
			require.ErrorIs(w.t, err, sim.ErrDown)
			require.ErrorContains(w.t, err, "sim0")
			d.refused++
		}
		w.poll()
		w.f.Advance(50)
	}
	w.settle()
	for _, op := range sends {
		require.Equal(w.t, 1, op.times)
		if op.err != nil {
			require.ErrorIs(w.t, op.err, sim.ErrDown)
			d.failed++
		}
	}
	for i, op := range recvs {
		if op.times == 0 {
			d.lost++
			require.NoError(w.t, w.nodes[1+i%2].ep.Cancel(op))
			continue
		}
		w.good(op)
		require.True(w.t, bytes.Equal(simNoise(uint64(i), 1000), op.buf))
	}
	w.settle()
}

// A message can come before its sender is in the AV: a receive for that sender
// takes it once it is.
func TestSimUnknownSender(t *testing.T) {
	w := &simWorld{t: t, f: sim.New(sim.Options{})}
	a, b := w.open(simRails(2, sim.Rail{}), Options{}), w.open(simRails(2, sim.Rail{}), Options{})
	_, err := a.ep.AV().Insert(b.ep.Name())
	require.NoError(t, err)
	_, err = b.ep.AV().Insert(b.ep.Name())
	require.NoError(t, err)
	var ops []*simOp
	for i := range 2 {
		op, err := w.send(0, 0, 5, []byte{byte(i)})
		require.NoError(t, err)
		ops = append(ops, op)
	}
	w.settle()
	any := w.recv(1, AddrUnspec, 5, 1)
	w.settle()
	require.Equal(t, AddrUnspec, any.entry.Src)

	fromA, err := b.ep.AV().Insert(a.ep.Name())
	require.NoError(t, err)
	second := w.recv(1, fromA, 5, 1)
	w.settle()
	w.good(append(ops, any, second)...)
	require.Equal(t, fromA, second.entry.Src)
	require.Equal(t, []byte{0, 1}, append(any.buf, second.buf...))
	w.idle()
}

// Random links and messages: each arrives once, whole, at the receive it is for, and
// in order where the policy says so.
func TestSimRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := rapid.SampledFrom([]string{rail.PerMsg, rail.PerPeer, rail.Weighted}).Draw(t, "policy")
		rails := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) sim.Rail {
			return sim.Rail{
				Info:    providers.Info{TxSize: rapid.Uint64Range(1, 5).Draw(t, "tx size")},
				Rate:    rapid.SampledFrom([]uint64{0, 1e9, 200e9}).Draw(t, "rate"),
				Latency: rapid.Int64Range(0, 5000).Draw(t, "latency"),
				Jitter:  rapid.SampledFrom([]int64{0, 1000}).Draw(t, "jitter"),
			}
		}), 1, 4).Draw(t, "rails")
		nodes := rapid.IntRange(1, 3).Draw(t, "endpoints")
		w := newSimWorld(t, nodes, rails, Options{Policy: policy})
		type flow struct{ from, to, tag int }
		sent, posted := map[flow][]*simOp{}, map[flow][]*simOp{}
		for range rapid.IntRange(1, 40).Draw(t, "operations") {
			f := flow{rapid.IntRange(0, nodes-1).Draw(t, "from"), rapid.IntRange(0, nodes-1).Draw(t, "to"), rapid.IntRange(0, 1).Draw(t, "tag")}
			switch rapid.IntRange(0, 3).Draw(t, "do") {
			case 0:
				posted[f] = append(posted[f], w.recv(f.to, Addr(f.from), uint64(f.tag), 300))
			case 1:
				w.poll()
			case 2:
				w.f.Advance(rapid.Int64Range(0, 3000).Draw(t, "pause"))
			default:
				buf := bytes.Repeat([]byte{byte(len(sent[f]))}, rapid.IntRange(1, 300).Draw(t, "size"))
				op, err := w.send(f.from, f.to, uint64(f.tag), buf)
				require.NoError(t, err)
				sent[f] = append(sent[f], op)
			}
		}
		for f, ops := range sent {
			for len(posted[f]) < len(ops) {
				posted[f] = append(posted[f], w.recv(f.to, Addr(f.from), uint64(f.tag), 300))
			}
		}
		w.settle()
		for f, recvs := range posted {
			seen := map[byte]bool{}
			for i, op := range recvs {
				if i >= len(sent[f]) {
					require.Zero(t, op.times)
					require.NoError(t, w.nodes[f.to].ep.Cancel(op))
					continue
				}
				w.good(sent[f][i], op)
				which := op.buf[0]
				require.Equal(t, sent[f][which].buf, op.buf[:op.entry.Len])
				require.False(t, seen[which], "message %d twice", which)
				seen[which] = true
				if w.nodes[f.from].ep.Ordered() {
					require.EqualValues(t, i, which)
				}
			}
		}
		w.settle()
		w.idle()
	})
}

// A message costs no allocation, from the send to the entries in the CQs.
func TestSimNoAllocation(t *testing.T) {
	w := newSimWorld(t, 2, simRails(2, sim.Rail{Rate: 100e9, Latency: 100}), Options{Policy: rail.PerMsg})
	a, b := w.nodes[0].ep, w.nodes[1].ep
	msg, buf, ctx := make([]byte, 1000), make([]byte, 1000), new(int)
	var entries [4]Entry
	round := func() {
		if b.TRecv(buf, 0, 1, 0, ctx) != nil || a.TSend(msg, 1, 1, ctx) != nil {
			t.Error("refused")
		}
		for ends := 0; ends < 2; {
			n, _ := a.CQ().Read(entries[:])
			m, _ := b.CQ().Read(entries[:])
			if ends += n + m; n+m == 0 {
				w.f.Step()
			}
		}
	}
	round()
	require.Zero(t, testing.AllocsPerRun(200, round))
	w.idle()
}

// Goroutines that block share two endpoints whose time goes on by itself.
func TestSimBlocking(t *testing.T) {
	w := &simWorld{t: t, f: sim.New(sim.Options{Auto: true})}
	rails := simRails(2, sim.Rail{Info: providers.Info{TxSize: 4}, Rate: 10e9, Latency: 1000})
	a, b := w.open(rails, Options{Policy: rail.PerMsg}), w.open(rails, Options{Policy: rail.PerMsg})
	toB, err := a.ep.AV().Insert(b.ep.Name())
	require.NoError(t, err)
	toA, err := b.ep.AV().Insert(a.ep.Name())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for tag := range uint64(4) {
		wg.Go(func() {
			for i := range uint64(50) {
				if err := a.ep.Send(ctx, toB, tag, simNoise(i, 2000)); err != nil {
					t.Errorf("send %d with tag %d: %v", i, tag, err)
					return
				}
				buf := make([]byte, 2000)
				if _, err := a.ep.Recv(ctx, toB, tag, 0, buf); err != nil || !bytes.Equal(simNoise(i+1, 2000), buf) {
					t.Errorf("answer %d with tag %d: %v", i, tag, err)
					return
				}
			}
		})
		wg.Go(func() {
			for i := range uint64(50) {
				buf := make([]byte, 2000)
				if _, err := b.ep.Recv(ctx, toA, tag, 0, buf); err != nil || !bytes.Equal(simNoise(i, 2000), buf) {
					t.Errorf("receive %d with tag %d: %v", i, tag, err)
					return
				}
				if err := b.ep.Send(ctx, toA, tag, simNoise(i+1, 2000)); err != nil {
					t.Errorf("answer %d with tag %d: %v", i, tag, err)
					return
				}
			}
		})
	}
	wg.Wait()
	w.idle()
}

// What thousands of peers take in the layer, each with 8 rails. On one flat network every
// rail reaches every address, so that a peer has 64 paths.
func TestSimPeerMemory(t *testing.T) {
	const rails = 8
	for _, c := range []struct {
		name   string
		fabric func(rail int) string
		peers  int
		paths  int
		most   int // bytes for a peer
	}{
		{"a network for each rail", func(rail int) string { return fmt.Sprintf("net%d", rail) }, 10_000, 8, 4500},
		{"one network", func(int) string { return "net" }, 2000, 64, 10000},
	} {
		t.Run(c.name, func(t *testing.T) {
			var desc []sim.Rail
			for i := range rails {
				desc = append(desc, sim.Rail{Info: providers.Info{Fabric: c.fabric(i)}})
			}
			w := &simWorld{t: t, f: sim.New(sim.Options{})}
			n := w.open(desc, Options{Policy: rail.PerMsg})
			blobs := make([][]byte, c.peers)
			for i := range blobs {
				blobs[i] = simBlob(t, i, n.ep)
			}
			before := heap()
			for i, blob := range blobs {
				addr, err := n.ep.AV().Insert(blob)
				require.NoError(t, err)
				require.EqualValues(t, i, addr)
			}
			all := heap() - before
			perPeer := (all - simAddresses(t, w.f, desc, blobs, c.paths/rails)) / c.peers
			require.Positive(t, perPeer)
			require.Less(t, perPeer, c.most)
			t.Logf("%d bytes for a peer", perPeer)
			w.idle()
		})
	}
}

// simAddresses is what the peers' addresses take in the simulated rails, where each
// rail knows so many of a peer's.
func simAddresses(t *testing.T, f *sim.Fabric, rails []sim.Rail, blobs [][]byte, each int) int {
	before := heap()
	core, err := f.Open(rails, nil, sim.Limits{})
	require.NoError(t, err)
	for _, blob := range blobs {
		a, err := peer.Decode(blob)
		require.NoError(t, err)
		for i := range rails {
			for k := range each {
				_, err := core.Insert(i, a.Entries[(i+k)%len(rails)].Addr)
				require.NoError(t, err)
			}
		}
	}
	taken := heap() - before
	require.NoError(t, core.Close())
	return taken
}

// simBlob is the blob of an endpoint that is not there, with rails as ep has.
func simBlob(t *testing.T, i int, ep *Endpoint) []byte {
	own, err := peer.Decode(ep.Name())
	require.NoError(t, err)
	own.Host, own.Ext.Node = fmt.Sprintf("node%d", i), peer.Node{}
	for k := range own.Entries {
		own.Entries[k].Addr = fmt.Appendf(nil, "%05x.%02x", 0x10000+i, k)
	}
	blob, err := peer.Encode21(own)
	require.NoError(t, err)
	return blob
}

// heap is how many bytes are in use.
func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
