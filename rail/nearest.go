package rail

import "fmt"

// Nearest takes the rail closest to the caller's NUMA node (Call.NUMA), among
// those the fastest, and deals equals, and the addresses behind them, out to peers
// in turn. A peer keeps its path among the equals until that rail is down. The
// order of messages is kept only for an unchanging hint, so the policy does not
// promise it. Without a hint all rails are equally close.
const Nearest = "NEAREST"

func init() {
	builtin(Nearest, func(rails []Info, o Options) (Policy, error) {
		return &nearest{newDealer(rails, nil, o.Seed)}, nil
	})
}

type nearest struct{ dealer dealer }

// rank is what makes rails equal.
type rank struct {
	distance int
	speed    uint64
}

func (a rank) before(b rank) bool {
	return a.distance < b.distance || a.distance == b.distance && a.speed > b.speed
}

func rankOf(r *Rails, node, rail int) rank { return rank{r.Distance(node, rail), r.Info(rail).Speed} }

// keptRail in Why.Code says that the peer had its rail before.
const keptRail = 1

// Pick marks the rail that a peer keeps among equals as Begun; Turn is then the
// address it keeps.
func (q *nearest) Pick(r *Rails, p *Peer, c Call) (int, Why) {
	limit := r.Best(p)
	if limit == Down {
		return NoPath, Why{}
	}
	reach := p.Reach()
	best, equals := bestRank(r, reach, c.NUMA, limit)
	why := Why{Args: [3]int64{int64(c.NUMA), 0, int64(equals)}}
	for i := range reach {
		if rail := reach[i].Rail; reach[i].Begun && r.Health(rail) != Down && rankOf(r, c.NUMA, rail) == best {
			why.Code, why.Args[1] = keptRail, int64(rail)
			return reach[i].First + reach[i].Turn, why
		}
	}
	for i := range reach {
		rail := reach[i].Rail
		if rankOf(r, c.NUMA, rail) != best {
			continue
		}
		reach[i].Begun = false
		if r.Health(rail) <= limit {
			q.dealer.enter(i, rail)
		}
	}
	at := &reach[q.dealer.draw()]
	path := q.dealer.path(at)
	at.Begun, at.Turn = true, path-at.First
	why.Args[1] = int64(at.Rail)
	return path, why
}

// bestRank answers the best rank among rails no worse than limit, and how many
// have it.
func bestRank(r *Rails, reach []Reach, node int, limit Health) (best rank, equals int) {
	for i := range reach {
		if r.Health(reach[i].Rail) > limit {
			continue
		}
		switch k := rankOf(r, node, reach[i].Rail); {
		case equals == 0 || k.before(best):
			best, equals = k, 1
		case k == best:
			equals++
		}
	}
	return best, equals
}

func (q *nearest) Heard(*Rails, *Peer, int) {}

func (q *nearest) Explain(r *Rails, p *Peer, why Why) string {
	node, rail, equals := int(why.Args[0]), int(why.Args[1]), why.Args[2]
	where := "no NUMA hint"
	if node >= 0 {
		where = fmt.Sprintf("NUMA distance %d from node %d", r.Distance(node, rail), node)
	}
	rest := r.PassedOver(p)
	switch {
	case why.Code == keptRail:
		rest = "; kept for the peer"
	case equals > 1:
		rest = fmt.Sprintf("; one of %d such, dealt out to peers in turn", equals) + rest
	}
	return fmt.Sprintf("%s, speed %s%s", where, speedText(r.Info(rail).Speed), rest)
}

func (q *nearest) Ordered() bool { return false }
