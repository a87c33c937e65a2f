package launch

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Wish is what is asked of a placement.
type Wish struct {
	Ranks int // 1 or more
	// CPUs are those that ranks may use, ascending; nil is all.
	CPUs []int
	// NICs are patterns of path.Match that a NIC's name has to fit one of. Without
	// them all NICs that are hardware will do, of the first kind that there is: cxi
	// before InfiniBand before the rest.
	NICs []string
	// Device is what all ranks have, whatever is near: a name, or patterns with
	// commas between.
	Device string
}

// Placement is where one rank belongs.
type Placement struct {
	Rank     int
	Node     int    // the NUMA node, or Unknown
	CPUs     []int  // the node's processors that may be used, ascending; none if they are not known
	NIC      string // empty if there is none
	Distance int    // from the node to the NIC's, 10 being the same one, or Unknown
}

// Place spreads the ranks over the NUMA nodes, in order and evenly over the processors
// that may be used, and gives each the nearest NIC that is up; of several equally near
// ones that which the fewest ranks have, the first of those. A NIC whose node is not known
// is farther than any other. If no NIC is up, those that are down will do.
func (m Machine) Place(w Wish) ([]Placement, error) {
	spots := m.spots(w.CPUs)
	nics, err := m.candidates(w.NICs)
	if err != nil {
		return nil, err
	}
	used := make([]int, len(nics))
	all := make([]Placement, w.Ranks)
	for rank := range all {
		spot := spots.of(rank, w.Ranks)
		p := Placement{Rank: rank, Node: spot.ID, CPUs: spot.CPUs, Distance: Unknown}
		switch i := nearest(spot, nics, used); {
		case w.Device != "":
			p.NIC, p.Distance = w.Device, m.distanceTo(spot, w.Device)
		case i >= 0:
			used[i]++
			p.NIC, p.Distance = nics[i].Name, spot.distance(nics[i])
		}
		all[rank] = p
	}
	return all, nil
}

// spots are the nodes that ranks may run on, with the processors that they may use.
type spots []Node

// spots answers at least one; processors that belong to no node are one for themselves.
func (m Machine) spots(allowed []int) (all spots) {
	rest := slices.Clone(allowed)
	for _, n := range m.Nodes {
		if allowed != nil {
			n.CPUs = slices.DeleteFunc(slices.Clone(n.CPUs), func(cpu int) bool { return !slices.Contains(allowed, cpu) })
			rest = slices.DeleteFunc(rest, func(cpu int) bool { return slices.Contains(n.CPUs, cpu) })
		}
		if len(n.CPUs) > 0 {
			all = append(all, n)
		}
	}
	if len(rest) > 0 || len(all) == 0 {
		all = append(all, Node{ID: Unknown, CPUs: rest})
	}
	return all
}

// of answers the spot of a rank: as far along the processors as the rank is among all.
func (s spots) of(rank, ranks int) Node {
	total := 0
	for _, n := range s {
		total += len(n.CPUs)
	}
	at := rank * total / ranks
	for _, n := range s {
		if at < len(n.CPUs) {
			return n
		}
		at -= len(n.CPUs)
	}
	return s[len(s)-1] // whose processors are not known
}

// candidates answers the NICs that ranks may have.
func (m Machine) candidates(patterns []string) ([]NIC, error) {
	var found []NIC
	for _, nic := range m.NICs {
		switch {
		case len(patterns) > 0:
			fits, err := fitsOne(patterns, nic.Name)
			if err != nil {
				return nil, err
			}
			if fits {
				found = append(found, nic)
			}
		case nic.Device && (len(found) == 0 || found[0].Kind == nic.Kind):
			found = append(found, nic)
		}
	}
	if len(patterns) > 0 && len(found) == 0 {
		return nil, fmt.Errorf("no NIC fits %s: %s", strings.Join(patterns, ","), m.known())
	}
	if up := slices.DeleteFunc(slices.Clone(found), func(n NIC) bool { return n.Down }); len(up) > 0 {
		found = up
	}
	return found, nil
}

func fitsOne(patterns []string, name string) (bool, error) {
	for _, p := range patterns {
		fits, err := path.Match(p, name)
		if err != nil {
			return false, fmt.Errorf("%q is no pattern: *, ? and [a-z] have a meaning", p)
		}
		if fits {
			return true, nil
		}
	}
	return false, nil
}

// known names the NICs that there are.
func (m Machine) known() string {
	if len(m.NICs) == 0 {
		return "there is none"
	}
	var names []string
	for _, nic := range m.NICs {
		names = append(names, nic.Name)
	}
	return "there are " + strings.Join(names, ", ")
}

// nearest answers the place of the NIC to take, -1 if there is none.
func nearest(from Node, nics []NIC, used []int) int {
	best := -1
	for i, nic := range nics {
		if best < 0 || isNearer(from.distance(nic), from.distance(nics[best])) ||
			from.distance(nic) == from.distance(nics[best]) && used[i] < used[best] {
			best = i
		}
	}
	return best
}

func isNearer(a, b int) bool {
	return a != Unknown && (b == Unknown || a < b)
}

// distance answers how far a NIC is.
func (n Node) distance(nic NIC) int {
	if d, ok := n.Distances[nic.Node]; ok {
		return d
	}
	return Unknown
}

// distanceTo answers how far a NIC is, if the name is that of one.
func (m Machine) distanceTo(from Node, name string) int {
	for _, nic := range m.NICs {
		if nic.Name == name {
			return from.distance(nic)
		}
	}
	return Unknown
}
