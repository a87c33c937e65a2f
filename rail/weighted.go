package rail

import "fmt"

// Weighted deals the messages of a peer over the rails that reach it in
// proportion to their speed, evenly mixed (smooth weighted round robin), and over
// each rail to the peer's addresses in turn. A rail of unknown speed weighs the
// average of the known ones; if none is known all weigh the same. Messages can
// arrive in another order than they were sent.
const Weighted = "WEIGHTED"

func init() {
	builtin(Weighted, func(rails []Info, o Options) (Policy, error) {
		return &weighted{newDealer(rails, weights(rails), o.Seed)}, nil
	})
}

type weighted struct{ dealer dealer }

// maxWeight, 1 Pbit/s, keeps sums of weights far from overflow.
const maxWeight = 1e9

// weights are the rails' speeds in Mbit/s.
func weights(rails []Info) []int64 {
	w := make([]int64, len(rails))
	var sum, known int64
	for i := range rails {
		if speed := rails[i].Speed; speed != 0 {
			w[i] = int64(min(max(speed/1e6, 1), maxWeight))
			if !rails[i].NodeLocal {
				sum += w[i]
				known++
			}
		}
	}
	average := int64(1)
	if known > 0 {
		average = sum / known
	}
	for i := range w {
		if w[i] == 0 {
			w[i] = average
		}
	}
	return w
}

func (q *weighted) Pick(r *Rails, p *Peer, _ Call) (int, Why) {
	limit := r.Best(p)
	if limit == Down {
		return NoPath, Why{}
	}
	reach := p.Reach()
	var t turn
	for i := range reach {
		if rail := reach[i].Rail; r.Health(rail) <= limit {
			t.offer(i, &reach[i].Credit, q.dealer.weight[rail])
		}
	}
	at := 0
	if p.State.Begun {
		at = t.take()
	} else {
		p.State.Begun = true
		at = q.first(r, p, limit, t.total)
	}
	rail := reach[at].Rail
	return q.dealer.next(&reach[at]), Why{Args: [3]int64{int64(rail), q.dealer.weight[rail], t.total}}
}

// first deals the rail p begins with, and lets p's round go on from there as the
// dealer's does, so that the n-th messages to many peers are in proportion too.
func (q *weighted) first(r *Rails, p *Peer, limit Health, total int64) int {
	at := q.dealer.rail(r, p, limit)
	for i := range p.reach {
		turns := float64(q.dealer.credit[p.reach[i].Rail]) / wholeTurn
		p.reach[i].Credit = int64(turns * float64(total))
	}
	return at
}

func (q *weighted) Heard(*Rails, *Peer, int) {}

func (q *weighted) Explain(r *Rails, p *Peer, why Why) string {
	rail, w, total := int(why.Args[0]), why.Args[1], why.Args[2]
	g := gcd(w, total)
	basis := "speed " + speedText(r.Info(rail).Speed)
	if r.Info(rail).Speed == 0 {
		basis = "speed unknown, so of average weight"
	}
	share := fmt.Sprintf("%d of %d", w/g, total/g)
	if w == total {
		share = "all"
	}
	return fmt.Sprintf("carries %s messages to the peer: %s%s", share, basis, r.PassedOver(p))
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// speedText writes a speed in bit/s: "200 Gbit/s".
func speedText(bits uint64) string {
	switch {
	case bits == 0:
		return "unknown"
	case bits >= 1e9:
		return fmt.Sprintf("%g Gbit/s", float64(bits)/1e9)
	}
	return fmt.Sprintf("%g Mbit/s", float64(bits)/1e6)
}

func (q *weighted) Ordered() bool { return false }
