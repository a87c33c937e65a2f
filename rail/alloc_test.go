package rail_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/rail"
)

// Neither a send nor a heard message allocates, in any state of the rails, first
// messages to a peer included.
func TestNoAllocation(t *testing.T) {
	for _, name := range policies {
		t.Run(name, func(t *testing.T) {
			s := selector(t, append(nics(8, 100, 0, 200), shm()), rail.Options{Policy: name, Distances: [][]int{{10, 21}, {21, 10}}})
			const fresh = 2000
			peers := make([]*rail.Peer, fresh)
			for i := range peers {
				peers[i] = peer(t, s, uint64(i), paths(2, upTo(8)...))
			}
			local := peer(t, s, fresh, paths(1, 0, 8))
			i := 0
			require.Zero(t, testing.AllocsPerRun(fresh-1, func() {
				p := peers[i]
				require.NoError(t, s.SetHealth(i%8, rail.Health(i%3)))
				for numa := -1; numa < 2; numa++ {
					if _, err := s.Pick(p, rail.Call{Size: 8, NUMA: numa}); err != nil {
						panic(err)
					}
				}
				s.Heard(p, rail.Path{Rail: 1, Addr: 1})
				if ch, err := s.Pick(local, rail.Call{}); err != nil || !ch.Local {
					panic("local peer not over shm")
				}
				i++
			}))
		})
	}
}

func BenchmarkPick(b *testing.B) {
	for _, name := range policies {
		for _, rails := range []int{2, 8} {
			for _, down := range []int{0, 1} {
				b.Run(fmt.Sprintf("policy=%s/rails=%d/down=%d", name, rails, down), func(b *testing.B) {
					s := selector(b, nics(rails, 100, 200), rail.Options{Policy: name})
					p := peer(b, s, 0, paths(2, upTo(rails)...))
					if down > 0 {
						if err := s.SetHealth(0, rail.Down); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportAllocs()
					for b.Loop() {
						if _, err := s.Pick(p, rail.Call{Size: 8, NUMA: 1}); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
