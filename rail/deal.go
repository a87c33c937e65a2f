package rail

// turn is one step of smooth weighted round robin: every contender earns its
// weight, and the richest (the first of those) wins and pays what all earned. Over
// many turns each wins in proportion to its weight, evenly mixed; with equal
// weights that is plain round robin.
type turn struct {
	at    int
	best  *int64
	total int64
}

// offer lets a contender with its credit and weight into the turn.
func (t *turn) offer(at int, credit *int64, weight int64) {
	*credit += weight
	t.total += weight
	if t.best == nil || *credit > *t.best {
		t.at, t.best = at, credit
	}
}

// take ends a turn that had at least one contender and answers the winner's at.
func (t *turn) take() int {
	*t.best -= t.total
	return t.at
}

// dealer hands an endpoint's rails, and behind each rail the addresses of a peer,
// to its peers in turn. Which rails contend differs from peer to peer. One that
// does not neither gains nor loses: a rail that was away takes no flood of peers
// when it returns, and peers that reach different rails leave each other's round
// alone. (The one counter that C LNX moves over all rails gives two groups of
// peers that come alternately the first rail of each group, always.)
type dealer struct {
	weight []int64  // of each rail
	credit []int64  // of each rail, in parts of a turn
	addr   []uint64 // for each rail, counts the addresses dealt out
	in     []contender
}

type contender struct{ at, rail int }

// wholeTurn is what a turn costs however many contend: a multiple of 1 to 16, so
// that equal shares of it are exact.
const wholeTurn = 720720 << 10

// newDealer makes a dealer; nil weights are equal ones. The seed says how many
// turns were had before.
func newDealer(rails []Info, weight []int64, seed uint64) dealer {
	n := len(rails)
	d := dealer{weight: weight, credit: make([]int64, n), addr: make([]uint64, n), in: make([]contender, 0, n)}
	if d.weight == nil {
		d.weight = make([]int64, n)
		for i := range d.weight {
			d.weight[i] = 1
		}
	}
	for i := range d.addr {
		d.addr[i] = seed
	}
	remote := uint64(0)
	for i := range rails {
		if !rails[i].NodeLocal {
			remote++
		}
	}
	for range seed % max(remote, 1) {
		for i := range rails {
			if !rails[i].NodeLocal {
				d.enter(i, i)
			}
		}
		d.draw()
	}
	return d
}

// enter lets a rail contend in the next draw.
func (d *dealer) enter(at, rail int) { d.in = append(d.in, contender{at, rail}) }

// draw answers the at of the rail whose turn it is, or NoPath if none contends.
func (d *dealer) draw() int {
	var sum int64
	for _, c := range d.in {
		sum += d.weight[c.rail]
	}
	var t turn
	for _, c := range d.in {
		t.offer(c.at, &d.credit[c.rail], d.weight[c.rail]*wholeTurn/sum)
	}
	d.in = d.in[:0]
	if t.best == nil {
		return NoPath
	}
	return t.take()
}

// rail answers the position, in p's Reach, of the next rail among those that may
// take new traffic to p, which are the rails of health limit or better.
func (d *dealer) rail(r *Rails, p *Peer, limit Health) int {
	for i := range p.reach {
		if rail := p.reach[i].Rail; r.health[rail] <= limit {
			d.enter(i, rail)
		}
	}
	return d.draw()
}

// path answers the path to the next address behind a rail.
func (d *dealer) path(reach *Reach) int {
	n := d.addr[reach.Rail]
	d.addr[reach.Rail]++
	return reach.First + int(n%uint64(reach.Count))
}

// next answers the paths of a rail in turn, beginning with one that is dealt, so
// that one message to each of many peers uses all addresses too.
func (d *dealer) next(reach *Reach) int {
	if !reach.Begun {
		reach.Begun = true
		reach.Turn = d.path(reach) - reach.First
	}
	return reach.NextPath()
}
