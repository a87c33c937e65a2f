package rail

import "strings"

// Rails is what a policy sees of an endpoint's rails: their infos and health.
type Rails struct {
	infos   []Info
	health  []Health
	notUp   int
	numaMap [][]int
}

// Len is the number of rails.
func (r *Rails) Len() int { return len(r.infos) }

// Info answers rail i's description; it must not be written to.
func (r *Rails) Info(i int) *Info { return &r.infos[i] }

// Health answers rail i's health.
func (r *Rails) Health(i int) Health { return r.health[i] }

// Best answers the best health among the rails that reach p. A policy that
// chooses afresh takes rails of that health only, and answers NoPath when it is
// Down.
func (r *Rails) Best(p *Peer) Health {
	if r.notUp == 0 {
		return Up
	}
	best := Down
	for i := range p.reach {
		best = min(best, r.health[p.reach[i].Rail])
	}
	return best
}

// Distances as the ACPI SLIT and numactl --hardware give them, for machines
// whose table was not given.
const (
	ownNode   = 10
	otherNode = 20
)

// Distance answers how far rail i is from NUMA node, on the scale of the ACPI
// SLIT (10 is the own node). With node -1 all rails are equally far; a rail
// whose node is unknown, or a node outside the table, counts as the farthest.
func (r *Rails) Distance(node, i int) int {
	numa := r.infos[i].NUMA
	switch {
	case node < 0:
		return 0
	case node < len(r.numaMap):
		row := r.numaMap[node]
		if numa >= 0 && numa < len(row) {
			return row[numa]
		}
		far := otherNode
		for _, d := range row {
			far = max(far, d)
		}
		return far
	case node == numa:
		return ownNode
	}
	return otherNode
}

// PassedOver names the rails that could not be considered for p and why, as the
// end of an explanation: "; passed over: cxi:cxi1 (down), tcp;ofi_rxm:eth0 (does
// not reach it)". It is empty when there are none. That shared memory does not
// reach a peer goes without saying.
func (r *Rails) PassedOver(p *Peer) string {
	var why []string
	best := r.Best(p)
	at := 0
	for i := range r.infos {
		reached := at < len(p.reach) && p.reach[at].Rail == i
		if reached {
			at++
		}
		switch {
		case !reached && !r.infos[i].NodeLocal:
			why = append(why, r.infos[i].Name+" (does not reach it)")
		case reached && r.health[i] > best:
			why = append(why, r.infos[i].Name+" ("+r.health[i].String()+")")
		}
	}
	if why == nil {
		return ""
	}
	return "; passed over: " + strings.Join(why, ", ")
}

func (r *Rails) names() string {
	names := make([]string, len(r.infos))
	for i := range r.infos {
		names[i] = r.infos[i].Name
	}
	return strings.Join(names, ", ")
}
