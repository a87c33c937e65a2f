package rail

import "fmt"

// PerPeer keeps one path for each peer (PER_PEER in fi_lnx(7)): chosen at the
// first send, or the pair of rail and address on which the peer was first heard
// if that came before. Rails are dealt out to peers in turn, and behind each rail
// the peers' addresses in turn, where C LNX draws lots. Messages to a peer stay in
// order. When the rail goes down the peer gets another path and keeps that.
const PerPeer = "PER_PEER"

func init() {
	builtin(PerPeer, func(rails []Info, o Options) (Policy, error) {
		return &perPeer{newDealer(rails, nil, o.Seed)}, nil
	})
}

type perPeer struct{ dealer dealer }

// How a pin came about, in State.How and Why.Code.
const (
	pinnedNow uint8 = iota + 1
	pinnedAtSend
	pinnedAsHeard
	movedNow
	pinnedAfterMove
)

func (q *perPeer) Pick(r *Rails, p *Peer, _ Call) (int, Why) {
	st := &p.State
	now, later, from := pinnedNow, pinnedAtSend, 0
	if pin := st.Pin - 1; pin >= 0 {
		rail := p.Path(pin).Rail
		if r.Health(rail) != Down {
			return pin, Why{Code: st.How, Args: [3]int64{int64(st.From)}}
		}
		now, later, from = movedNow, pinnedAfterMove, rail
	}
	limit := r.Best(p)
	if limit == Down {
		return NoPath, Why{}
	}
	at := q.dealer.rail(r, p, limit)
	path := q.dealer.path(&p.Reach()[at])
	st.Pin, st.How, st.From = path+1, later, from
	return path, Why{Code: now, Args: [3]int64{int64(from)}}
}

func (q *perPeer) Heard(_ *Rails, p *Peer, path int) {
	if p.State.Pin == 0 {
		p.State.Pin, p.State.How = path+1, pinnedAsHeard
	}
}

func (q *perPeer) Explain(r *Rails, p *Peer, why Why) string {
	switch why.Code {
	case pinnedNow:
		return "first message to the peer: pinned to the rail whose turn it is" + r.PassedOver(p)
	case pinnedAtSend:
		return "pinned at the first send to the peer"
	case pinnedAsHeard:
		return "pinned where the peer was first heard"
	case movedNow:
		return fmt.Sprintf("%v, where the peer was pinned, is down: pinned anew to the rail whose turn it is%s", r.Info(int(why.Args[0])), r.PassedOver(p))
	}
	return fmt.Sprintf("pinned when %v was down", r.Info(int(why.Args[0])))
}

func (q *perPeer) Ordered() bool { return true }
