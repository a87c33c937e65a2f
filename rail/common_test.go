package rail_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/rail"
)

// policies are the built-in ones.
var policies = []string{rail.PerMsg, rail.PerPeer, rail.Weighted, rail.Nearest}

// nics are n rails of cxi on alternate NUMA nodes; speeds in Gbit/s repeat, none
// is unknown speed.
func nics(n int, gbits ...uint64) []rail.Info {
	rails := make([]rail.Info, n)
	for i := range rails {
		rails[i] = rail.Info{Name: fmt.Sprintf("cxi:cxi%d", i), Provider: "cxi", Domain: fmt.Sprintf("cxi%d", i), NUMA: i % 2}
		if len(gbits) > 0 {
			rails[i].Speed = gbits[i%len(gbits)] * 1e9
		}
	}
	return rails
}

func shm() rail.Info {
	return rail.Info{Name: "shm", Provider: "shm", Domain: "shm", NodeLocal: true, NUMA: -1}
}

func selector(t testing.TB, rails []rail.Info, o rail.Options) *rail.Selector {
	t.Helper()
	s, err := rail.NewSelector(rails, o)
	require.NoError(t, err)
	return s
}

// paths joins each of the rails with addresses 0 to addrs-1.
func paths(addrs int, rails ...int) []rail.Path {
	var all []rail.Path
	for _, r := range rails {
		for a := range addrs {
			all = append(all, rail.Path{Rail: r, Addr: a})
		}
	}
	return all
}

func peer(t testing.TB, s *rail.Selector, id uint64, paths []rail.Path) *rail.Peer {
	t.Helper()
	p, err := s.NewPeer(id, paths)
	require.NoError(t, err)
	return &p
}

func pick(t testing.TB, s *rail.Selector, p *rail.Peer) rail.Choice {
	t.Helper()
	ch, err := s.Pick(p, rail.Call{Size: 8, NUMA: -1})
	require.NoError(t, err)
	return ch
}

func upTo(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}
