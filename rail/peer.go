package rail

import (
	"fmt"
	"slices"
)

// Peer is what one endpoint knows about the ways to one peer, with the policy's
// state for it. [Selector.NewPeer] makes it; embed it by value in the peer
// table. A copy shares state with its original, so keep one of them.
type Peer struct {
	// State is the policy's.
	State State

	owner *Selector
	id    uint64
	paths []Path
	reach []Reach
	local []int // paths on NodeLocal rails
	heard bool
}

// State is a policy's memory for one peer; the zero value is a peer that the
// policy was not asked about yet. A policy uses the fields as it likes.
type State struct {
	// Begun is for a policy to see its first pick for the peer.
	Begun bool
	// Turn is a counter.
	Turn uint32
	// Pin is the path held for the peer plus one; 0 is none.
	Pin int
	// How and From say how the pin came about.
	How  uint8
	From int
}

// Reach is one rail's view of one peer: which paths lead there, and what a
// policy counts for the pair of rail and peer.
type Reach struct {
	// Rail is the local rail's index.
	Rail int
	// First and Count delimit the paths over this rail: First, First+1, ….
	First, Count int
	// Begun, Turn and Credit are for the policy. NextPath uses Turn.
	Begun  bool
	Turn   int
	Credit int64
}

// NextPath answers the rail's paths in turn, one for each call: round robin over
// the peer's addresses that the rail reaches.
func (r *Reach) NextPath() int {
	i := r.First + r.Turn
	if r.Turn++; r.Turn >= r.Count {
		r.Turn = 0
	}
	return i
}

// ID is the number given to NewPeer (the link-level fi_addr_t).
func (p *Peer) ID() uint64 { return p.id }

// Path answers path i of the peer: what a policy's Pick answers an index of.
func (p *Peer) Path(i int) Path { return p.paths[i] }

// Reach lists the rails that reach the peer, in order of rail index. The slice
// is the peer's own: a policy may write its part in place.
func (p *Peer) Reach() []Reach { return p.reach }

// NewPeer makes the state for a peer that can be reached over the given paths,
// in any order; addresses of one rail are used in the order given. id is the
// peer's number in the caller's table and appears in explanations. No path at
// all is ErrNoPath; a path that names no rail of the endpoint, or is given
// twice, is refused. The slice is copied.
func (s *Selector) NewPeer(id uint64, paths []Path) (Peer, error) {
	if len(paths) == 0 {
		return Peer{}, fmt.Errorf("rail: peer %d: %w: the local rails are %s; link a provider and network both sides have",
			id, ErrNoPath, s.rails.names())
	}
	p := Peer{owner: s, id: id, paths: slices.Clone(paths)}
	slices.SortStableFunc(p.paths, func(a, b Path) int { return a.Rail - b.Rail })
	seen := make(map[Path]bool, len(paths))
	for i, path := range p.paths {
		if path.Rail < 0 || path.Rail >= s.rails.Len() || path.Addr < 0 {
			return Peer{}, fmt.Errorf("rail: peer %d: path to address %d over rail %d is impossible: rails are 0 to %d (%s) and addresses start at 0",
				id, path.Addr, path.Rail, s.rails.Len()-1, s.rails.names())
		}
		if seen[path] {
			return Peer{}, fmt.Errorf("rail: peer %d: path to address %d over %v is given twice; give each once",
				id, path.Addr, s.rails.Info(path.Rail))
		}
		seen[path] = true
		if n := len(p.reach); n == 0 || p.reach[n-1].Rail != path.Rail {
			p.reach = append(p.reach, Reach{Rail: path.Rail, First: i})
		}
		p.reach[len(p.reach)-1].Count++
		if s.rails.Info(path.Rail).NodeLocal {
			p.local = append(p.local, i)
		}
	}
	return p, nil
}

// find answers the index of a path, -1 when the peer has no such.
func (p *Peer) find(path Path) int { return slices.Index(p.paths, path) }
