package rail_test

import (
	"fmt"

	"golnx/rail"
)

var twoNICs = []rail.Info{
	{Name: "shm", NodeLocal: true, NUMA: -1},
	{Name: "cxi:cxi0", Speed: 200e9, NUMA: 0},
	{Name: "cxi:cxi1", Speed: 100e9, NUMA: 1},
}

// Choosing a policy is naming it; each says of itself whether it keeps order.
func Example_choosingAPolicy() {
	for _, name := range []string{rail.PerPeer, rail.PerMsg, rail.Weighted, rail.Nearest} {
		s, err := rail.NewSelector(twoNICs, rail.Options{Policy: name})
		if err != nil {
			fmt.Println(err)
			return
		}
		// A remote peer with two addresses, each reachable from both NICs.
		peer, err := s.NewPeer(7, []rail.Path{{Rail: 1, Addr: 0}, {Rail: 1, Addr: 1}, {Rail: 2, Addr: 0}, {Rail: 2, Addr: 1}})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s, keeps order: %v\n", s.Policy(), s.Ordered())
		for range 2 {
			choice, err := s.Pick(&peer, rail.Call{Size: 8, NUMA: 1})
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Println(" ", s.Explain(&peer, choice))
		}
	}
	// Output:
	// PER_PEER, keeps order: true
	//   peer 7: rail 1 (cxi:cxi0), address 0: PER_PEER: first message to the peer: pinned to the rail whose turn it is
	//   peer 7: rail 1 (cxi:cxi0), address 0: PER_PEER: pinned at the first send to the peer
	// PER_MSG, keeps order: false
	//   peer 7: rail 1 (cxi:cxi0), address 0: PER_MSG: the turn of this rail (1 of 2 that reach the peer) and of this address (1 of 2)
	//   peer 7: rail 2 (cxi:cxi1), address 0: PER_MSG: the turn of this rail (2 of 2 that reach the peer) and of this address (1 of 2)
	// WEIGHTED, keeps order: false
	//   peer 7: rail 1 (cxi:cxi0), address 0: WEIGHTED: carries 2 of 3 messages to the peer: speed 200 Gbit/s
	//   peer 7: rail 2 (cxi:cxi1), address 0: WEIGHTED: carries 1 of 3 messages to the peer: speed 100 Gbit/s
	// NEAREST, keeps order: false
	//   peer 7: rail 2 (cxi:cxi1), address 0: NEAREST: NUMA distance 10 from node 1, speed 100 Gbit/s
	//   peer 7: rail 2 (cxi:cxi1), address 0: NEAREST: NUMA distance 10 from node 1, speed 100 Gbit/s; kept for the peer
}

// bySize sends long messages over one rail and short ones over another: a policy
// of one's own is four methods.
type bySize struct{ limit uint64 }

func (q bySize) Pick(r *rail.Rails, p *rail.Peer, c rail.Call) (int, rail.Why) {
	reach := p.Reach()
	for k := range reach {
		// Short messages look for a rail from the front, long ones from
		// the back.
		i := k
		if c.Size > q.limit {
			i = len(reach) - 1 - k
		}
		if r.Health(reach[i].Rail) != rail.Down {
			return reach[i].NextPath(), rail.Why{Args: [3]int64{int64(c.Size)}}
		}
	}
	return rail.NoPath, rail.Why{}
}

func (q bySize) Heard(*rail.Rails, *rail.Peer, int) {}

func (q bySize) Explain(_ *rail.Rails, _ *rail.Peer, why rail.Why) string {
	return fmt.Sprintf("%d bytes, long is more than %d", why.Args[0], q.limit)
}

func (q bySize) Ordered() bool { return false }

func ExampleRegisterPolicy() {
	err := rail.RegisterPolicy("BY_SIZE", func([]rail.Info, rail.Options) (rail.Policy, error) {
		return bySize{limit: 4096}, nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := rail.NewSelector(twoNICs, rail.Options{Policy: "BY_SIZE"})
	if err != nil {
		fmt.Println(err)
		return
	}
	peer, err := s.NewPeer(0, []rail.Path{{Rail: 1}, {Rail: 2}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, size := range []uint64{8, 1 << 20} {
		choice, err := s.Pick(&peer, rail.Call{Size: size, NUMA: -1})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(s.Explain(&peer, choice))
	}
	// Output:
	// peer 0: rail 1 (cxi:cxi0), address 0: BY_SIZE: 8 bytes, long is more than 4096
	// peer 0: rail 2 (cxi:cxi1), address 0: BY_SIZE: 1048576 bytes, long is more than 4096
}
