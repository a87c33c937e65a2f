package lnx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"golnx/peer"
	"golnx/providers"
	"golnx/providers/fierr"
	"golnx/providers/sim"
	"golnx/rail"
)

// Selection at scale: one endpoint with 8 unequal rails, thousands of peers that each have
// 8 as well, and every message followed to the rail of the peer on which it arrives.

const (
	scaleRails = 8
	scaleBytes = 1000 // of a message
)

// scaleSpeeds are the rails' speeds in Gbit/s, over and over.
var scaleSpeeds = [...]float64{100, 200, 400, 25}

// scaleLink describes the rails. Two neighbours are on one network, so that each
// reaches two of a peer's addresses.
func scaleLink(numa func(rail int) int) (desc []sim.Rail) {
	for i := range scaleRails {
		desc = append(desc, sim.Rail{
			Info:    providers.Info{Fabric: fmt.Sprintf("net%d", i/2), NIC: providers.NIC{NUMA: numa(i)}},
			Rate:    uint64(scaleSpeeds[i%len(scaleSpeeds)] * 1e9),
			Latency: 1500,
		})
	}
	return desc
}

func TestSimShareAtScale(t *testing.T) {
	here := stayHere(t)
	nodeIs := func(near int) func(rail int) int {
		return func(rail int) int { return here + (rail+near)%2 }
	}
	sum := 0.0
	for i := range scaleRails {
		sum += scaleSpeeds[i%len(scaleSpeeds)]
	}
	equal := func(int) float64 { return 1.0 / scaleRails }
	only := func(a, b int) func(int) float64 {
		return func(i int) float64 {
			if i == a || i == b {
				return 0.5
			}
			return 0
		}
	}
	const peers = scalePeers
	crowd := newCrowd(t, peers)
	for _, c := range []struct {
		name, policy string
		numa         func(rail int) int
		share        func(rail int) float64
	}{
		{"PER_MSG", rail.PerMsg, nodeIs(0), equal},
		{"PER_PEER", rail.PerPeer, nodeIs(0), equal},
		{"WEIGHTED", rail.Weighted, nodeIs(0), func(i int) float64 { return scaleSpeeds[i%len(scaleSpeeds)] / sum }},
		// The fastest of the rails beside the caller, though others are faster.
		{"NEAREST even rails", rail.Nearest, nodeIs(0), only(2, 6)},
		{"NEAREST odd rails", rail.Nearest, nodeIs(1), only(1, 5)},
	} {
		t.Run(c.name, func(t *testing.T) {
			const rounds = 3
			s := crowd.open(t, scaleLink(c.numa), c.policy)
			begin := crowd.f.Now()
			for round := range rounds {
				s.send(round)
				crowd.receive(t, round)
				total := float64((round + 1) * peers)
				for i, stats := range s.ep.Stats() {
					require.InDelta(t, c.share(i), float64(stats.TSends)/total, 0.01*max(c.share(i), 0.001),
						"after %d messages to each peer: %v", round+1, s.ep.Stats())
					require.Zero(t, stats.Errors)
				}
			}
			// The slowest rail with its share is how long it takes.
			bound, bits := 0.0, float64(rounds*peers*scaleBytes*8)
			for i := range scaleRails {
				bound = max(bound, bits*c.share(i)/scaleSpeeds[i%len(scaleSpeeds)])
			}
			took := float64(crowd.f.Now() - begin)
			t.Logf("%.0f µs of virtual time, %.0f at least", took/1e3, bound/1e3)
			require.InEpsilon(t, bound+rounds*1500, took, 0.03)
			for i, n := range crowd.arrived() {
				share := (c.share(i&^1) + c.share(i|1)) / 2 // of what the network carries
				require.InDelta(t, share, float64(n)/float64(rounds*peers), 0.05*max(share, 0.001), "address %d", i)
			}
			s.close()
		})
	}
	crowd.close(t)
}

// stayHere keeps the test on its processor, and answers its NUMA node.
func stayHere(t *testing.T) int {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	var before, one unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &before))
	t.Cleanup(func() { require.NoError(t, unix.SchedSetaffinity(0, &before)) })
	for cpu := 0; one.Count() == 0; cpu++ {
		if before.IsSet(cpu) {
			one.Set(cpu)
		}
	}
	require.NoError(t, unix.SchedSetaffinity(0, &one))
	node := currentNode()
	require.GreaterOrEqual(t, node, 0)
	return node
}

// crowd is peers without an endpoint of the layer: thousands of those would take more
// descriptors than a process may have.
type crowd struct {
	f     *sim.Fabric
	peers []*crowdPeer
}

// crowdPeer takes every message as it comes.
type crowdPeer struct {
	core *sim.Core
	blob []byte
	buf  [scaleBytes]byte
	rail [scaleRails]int // messages that came over it
}

// Match implements providers.Owner. Only one message is under way to a peer.
func (p *crowdPeer) Match(r int, _, _, _ uint64) (providers.Slot, bool) {
	p.rail[r]++
	slot, _ := p.core.AllocRx(true)
	p.core.SetBuffers(slot, []providers.IOVec{{Base: unsafe.Pointer(&p.buf), Len: scaleBytes}})
	return slot, true
}
func (*crowdPeer) MatchMsg(int, uint64, uint64) (providers.Slot, bool) {
	panic("all messages have tags")
}
func (*crowdPeer) Dropped(providers.Slot) { panic("no rail is down") }

