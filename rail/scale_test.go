package rail_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/rail"
)

// 10,000 peers over 8 rails: the share of each rail is within 1 % of what the
// policy promises, for one message to each peer and for several.
func TestShareAtScale(t *testing.T) {
	const peers, rails = 10_000, 8
	speeds := []uint64{100, 200, 400, 25}
	equal := func(int) float64 { return 1.0 / rails }
	for _, c := range []struct {
		policy string
		share  func(rail int) float64
	}{
		{rail.PerMsg, equal},
		{rail.PerPeer, equal},
		{rail.Weighted, func(i int) float64 { return float64(speeds[i%4]) / (2 * 725) }},
		// Half of the calls come from either node; rails of the even node
		// have 100 and 400 Gbit/s, those of the odd one 200 and 25.
		{rail.Nearest, func(i int) float64 {
			if i%4 == 1 || i%4 == 2 {
				return 0.25
			}
			return 0
		}},
	} {
		for _, messages := range []int{1, 3, 10} {
			s := selector(t, nics(rails, speeds...), rail.Options{Policy: c.policy})
			all := make([]*rail.Peer, peers)
			for i := range all {
				all[i] = peer(t, s, uint64(i), paths(2, upTo(rails)...))
			}
			var byRail [rails]int
			var byAddr [2]int
			for range messages {
				for i, p := range all {
					ch, err := s.Pick(p, rail.Call{Size: 8, NUMA: i % 2})
					require.NoError(t, err)
					byRail[ch.Rail]++
					byAddr[ch.Addr]++
				}
			}
			total := float64(peers * messages)
			for i, n := range byRail {
				require.InDelta(t, c.share(i), float64(n)/total, 0.01*max(c.share(i), 0.001),
					"%s, %d messages to each peer, rail %d: shares %v", c.policy, messages, i, byRail)
			}
			for _, n := range byAddr {
				require.InDelta(t, 0.5, float64(n)/total, 0.02, "%s, %d messages to each peer: addresses %v", c.policy, messages, byAddr)
			}
		}
	}
}
