package rail

import "fmt"

// PerMsg sends every message of a peer over the next rail that reaches it, and
// over each rail to the next of the peer's addresses (PER_MSG in fi_lnx(7)).
// Messages can arrive in another order than they were sent.
//
// The rail and the address a peer begins with are dealt out in turn. C LNX begins
// each peer with its first ones, so that there one message to each of many peers
// takes one rail.
const PerMsg = "PER_MSG"

func init() {
	builtin(PerMsg, func(rails []Info, o Options) (Policy, error) {
		return &perMsg{newDealer(rails, nil, o.Seed)}, nil
	})
}

type perMsg struct{ dealer dealer }

func (q *perMsg) Pick(r *Rails, p *Peer, _ Call) (int, Why) {
	reach := p.Reach()
	limit := r.Best(p)
	if limit == Down {
		return NoPath, Why{}
	}
	if !p.State.Begun {
		p.State.Begun = true
		p.State.Turn = uint32(q.dealer.rail(r, p, limit))
	}
	i := int(p.State.Turn)
	for r.Health(reach[i].Rail) > limit {
		i = after(i, len(reach))
	}
	p.State.Turn = uint32(after(i, len(reach)))
	path := q.dealer.next(&reach[i])
	return path, Why{Args: [3]int64{int64(i), int64(path)}}
}

// after is the next position in a ring of n.
func after(i, n int) int {
	if i++; i >= n {
		return 0
	}
	return i
}

func (q *perMsg) Heard(*Rails, *Peer, int) {}

func (q *perMsg) Explain(r *Rails, p *Peer, why Why) string {
	at := p.Reach()[why.Args[0]]
	return fmt.Sprintf("the turn of this rail (%d of %d that reach the peer) and of this address (%d of %d)%s",
		why.Args[0]+1, len(p.Reach()), why.Args[1]-int64(at.First)+1, at.Count, r.PassedOver(p))
}

func (q *perMsg) Ordered() bool { return false }
