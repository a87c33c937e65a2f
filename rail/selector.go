package rail

import (
	"fmt"
	"slices"
)

// Options says how an endpoint chooses. The zero value is PER_PEER.
type Options struct {
	// Policy is a registered name; empty is PER_PEER.
	Policy string
	// Seed offsets the rail and the peer address that are dealt out first.
	// Give every process another one (its rank will do), so that the
	// processes of a node spread over its rails and many senders to one peer
	// over that peer's addresses.
	Seed uint64
	// Distances is the machine's NUMA distance table, row i for node i, on
	// the scale of the ACPI SLIT. Nil is 10 for the own node and 20 for
	// others.
	Distances [][]int
}

// Validate says what is wrong with o.
func (o *Options) Validate() error {
	if _, err := ParsePolicy(o.Policy); err != nil {
		return err
	}
	for i, row := range o.Distances {
		if len(row) != len(o.Distances) {
			return fmt.Errorf("rail: NUMA distance table: row %d has %d entries: give %d, one for each node", i, len(row), len(o.Distances))
		}
	}
	return nil
}

// Selector chooses paths for one endpoint. It is used under the endpoint's
// lock.
type Selector struct {
	rails  Rails
	name   string
	policy Policy
}

// NewSelector makes the selector of an endpoint with the given rails, all Up.
// The list is copied and each Index set to its position.
func NewSelector(rails []Info, o Options) (*Selector, error) {
	if len(rails) == 0 {
		return nil, fmt.Errorf("rail: an endpoint needs at least one rail, none was given")
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	name, factory, err := lookup(o.Policy)
	if err != nil {
		return nil, err
	}
	s := &Selector{name: name, rails: Rails{
		infos:   slices.Clone(rails),
		health:  make([]Health, len(rails)),
		numaMap: o.Distances,
	}}
	for i := range s.rails.infos {
		s.rails.infos[i].Index = i
	}
	if s.policy, err = factory(s.rails.infos, o); err != nil {
		return nil, fmt.Errorf("rail: policy %s: %w", name, err)
	}
	if s.policy == nil {
		return nil, fmt.Errorf("rail: policy %s: its factory answered nil without an error", name)
	}
	return s, nil
}

// Policy is the name of the policy in use.
func (s *Selector) Policy() string { return s.name }

// Ordered says whether the policy keeps the order of messages to a peer.
func (s *Selector) Ordered() bool { return s.policy.Ordered() }

// Rails answers the rails with their present health.
func (s *Selector) Rails() *Rails { return &s.rails }

// SetHealth records a rail's health; the next Pick heeds it.
func (s *Selector) SetHealth(rail int, h Health) error {
	if rail < 0 || rail >= s.rails.Len() || h > Down {
		return fmt.Errorf("rail: cannot set rail %d to %v: rails are 0 to %d (%s)", rail, h, s.rails.Len()-1, s.rails.names())
	}
	if s.rails.health[rail] != Up {
		s.rails.notUp--
	}
	if h != Up {
		s.rails.notUp++
	}
	s.rails.health[rail] = h
	return nil
}

// Pick chooses the path of one message to p. It allocates nothing unless it
// fails: with an *AllDownError, ErrForeignPeer, or ErrBadPick (a user's policy
// at fault).
func (s *Selector) Pick(p *Peer, c Call) (Choice, error) {
	if p.owner != s {
		return Choice{}, ErrForeignPeer
	}
	// Shared memory outdoes every NIC, whatever the policy: fi_lnx(7) sends
	// all traffic inside a node over shm.
	for _, i := range p.local {
		if path := p.paths[i]; s.rails.health[path.Rail] != Down {
			return Choice{Path: path, Local: true}, nil
		}
	}
	i, why := s.policy.Pick(&s.rails, p, c)
	if i < 0 || i >= len(p.paths) || s.rails.health[p.paths[i].Rail] == Down {
		return Choice{}, s.pickError(p, i)
	}
	return Choice{Path: p.paths[i], Why: why}, nil
}

func (s *Selector) pickError(p *Peer, picked int) error {
	if s.rails.Best(p) != Down {
		return fmt.Errorf("rail: peer %d: policy %s: %w: it answered path %d of %d although a rail is not down; mend its Pick",
			p.id, s.name, ErrBadPick, picked, len(p.paths))
	}
	e := &AllDownError{Peer: p.id}
	for i := range p.reach {
		rail := p.reach[i].Rail
		e.Rails = append(e.Rails, s.rails.infos[rail])
		e.Health = append(e.Health, s.rails.health[rail])
	}
	return e
}

// Heard tells that a message from p came in over a path. Call it for every
// message whose source is known; all but the first cost one comparison. Paths
// that cannot be answered on (unknown, or the rail is down) are ignored.
func (s *Selector) Heard(p *Peer, path Path) {
	if p.heard || p.owner != s {
		return
	}
	i := p.find(path)
	if i < 0 || s.rails.health[path.Rail] == Down {
		return
	}
	p.heard = true
	if !s.rails.infos[path.Rail].NodeLocal {
		s.policy.Heard(&s.rails, p, i)
	}
}

// Reason says in words why the choice was made. Ask before health changes and
// before the next Pick for the peer. It allocates.
func (s *Selector) Reason(p *Peer, ch Choice) string {
	if p.owner != s {
		return ErrForeignPeer.Error()
	}
	if ch.Local {
		return "the peer is on this node, and shared memory takes all traffic inside a node"
	}
	return s.name + ": " + s.policy.Explain(&s.rails, p, ch.Why)
}

// Explain is one line about a choice: peer, rail, address and Reason.
func (s *Selector) Explain(p *Peer, ch Choice) string {
	name := fmt.Sprintf("rail %d", ch.Rail)
	if ch.Rail >= 0 && ch.Rail < s.rails.Len() {
		name = s.rails.Info(ch.Rail).String()
	}
	return fmt.Sprintf("peer %d: %s, address %d: %s", p.id, name, ch.Addr, s.Reason(p, ch))
}
