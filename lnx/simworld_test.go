package lnx

import (
	"errors"
	"math/rand/v2"

	"github.com/stretchr/testify/require"

	"golnx/providers"
	"golnx/providers/fierr"
	"golnx/providers/sim"
)

// Endpoints over simulated rails: what depends on time is exact there.

// simT is a *testing.T or *rapid.T.
type simT interface {
	require.TestingT
	Cleanup(func())
}

// simLink is a link of simulated rails.
func simLink(t simT, rails []sim.Rail, opts Options) *Link {
	opts.Lookup = env(nil)
	set, err := opts.resolve()
	require.NoError(t, err)
	// A fabric of its own has the last word on what the rails are like.
	core, err := sim.New(sim.Options{}).Open(rails, nil, sim.Limits{})
	require.NoError(t, err)
	infos := core.Rails()
	return &Link{Name: "sim", Info: representative(infos), Rails: infos, set: set}
}

// simNode is an endpoint over simulated rails, with what is under way on it.
type simNode struct {
	t     simT
	ep    *Endpoint
	core  *sim.Core
	batch [32]Entry
	stray func(Entry, error) // takes what ends without a context
}

// simOp is the context of an operation.
type simOp struct {
	buf   []byte
	times int // that it ended
	entry Entry
	err   error
}

// simWorld is endpoints on one fabric.
type simWorld struct {
	t     simT
	f     *sim.Fabric
	nodes []*simNode
}

// newSimWorld opens endpoints that know each other: peer i of each is endpoint i,
// itself included.
func newSimWorld(t simT, n int, rails []sim.Rail, opts Options) *simWorld {
	w := &simWorld{t: t, f: sim.New(sim.Options{})}
	for range n {
		w.open(rails, opts)
	}
	for _, x := range w.nodes {
		for i, y := range w.nodes {
			addr, err := x.ep.AV().Insert(y.ep.Name())
			require.NoError(t, err)
			require.EqualValues(t, i, addr)
		}
	}
	return w
}

func (w *simWorld) open(rails []sim.Rail, opts Options) *simNode {
	n := &simNode{t: w.t}
	var err error
	n.ep, err = openWith(simLink(w.t, rails, opts), func(_ *Link, o providers.Owner) (_ providers.Core, err error) {
		if n.core, err = w.f.Open(rails, o, sim.Limits{}); err != nil {
			return nil, err
		}
		return n.core, nil
	})
	require.NoError(w.t, err)
	w.t.Cleanup(func() { require.NoError(w.t, n.ep.Close()) })
	w.nodes = append(w.nodes, n)
	return n
}

// idle asserts that nothing is under way, closes all, and asserts that the layer
// kept to the contract of its cores.
func (w *simWorld) idle() {
	for i, n := range w.nodes {
		tx, rx := n.core.Slots()
		require.Zero(w.t, tx+rx, "endpoint %d: %d send contexts, %d receive entries", i, tx, rx)
		require.NoError(w.t, n.ep.Close())
	}
	require.NoError(w.t, w.f.Err())
}

// poll reads each CQ once, and answers whether there was anything.
func (w *simWorld) poll() (some bool) {
	for _, n := range w.nodes {
		some = n.poll() || some
	}
	return some
}

func (n *simNode) poll() bool {
	k, err := n.ep.CQ().Read(n.batch[:])
	for i := range k {
		n.end(n.batch[i].Context, n.batch[i], nil)
	}
	if errors.Is(err, fierr.EAvail) {
		e, err := n.ep.CQ().ReadErr()
		require.NoError(n.t, err)
		n.end(e.Context, e.Entry, e)
		return true
	}
	return k > 0
}

func (n *simNode) end(ctx any, e Entry, err error) {
	if ctx == nil && n.stray != nil {
		n.stray(e, err)
		return
	}
	op := ctx.(*simOp)
	op.times++
	op.entry, op.err = e, err
	require.Equal(n.t, 1, op.times, "an operation ended twice")
}

// settle lets happen what is to happen. A rail without traffic is driven once in
// sixteen polls.
func (w *simWorld) settle() {
	for quiet := 0; quiet < 20; quiet++ {
		if w.poll() || w.f.Step() {
			quiet = 0
		}
	}
}

// send starts a send, letting time go on while the rail takes none.
func (w *simWorld) send(from, to int, tag uint64, buf []byte) (*simOp, error) {
	op := &simOp{buf: buf}
	for {
		err := w.nodes[from].ep.TSend(buf, Addr(to), tag, op)
		if err != fierr.Again {
			return op, err
		}
		require.True(w.t, w.poll() || w.f.Step() || w.poll(), "EAGAIN for ever")
	}
}

func (w *simWorld) recv(at int, from Addr, tag uint64, size int) *simOp {
	op := &simOp{buf: make([]byte, size)}
	require.NoError(w.t, w.nodes[at].ep.TRecv(op.buf, from, tag, 0, op))
	return op
}

// good asserts that an operation succeeded.
func (w *simWorld) good(ops ...*simOp) {
	for i, op := range ops {
		require.Equal(w.t, 1, op.times, "operation %d of %d has no end", i, len(ops))
		require.NoError(w.t, op.err, "operation %d of %d", i, len(ops))
	}
}

func simNoise(seed uint64, n int) []byte {
	buf, rng := make([]byte, n), rand.New(rand.NewPCG(seed, 1))
	for i := range buf {
		buf[i] = byte(rng.Uint32())
	}
	return buf
}

// simRails are n equal rails.
func simRails(n int, r sim.Rail) (rails []sim.Rail) {
	for range n {
		rails = append(rails, r)
	}
	return rails
}
