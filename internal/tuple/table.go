package tuple

const (
	segmentBits = 10
	segmentLen  = 1 << segmentBits
	segmentMask = segmentLen - 1
	segmentFull = segmentLen * 5 / 8

	// A directory doubles only while segments hold this many keys on average,
	// so that keys chosen to collide cannot blow it up.
	minKeysPerSegment = 64
	maxDepth          = 32 - segmentBits
)

// table is an extendible hash table from a 32-bit hash to slots: a directory,
// indexed by the highest bits of the hash, of segments with open addressing. A
// full segment is split in two and the directory doubled when need be, so that
// growing never rehashes more than one segment. (Go's own maps grow so, too.)
//
// It does not know keys: hashes may be equal, and who looks walks the cells of
// a segment chain and compares.
type table struct {
	dir   []*segment
	depth uint8 // len(dir) == 1<<depth
	keys  int
	pool  *Pool
}

// segment is a run of cells. All hashes in it have the same highest depth bits.
type segment struct {
	over  *segment // more cells for the same bits, when splitting cannot help
	used  uint16
	depth uint8
	cells [segmentLen]cell
}

// cell is a hash in the upper half and a slot + 1 in the lower; 0 is empty.
type cell uint64

func makeCell(h uint32, slot Slot) cell { return cell(h)<<32 | cell(slot+1) }
func (c cell) hash() uint32             { return uint32(c >> 32) }
func (c cell) slot() Slot               { return Slot(c) - 1 }

// place is a cell of a table.
type place struct {
	s *segment
	i uint32
}

func (p place) cell() cell { return p.s.cells[p.i&segmentMask] }
func (p place) set(c cell) { p.s.cells[p.i&segmentMask] = c }

// Pool keeps empty segments for the tables that share it.
type Pool struct {
	free []*segment
}

func (p *Pool) get(depth uint8) *segment {
	n := len(p.free)
	if n == 0 {
		return &segment{depth: depth}
	}
	s := p.free[n-1]
	p.free = p.free[:n-1]
	s.depth = depth
	return s
}

func (p *Pool) put(s *segment) {
	if s.used > 0 {
		clear(s.cells[:])
		s.used = 0
	}
	s.over = nil
	p.free = append(p.free, s)
}

func (t *table) init(pool *Pool) {
	t.pool = pool
	t.dir = []*segment{pool.get(0)}
}

func (t *table) segment(h uint32) *segment {
	return t.dir[uint64(h)>>((32-t.depth)&63)]
}

// anyPlace answers some cell of the table.
func (t *table) anyPlace() place { return place{t.dir[0], 0} }

// insert adds a cell whose key is not in the table, where a search for it ended.
func (t *table) insert(at place, c cell) {
	t.keys++
	if at.s.used < segmentFull {
		at.s.cells[at.i] = c
		at.s.used++
		return
	}
	h := c.hash()
	s := t.segment(h)
	for s.used >= segmentFull && s.over == nil && t.split(s, h) {
		s = t.segment(h)
	}
	for s.used >= segmentFull {
		if s.over == nil {
			s.over = t.pool.get(s.depth)
		}
		s = s.over
	}
	s.insert(c)
}

// split moves about half of a segment's cells, that of h, into a new one.
func (t *table) split(s *segment, h uint32) bool {
	if s.depth == t.depth && !t.double() {
		return false
	}
	s.depth++
	sibling := t.pool.get(s.depth)
	bit := uint32(1) << (32 - s.depth)

	cells := s.cells
	clear(s.cells[:])
	s.used = 0
	for _, c := range cells[:] {
		switch {
		case c == 0:
		case c.hash()&bit == 0:
			s.insert(c)
		default:
			sibling.insert(c)
		}
	}

	// The directory's entries for s are a run; its upper half is the sibling's.
	run := 1 << (t.depth - s.depth)
	first := int((uint64(h|bit) >> ((32 - s.depth) & 63)) << (t.depth - s.depth))
	for i := first; i < first+run; i++ {
		t.dir[i] = sibling
	}
	return true
}

func (t *table) double() bool {
	if t.depth == maxDepth || t.keys < minKeysPerSegment<<t.depth {
		return false
	}
	n := len(t.dir)
	if cap(t.dir) < 2*n {
		t.dir = append(make([]*segment, 0, 2*n), t.dir...)
	}
	t.dir = t.dir[:2*n]
	for i := n - 1; i >= 0; i-- {
		t.dir[2*i], t.dir[2*i+1] = t.dir[i], t.dir[i]
	}
	t.depth++
	return true
}

// remove empties a cell.
func (t *table) remove(at place) {
	at.s.remove(at.i)
	t.keys--
	if t.keys == 0 && (t.depth > 0 || t.dir[0].over != nil) {
		t.reset()
	}
}

// reset empties the table, keeping one segment.
func (t *table) reset() {
	for i, run := 0, 0; i < len(t.dir); i += run {
		s := t.dir[i]
		run = 1 << (t.depth - s.depth)
		for s != nil {
			over := s.over
			t.pool.put(s)
			s = over
		}
	}
	clear(t.dir)
	t.dir = t.dir[:1]
	t.dir[0] = t.pool.get(0)
	t.depth, t.keys = 0, 0
}

func (s *segment) insert(c cell) {
	i := c.hash() & segmentMask
	for s.cells[i] != 0 {
		i = (i + 1) & segmentMask
	}
	s.cells[i] = c
	s.used++
}

// remove empties a cell and moves later ones of its run back, as far as their
// hash lets them, so that a search may go on stopping at an empty cell.
func (s *segment) remove(i uint32) {
	for j := i; ; {
		j = (j + 1) & segmentMask
		c := s.cells[j]
		if c == 0 {
			break
		}
		if home := c.hash() & segmentMask; (j-home)&segmentMask >= (j-i)&segmentMask {
			s.cells[i] = c
			i = j
		}
	}
	s.cells[i] = 0
	s.used--
}
