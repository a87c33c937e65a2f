package lnx

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/providers/fierr"
)

// probed is an endpoint over shm that suspects its rail at any moment.
type probed struct {
	*Endpoint
	t    *testing.T
	self Addr
}

func newProbed(t *testing.T) *probed {
	t.Helper()
	listing, err := Links(Options{Links: "shm", Lookup: env(nil)})
	require.NoError(t, err)
	ep, err := Open(listing.Links[0])
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ep.Close()) })
	return &probed{Endpoint: ep, t: t}
}

func (p *probed) suspect() {
	p.lock()
	p.suspectShm(&peerState{paths: []path{{rail: 0}}})
	p.mu.Unlock()
}

func (p *probed) underWay() int {
	p.lock()
	defer p.mu.Unlock()
	return p.probing
}

// passes drives the endpoint until its probes have arrived.
func (p *probed) passes() {
	p.t.Helper()
	soon(p.t, func() bool { turns(p.t, p.Endpoint, 1); return p.underWay() == 0 }, "a probe")
	require.False(p.t, p.shm[0].deaf)
}

func (p *probed) insert() {
	var err error
	p.self, err = p.AV().Insert(p.Name())
	require.NoError(p.t, err)
}

// The probes of shm are untagged empty messages to oneself, as the user may send too.
// Each keeps to its own: no message is taken for a probe, and no probe for a message.
func TestProbesAndMessagesToOneself(t *testing.T) {
	p := newProbed(t)
	p.insert()
	random := rand.New(rand.NewPCG(1, 1))
	sent := uint64(0)
	soon(t, func() bool {
		switch n := random.IntN(10); {
		case n < 3:
			p.suspect()
		case n < 6:
			buf := make([]byte, random.IntN(2))
			if err := p.MInjectData(buf, sent, p.self); err != fierr.Again {
				require.NoError(t, err)
				sent++
			}
		default:
			turns(t, p.Endpoint, 1)
		}
		return sent == 1000
	}, "messages to oneself")
	p.passes()
	for i := range sent {
		require.NoError(t, p.MRecv(make([]byte, 1), p.self, nil))
		var e [1]Entry
		soon(t, func() bool { n, _ := p.CQ().Read(e[:]); return n == 1 }, "message %d", i)
		require.Equal(t, i, e[0].Data)
		require.Equal(t, p.self, e[0].Src)
	}
	require.NoError(t, p.MRecv(nil, p.self, "one more"))
	turns(t, p.Endpoint, 100)
	require.NoError(t, p.Cancel("one more"))
}

// Probes pass whether or not the user has inserted the endpoint's own address, or
// removed it again, also while one is under way.
func TestProbesWithoutOwnAddress(t *testing.T) {
	p := newProbed(t)
	for range 3 {
		p.suspect()
		p.passes()
		p.insert()
		p.suspect()
		p.passes()
		require.NoError(t, p.AV().Remove(p.self))
		p.suspect()
		p.suspect()
		p.passes()
		p.insert()
		p.suspect()
		p.passes()
		p.suspect()
		turns(t, p.Endpoint, 1)
		require.NoError(t, p.AV().Remove(p.self))
		p.passes()
	}
}

// A probe that does not arrive is told.
func TestProbeLost(t *testing.T) {
	p := newProbed(t)
	p.insert()
	p.suspect()
	p.passes()
	p.suspect()
	p.lock()
	p.shm[0].sent = true // so that none will come
	p.mu.Unlock()
	require.NoError(t, p.MRecv(nil, p.self, "waits"))
	soon(t, func() bool { _, err := p.CQ().Read(make([]Entry, 1)); return err == fierr.Avail }, "the end of the rail")
	for _, opContext := range []any{nil, "waits"} {
		e, err := p.CQ().ReadErr()
		require.NoError(t, err)
		require.ErrorIs(t, e, ErrRailBroken)
		require.Equal(t, opContext, e.Context)
	}
}
