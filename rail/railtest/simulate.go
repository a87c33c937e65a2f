package railtest

import (
	"fmt"
	"slices"
	"strings"

	"golnx/rail"
)

// Do is what happens in a step.
type Do uint8

const (
	// Send is a message, or several, to a peer.
	Send Do = iota
	// Recv is a message from a peer's address over a rail.
	Recv
	// Set gives a rail another health.
	Set
)

// Step is one thing that happens to an endpoint. Peers, rails and addresses go by
// their names.
type Step struct {
	Do Do
	// Peer is whom to send to or receive from.
	Peer string
	// Times is the number of messages; 0 is one. Size and NUMA are those of
	// rail.Call: Size in bytes, NUMA -1 for no hint.
	Times int
	Size  uint64
	NUMA  int
	// Rail is the one received over, or whose health is set.
	Rail string
	// Addr is the peer's address received from.
	Addr   string
	Health rail.Health
	// Want lists the picks expected of a Send, as Pick.String or
	// Pick.Explained writes them. Simulate does not read it.
	Want []string
	line int // in the file, 0 elsewhere
}

// Pick is where one message went, or why it could not.
type Pick struct {
	// Step counts from 0.
	Step       int
	Peer       string
	Rail, Addr string
	// Why is the reason, in words.
	Why string
	Err error
}

// String is "cxi:cxi0 to cxi:cxi1", or "error: " and the error.
func (p Pick) String() string {
	if p.Err != nil {
		return "error: " + p.Err.Error()
	}
	return p.Rail + " to " + p.Addr
}

// Explained is String with the reason, as " | " and Why.
func (p Pick) Explained() string {
	if p.Err != nil {
		return p.String()
	}
	return p.String() + whySep + p.Why
}

const whySep = " | "

// MaxPicks bounds the messages of one simulation.
const MaxPicks = 100_000

// Simulate answers where the messages of the steps go on an endpoint with these
// rails that knows these peers. A message that cannot be sent is a Pick with an
// Err; a step that makes no sense (an unknown name, a receive over a path that
// does not exist) ends the simulation with an error.
func Simulate(rails []rail.Info, peers []Peer, o rail.Options, steps []Step) ([]Pick, error) {
	sim, err := newSimulation(rails, peers, o)
	if err != nil {
		return nil, err
	}
	for i, step := range steps {
		if err := sim.step(i, step); err != nil {
			where := fmt.Sprintf("step %d", i+1)
			if step.line > 0 {
				where = fmt.Sprintf("line %d", step.line)
			}
			return nil, fmt.Errorf("railtest: %s: %w", where, err)
		}
	}
	return sim.picks, nil
}

type simulation struct {
	selector *rail.Selector
	rails    []rail.Info
	peers    []Peer
	states   []rail.Peer
	unreach  []error // for each peer, why it has no state
	picks    []Pick
}

func newSimulation(rails []rail.Info, peers []Peer, o rail.Options) (*simulation, error) {
	selector, err := rail.NewSelector(rails, o)
	if err != nil {
		return nil, err
	}
	sim := &simulation{
		selector: selector, rails: rails, peers: peers,
		states: make([]rail.Peer, len(peers)), unreach: make([]error, len(peers)),
	}
	for i, p := range peers {
		paths := Paths(rails, p)
		if len(paths) == 0 {
			sim.unreach[i] = noPath(rails, p)
			continue
		}
		if sim.states[i], err = selector.NewPeer(uint64(i), paths); err != nil {
			return nil, fmt.Errorf("railtest: peer %s: %w", p.Name, err)
		}
	}
	return sim, nil
}

func noPath(rails []rail.Info, p Peer) error {
	var ours, theirs []string
	for _, r := range rails {
		ours = append(ours, r.Name+onFabric(r.Fabric))
	}
	for _, a := range p.Addrs {
		theirs = append(theirs, a.String()+onFabric(a.Fabric))
	}
	return fmt.Errorf("peer %s: %w: it has %s, the local rails are %s", p.Name, rail.ErrNoPath, strings.Join(theirs, ", "), strings.Join(ours, ", "))
}

func (sim *simulation) step(n int, s Step) error {
	if s.Do == Set {
		r, err := sim.rail(s.Rail)
		if err != nil {
			return err
		}
		return sim.selector.SetHealth(r, s.Health)
	}
	peer := slices.IndexFunc(sim.peers, func(p Peer) bool { return p.Name == s.Peer })
	if peer < 0 {
		return fmt.Errorf("peer %q is not among the peers", s.Peer)
	}
	if s.Do == Recv {
		return sim.recv(peer, s)
	}
	if times := max(s.Times, 1); times > MaxPicks-len(sim.picks) {
		return fmt.Errorf("more than %d messages; send fewer", MaxPicks)
	}
	for range max(s.Times, 1) {
		sim.picks = append(sim.picks, sim.send(n, peer, rail.Call{Size: s.Size, NUMA: s.NUMA}))
	}
	return nil
}

func (sim *simulation) send(step, peer int, c rail.Call) Pick {
	pick := Pick{Step: step, Peer: sim.peers[peer].Name, Err: sim.unreach[peer]}
	if pick.Err != nil {
		return pick
	}
	ch, err := sim.selector.Pick(&sim.states[peer], c)
	if err != nil {
		pick.Err = sim.named(peer, err)
		return pick
	}
	pick.Rail = sim.rails[ch.Rail].Name
	pick.Addr = sim.peers[peer].Addrs[ch.Addr].String()
	pick.Why = sim.selector.Reason(&sim.states[peer], ch)
	return pick
}

// namedError is an error of package rail with the peer's name in place of its number.
type namedError struct {
	text string
	error
}

func (e *namedError) Error() string { return e.text }
func (e *namedError) Unwrap() error { return e.error }

func (sim *simulation) named(peer int, err error) error {
	text, numbered := strings.CutPrefix(err.Error(), fmt.Sprintf("rail: peer %d: ", peer))
	if !numbered {
		return err
	}
	return &namedError{fmt.Sprintf("peer %s: %s", sim.peers[peer].Name, text), err}
}

func (sim *simulation) recv(peer int, s Step) error {
	r, err := sim.rail(s.Rail)
	if err != nil {
		return err
	}
	addr := slices.IndexFunc(sim.peers[peer].Addrs, func(a Addr) bool { return a.String() == s.Addr })
	path := rail.Path{Rail: r, Addr: addr}
	if !slices.Contains(Paths(sim.rails, sim.peers[peer]), path) {
		return fmt.Errorf("no message from %s's %s can come in over %s: the rail does not reach that address", s.Peer, s.Addr, s.Rail)
	}
	sim.selector.Heard(&sim.states[peer], path)
	return nil
}

func (sim *simulation) rail(name string) (int, error) {
	i := slices.IndexFunc(sim.rails, func(r rail.Info) bool { return r.Name == name })
	if i < 0 {
		var names []string
		for _, r := range sim.rails {
			names = append(names, r.Name)
		}
		return 0, fmt.Errorf("rail %q is not in the link: its rails are %s", name, strings.Join(names, ", "))
	}
	return i, nil
}