func newCrowd(t *testing.T, n int) *crowd {
	t.Helper()
	w := &simWorld{t: t, f: sim.New(sim.Options{})}
	c := &crowd{f: w.f}
	desc := scaleLink(func(int) int { return -1 })
	model, err := peer.Decode(w.open(desc, Options{}).ep.Name())
	require.NoError(t, err)
	for i := range n {
		p := &crowdPeer{}
		p.core, err = c.f.Open(desc, p, sim.Limits{})
		require.NoError(t, err)
		// On another node, with rails like the model's.
		model.Host, model.Ext.Node = fmt.Sprintf("node%d", i), peer.Node{}
		for k := range model.Entries {
			model.Entries[k].Addr, err = p.core.Name(k)
			require.NoError(t, err)
		}
		p.blob, err = peer.Encode22(model)
		require.NoError(t, err)
		c.peers = append(c.peers, p)
	}
	return c
}

// receive takes what is there: the next message of each peer.
func (c *crowd) receive(t *testing.T, round int) {
	t.Helper()
	for i, p := range c.peers {
		if n := p.core.Progress(1<<scaleRails - 1); n != 1 {
			require.FailNow(t, "not one message", "%d to peer %d", n, i)
		}
		got := p.core.Ready()[0]
		if got.Err != 0 || got.Len != scaleBytes || binary.LittleEndian.Uint64(p.buf[:]) != scaleNumber(i, round) {
			require.FailNow(t, "another message", "to peer %d: %+v", i, got)
		}
		p.core.Consume(1)
		p.core.ReleaseRx(got.Slot)
	}
}

func scaleNumber(peer, round int) uint64 { return uint64(round)<<32 | uint64(peer) }

// arrived counts the messages on each rail of all peers, from 0 the next time.
func (c *crowd) arrived() (all [scaleRails]int) {
	for _, p := range c.peers {
		for i, n := range p.rail {
			all[i] += n
		}
		p.rail = [scaleRails]int{}
	}
	return all
}

func (c *crowd) close(t *testing.T) {
	t.Helper()
	for _, p := range c.peers {
		tx, rx := p.core.Slots()
		require.Zero(t, tx+rx)
		require.NoError(t, p.core.Close())
	}
	require.NoError(t, c.f.Err())
}

// scaleSender is an endpoint that knows the crowd.
type scaleSender struct {
	*simNode
	f    *sim.Fabric
	to   []Addr
	bufs [][]byte
	ends int
}

func (c *crowd) open(t *testing.T, desc []sim.Rail, policy string) *scaleSender {
	t.Helper()
	c.arrived()
	w := &simWorld{t: t, f: c.f}
	s := &scaleSender{simNode: w.open(desc, Options{Policy: policy, Peers: len(c.peers)}), f: c.f}
	for _, p := range c.peers {
		addr, err := s.ep.AV().Insert(p.blob)
		require.NoError(t, err)
		s.to, s.bufs = append(s.to, addr), append(s.bufs, make([]byte, scaleBytes))
	}
	return s
}

// send sends one message to every peer, and sees all of them arrive.
func (s *scaleSender) send(round int) {
	for i, to := range s.to {
		binary.LittleEndian.PutUint64(s.bufs[i], scaleNumber(i, round))
		for {
			err := s.ep.TSend(s.bufs[i], to, 7, nil)
			if err == nil {
				break
			}
			if err != fierr.Again || !s.reap() && !s.f.Step() {
				require.FailNow(s.t, "not sent", "to peer %d: %v", i, err)
			}
		}
	}
	for s.f.Step() {
	}
	for want := (round + 1) * len(s.to); s.ends < want; {
		require.True(s.t, s.reap(), "%d of %d sends have ended", s.ends, want)
	}
}

// reap reads the CQ until nothing comes; a rail without traffic is driven once in a
// while only.
func (s *scaleSender) reap() (some bool) {
	for quiet := 0; quiet < 2; quiet++ {
		n, err := s.ep.CQ().Read(s.batch[:])
		if n > 0 {
			s.ends += n
			some, quiet = true, -1
			continue
		}
		if err != fierr.Again {
			require.NoError(s.t, err)
		}
	}
	return some
}

func (s *scaleSender) close() {
	tx, rx := s.core.Slots()
	require.Zero(s.t, tx+rx)
	require.NoError(s.t, s.ep.Close())
}

// However many goroutines send to however many peers at once, over rails that refuse
// many a message at first, the rails have their shares to the message.
func TestSimShareOfGoroutines(t *testing.T) {
	const peers, senders, each, rails = 3, 8, 240, 4
	for _, c := range []struct {
		policy string
		share  [rails]uint64 // of 12
	}{
		{rail.PerMsg, [rails]uint64{3, 3, 3, 3}},
		{rail.Weighted, [rails]uint64{6, 3, 2, 1}},
	} {
		t.Run(c.policy, func(t *testing.T) {
			var desc []sim.Rail
			for _, n := range []uint64{6, 3, 2, 1} {
				desc = append(desc, sim.Rail{Info: providers.Info{TxSize: 2}, Rate: n * 100e9})
			}
			w := newSimWorld(t, 1+peers, desc, Options{Policy: c.policy})
			a := w.nodes[0].ep
			errs := make(chan error, senders)
			var wg sync.WaitGroup
			for range senders {
				wg.Go(func() {
					buf := make([]byte, 100)
					for i := 0; i < peers*each; {
						err := a.TSend(buf, Addr(1+i%peers), 7, nil)
						switch {
						case err == nil:
							i++
						case errors.Is(err, fierr.EAgain):
							w.f.Step()
							_, _ = a.CQ().Read(make([]Entry, 8)) // nothing there is EAGAIN as well
						default:
							errs <- err
							return
						}
					}
				})
			}
			wg.Wait()
			close(errs)
			for err := range errs {
				require.NoError(t, err)
			}
			for i, s := range a.Stats() {
				require.Equal(t, senders*peers*each*c.share[i]/12, s.TSends, "rail %d", i)
			}
			require.NoError(t, w.f.Err())
		})
	}
}
