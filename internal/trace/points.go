package trace

import (
	"cmp"
	"slices"
)

// Point is one operation to be drawn.
type Point struct {
	Start, End int64 // Unix ns
	Bytes      int64
	Tag        uint64
	Op         string
	Link       *Link
	Status     int
	Rail       int // in Analysis.Rails
}

// picker keeps all operations as long as they are few enough. After that it keeps, of
// each rail in each bin of time, the longest (and failed) ones, for outliers are what
// one looks for, and some by chance for the rest. The chance is a hash of where the
// operation stands, so that a trace always gives the same picture.
type picker struct {
	most  int
	rails int
	line  *Timeline
	all   []chosen
	lanes []*Lane[picked] // by rail; nil while all are kept
	// worst and chance are how many are kept of a rail in a bin.
	worst, chance int
}

// picked are those kept in one bin.
type picked struct {
	worst  []Point  // the first of them in order of worse
	chance []chosen // those with the smallest draw
}

type chosen struct {
	Point
	draw uint64
}

func (p *picker) add(c chosen) {
	if p.lanes == nil {
		if len(p.all) < p.most {
			p.all = append(p.all, c)
			return
		}
		p.divide()
	}
	p.put(&c)
}

// divide puts what was kept so far into bins.
func (p *picker) divide() {
	each := max(2, p.most/(int(p.line.max)*p.rails))
	p.worst = max(1, each/4)
	p.chance = each - p.worst
	merge := func(into, from *picked) {
		for i := range from.worst {
			into.addWorst(&from.worst[i], p.worst)
		}
		for i := range from.chance {
			into.addChance(&from.chance[i], p.chance)
		}
	}
	for range p.rails {
		p.lanes = append(p.lanes, newLane(p.line, merge))
	}
	for i := range p.all {
		p.put(&p.all[i])
	}
	p.all = nil
}

func (p *picker) put(c *chosen) {
	cell := p.lanes[c.Rail].at(c.End)
	cell.addWorst(&c.Point, p.worst)
	cell.addChance(c, p.chance)
}

// addWorst keeps the most worst ones.
func (k *picked) addWorst(point *Point, most int) {
	if len(k.worst) < most {
		k.worst = append(k.worst, *point)
		return
	}
	least := 0
	for i := range k.worst {
		if worse(&k.worst[least], &k.worst[i]) > 0 {
			least = i
		}
	}
	if worse(point, &k.worst[least]) > 0 {
		k.worst[least] = *point
	}
}

func (k *picked) addChance(c *chosen, most int) {
	if len(k.chance) < most {
		k.chance = append(k.chance, *c)
		return
	}
	largest := 0
	for i := range k.chance {
		if k.chance[i].draw > k.chance[largest].draw {
			largest = i
		}
	}
	if c.draw < k.chance[largest].draw {
		k.chance[largest] = *c
	}
}

// worse is above 0 if a is more worth seeing than b.
func worse(a, b *Point) int {
	return cmp.Or(
		cmp.Compare(min(a.Status, 1), min(b.Status, 1)),
		cmp.Compare(a.End-a.Start, b.End-b.Start),
		cmp.Compare(b.End, a.End),
	)
}

// points answers what was kept, in order of time.
func (p *picker) points() []Point {
	var points []Point
	for i := range p.all {
		points = append(points, p.all[i].Point)
	}
	for _, lane := range p.lanes {
		for _, cell := range lane.Cells() {
			points = append(points, cell.worst...)
			for _, c := range cell.chance {
				if !slices.Contains(cell.worst, c.Point) {
					points = append(points, c.Point)
				}
			}
		}
	}
	slices.SortFunc(points, func(a, b Point) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End)) })
	return points
}

// mix makes an even spread of numbers in a row (the finaliser of SplitMix64).
func mix(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}
