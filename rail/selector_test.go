package rail_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/rail"
)

func TestSelectorRefusesBadOptions(t *testing.T) {
	for name, c := range map[string]struct {
		rails []rail.Info
		o     rail.Options
		want  string
	}{
		"no rails":  {nil, rail.Options{}, "rail: an endpoint needs at least one rail, none was given"},
		"policy":    {nics(1), rail.Options{Policy: "PER_M"}, `unknown policy "PER_M": known are `},
		"distances": {nics(1), rail.Options{Distances: [][]int{{10, 20}, {20}}}, "rail: NUMA distance table: row 1 has 1 entries: give 2, one for each node"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := rail.NewSelector(c.rails, c.o)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestZeroOptionsArePerPeer(t *testing.T) {
	s := selector(t, nics(2), rail.Options{})
	require.Equal(t, rail.PerPeer, s.Policy())
	require.True(t, s.Ordered())
}

func TestOnlyPerPeerIsOrdered(t *testing.T) {
	for _, name := range policies {
		require.Equal(t, name == rail.PerPeer, selector(t, nics(2), rail.Options{Policy: name}).Ordered(), name)
	}
}

func TestNewPeerRefusesBadPaths(t *testing.T) {
	s := selector(t, append([]rail.Info{shm()}, nics(2)...), rail.Options{})
	_, err := s.NewPeer(7, nil)
	require.ErrorIs(t, err, rail.ErrNoPath)
	require.EqualError(t, err, "rail: peer 7: no rail reaches the peer: the local rails are shm, cxi:cxi0, cxi:cxi1; link a provider and network both sides have")
	for _, bad := range []rail.Path{{Rail: -1}, {Rail: 3}, {Rail: 1, Addr: -1}} {
		_, err = s.NewPeer(7, []rail.Path{{Rail: 1}, bad})
		require.ErrorContains(t, err, "is impossible: rails are 0 to 2 (shm, cxi:cxi0, cxi:cxi1)")
	}
	_, err = s.NewPeer(7, []rail.Path{{Rail: 1, Addr: 4}, {Rail: 2}, {Rail: 1, Addr: 4}})
	require.EqualError(t, err, "rail: peer 7: path to address 4 over rail 1 (cxi:cxi0) is given twice; give each once")
}

func TestPeerOfAnotherSelector(t *testing.T) {
	a, b := selector(t, nics(2), rail.Options{}), selector(t, nics(1), rail.Options{})
	p := peer(t, a, 1, paths(1, 0, 1))
	_, err := b.Pick(p, rail.Call{})
	require.ErrorIs(t, err, rail.ErrForeignPeer)
	_, err = b.Pick(&rail.Peer{}, rail.Call{})
	require.ErrorIs(t, err, rail.ErrForeignPeer)
	b.Heard(p, rail.Path{Rail: 1})
	require.Equal(t, "peer 1: rail 9, address 0: "+rail.ErrForeignPeer.Error(), b.Explain(p, rail.Choice{Path: rail.Path{Rail: 9}}))
	require.Equal(t, 0, pick(t, a, p).Rail, "what b was told does not matter to a")
}

func TestSetHealthRefusesWhatIsNot(t *testing.T) {
	s := selector(t, nics(2), rail.Options{})
	require.ErrorContains(t, s.SetHealth(2, rail.Up), "cannot set rail 2 to up: rails are 0 to 1 (cxi:cxi0, cxi:cxi1)")
	require.Error(t, s.SetHealth(-1, rail.Up))
	require.ErrorContains(t, s.SetHealth(0, rail.Down+1), "health 3")
	require.Equal(t, rail.Up, s.Rails().Health(0))
}

// Whatever the policy: shared memory first, another rail when that is down, an
// error when nothing is left, and all of it again when rails come back.
func TestSharedMemoryFirstUnderEveryPolicy(t *testing.T) {
	for _, name := range policies {
		t.Run(name, func(t *testing.T) {
			s := selector(t, append(nics(2), shm()), rail.Options{Policy: name})
			p := peer(t, s, 5, []rail.Path{{Rail: 0, Addr: 1}, {Rail: 1, Addr: 1}, {Rail: 2, Addr: 0}})
			local := rail.Choice{Path: rail.Path{Rail: 2, Addr: 0}, Local: true}
			for range 3 {
				require.Equal(t, local, pick(t, s, p))
			}
			require.Equal(t, "peer 5: rail 2 (shm), address 0: the peer is on this node, and shared memory takes all traffic inside a node", s.Explain(p, local))

			require.NoError(t, s.SetHealth(2, rail.Suspect))
			require.Equal(t, local, pick(t, s, p), "suspect still takes traffic")

			require.NoError(t, s.SetHealth(2, rail.Down))
			ch := pick(t, s, p)
			require.False(t, ch.Local)
			require.Equal(t, rail.Path{Rail: 0, Addr: 1}, ch.Path)
			require.Contains(t, s.Explain(p, ch), "; passed over: shm (down)")

			require.NoError(t, s.SetHealth(0, rail.Down))
			require.NoError(t, s.SetHealth(1, rail.Down))
			_, err := s.Pick(p, rail.Call{})
			require.ErrorIs(t, err, rail.ErrAllDown)
			var down *rail.AllDownError
			require.ErrorAs(t, err, &down)
			require.Equal(t, uint64(5), down.Peer)
			require.EqualError(t, err, "rail: peer 5: every rail that reaches it is down: rail 0 (cxi:cxi0) is down, rail 1 (cxi:cxi1) is down, rail 2 (shm) is down; bring one up, or link another provider or domain")

			require.NoError(t, s.SetHealth(1, rail.Up))
			require.Equal(t, 1, pick(t, s, p).Rail)
			require.NoError(t, s.SetHealth(2, rail.Up))
			require.Equal(t, local, pick(t, s, p))
		})
	}
}

func TestSuspectRailsKeepPinsAndTakeNoNewPeers(t *testing.T) {
	s := selector(t, nics(2), rail.Options{})
	old := peer(t, s, 0, paths(1, 0, 1))
	require.Equal(t, 0, pick(t, s, old).Rail)
	require.NoError(t, s.SetHealth(0, rail.Suspect))
	require.Equal(t, 0, pick(t, s, old).Rail)
	for id := range uint64(3) {
		p := peer(t, s, id+1, paths(1, 0, 1))
		require.Equal(t, 1, pick(t, s, p).Rail)
	}
	only := peer(t, s, 9, paths(1, 0))
	require.Equal(t, 0, pick(t, s, only).Rail, "no rail that is up reaches it")
}

func TestHeard(t *testing.T) {
	s := selector(t, nics(3), rail.Options{})
	reach := paths(2, 0, 1, 2)

	p := peer(t, s, 1, reach)
	s.Heard(p, rail.Path{Rail: 2, Addr: 7}) // an address we do not know
	s.Heard(p, rail.Path{Rail: 2, Addr: 1})
	s.Heard(p, rail.Path{Rail: 1, Addr: 0}) // only the first counts
	require.Equal(t, rail.Path{Rail: 2, Addr: 1}, pick(t, s, p).Path)

	p = peer(t, s, 2, reach)
	first := pick(t, s, p)
	s.Heard(p, rail.Path{Rail: 2, Addr: 1})
	require.Equal(t, first.Path, pick(t, s, p).Path, "a pin of our own stays")

	require.NoError(t, s.SetHealth(2, rail.Down))
	p = peer(t, s, 3, reach)
	s.Heard(p, rail.Path{Rail: 2, Addr: 1})
	s.Heard(p, rail.Path{Rail: 1, Addr: 1})
	require.Equal(t, rail.Path{Rail: 1, Addr: 1}, pick(t, s, p).Path, "a rail that is down cannot answer")
}

// Addresses behind a rail take their turns in the order they were given.
func TestAddressesKeepTheirOrder(t *testing.T) {
	s := selector(t, nics(2), rail.Options{Policy: rail.PerMsg})
	var given []rail.Path
	for a := 40; a > 0; a-- {
		given = append(given, rail.Path{Rail: a % 2, Addr: a})
	}
	p := peer(t, s, 0, given)
	for _, want := range given {
		require.Equal(t, want, pick(t, s, p).Path)
	}
}

// Two groups of peers that reach different rails and come alternately: each
// group uses all of its rails.
func TestGroupsOfPeersKeepTheirOwnRound(t *testing.T) {
	for _, name := range policies {
		t.Run(name, func(t *testing.T) {
			s := selector(t, nics(6, 100), rail.Options{Policy: name})
			var share [6]int
			for id := range uint64(60) {
				reach := paths(1, 0, 1, 2)
				if id%2 == 1 {
					reach = paths(1, 3, 4, 5)
				}
				share[pick(t, s, peer(t, s, id, reach)).Rail]++
			}
			require.Equal(t, [6]int{10, 10, 10, 10, 10, 10}, share)
		})
	}
}

// A rail that was down for long does not get all new peers when it returns.
func TestNoFloodAfterReturn(t *testing.T) {
	s := selector(t, nics(2), rail.Options{})
	id := uint64(0)
	share := func(n int) (share [2]int) {
		for range n {
			share[pick(t, s, peer(t, s, id, paths(1, 0, 1))).Rail]++
			id++
		}
		return share
	}
	require.NoError(t, s.SetHealth(0, rail.Down))
	require.Equal(t, [2]int{0, 1000}, share(1000))
	require.NoError(t, s.SetHealth(0, rail.Up))
	require.Equal(t, [2]int{10, 10}, share(20))
}

// Processes with one peer each, given their rank as seed, spread over the rails
// and over that peer's addresses.
func TestSeedSpreadsProcesses(t *testing.T) {
	for _, name := range policies {
		t.Run(name, func(t *testing.T) {
			rails, addrs := map[int]int{}, map[int]int{}
			for rank := range uint64(12) {
				all := append([]rail.Info{shm()}, nics(4, 100)...)
				for i := range all {
					all[i].NUMA = 0
				}
				s := selector(t, all, rail.Options{Policy: name, Seed: rank})
				ch := pick(t, s, peer(t, s, 0, paths(3, 1, 2, 3, 4)))
				rails[ch.Rail]++
				addrs[ch.Addr]++
			}
			require.Equal(t, map[int]int{1: 3, 2: 3, 3: 3, 4: 3}, rails)
			require.Equal(t, map[int]int{0: 4, 1: 4, 2: 4}, addrs)
		})
	}
}
