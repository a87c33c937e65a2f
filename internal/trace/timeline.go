package trace

// Timeline divides the time of a trace into at most a given number of bins of one
// width, whatever the trace's length and the order in which times come: when a time
// lies too far off, bins are merged in pairs until it fits. How bins lie depends on
// the earliest and the latest time only.
type Timeline struct {
	max   int64
	shift uint  // a bin is 1<<shift ns wide
	first int64 // number of the bin that cell 0 stands for
	lo    int64 // numbers of the first and last bin in use
	hi    int64
	used  bool
	lanes []lane
}

// minShift makes bins at least 128 ns wide.
const minShift = 7

// lane is what the cells of all bins hold, for one thing that is followed over time.
type lane interface {
	// regrid moves cell i to (i+offset)>>by + move, for those in use.
	regrid(from, to int, offset int64, by uint, move int64)
}

// NewTimeline has at most so many bins.
func NewTimeline(bins int) *Timeline {
	return &Timeline{max: int64(bins), shift: minShift}
}

// Width answers how long a bin is, in ns.
func (l *Timeline) Width() int64 { return 1 << l.shift }

// Bins answers how many bins are in use: those from the earliest to the latest time.
func (l *Timeline) Bins() int {
	if !l.used {
		return 0
	}
	return int(l.hi - l.lo + 1)
}

// Start answers the time at which the first bin in use begins, in Unix ns.
func (l *Timeline) Start() int64 { return l.lo << l.shift }

// cell answers where a time is kept, after making place for it.
func (l *Timeline) cell(t int64) int {
	b := t >> l.shift
	if l.used && b >= l.lo && b <= l.hi {
		return int(b - l.first)
	}
	l.include(t)
	return int(t>>l.shift - l.first)
}

// include makes place for a time.
func (l *Timeline) include(t int64) {
	b := t >> l.shift
	if !l.used {
		l.used, l.first, l.lo, l.hi = true, b, b, b
		return
	}
	lo, hi, by := min(l.lo, b), max(l.hi, b), uint(0)
	// The difference of two numbers of bins does not overflow: bins are wider than 2 ns.
	for hi-lo >= l.max {
		lo, hi, by = lo>>1, hi>>1, by+1
	}
	first := l.first >> by
	switch {
	case lo < first:
		first = lo - (l.max-(hi-lo+1))/2 // place for more early times
	case hi >= first+l.max:
		first = lo
	}
	if by > 0 || first != l.first {
		// A cell's bin is i+l.first; its new one that, shifted, less first.
		for _, lane := range l.lanes {
			lane.regrid(int(l.lo-l.first), int(l.hi-l.first), l.first, by, -first)
		}
	}
	l.shift, l.first, l.lo, l.hi = l.shift+by, first, lo, hi
}

// Spread calls add with every cell that the time from t0 to t1 touches, and the
// share of it that lies there; all of it in one, if it takes no time.
func (l *Timeline) spread(t0, t1 int64, add func(cell int, share float64)) {
	l.cell(t0)
	last := l.cell(t1)
	first := l.cell(t0) // bins may have been merged
	if first >= last {
		add(first, 1)
		return
	}
	whole := float64(t1 - t0)
	for c := first; c <= last; c++ {
		from := max(t0, (l.first+int64(c))<<l.shift)
		to := t1
		if c < last {
			to = (l.first + int64(c) + 1) << l.shift
		}
		if to > from {
			add(c, float64(to-from)/whole)
		}
	}
}

// Lane has a value for each bin of a timeline.
type Lane[T any] struct {
	line  *Timeline
	cells []T
	merge func(into, from *T)
}

// newLane adds a lane. merge adds one value to another, of which the zero value means
// that nothing happened.
func newLane[T any](l *Timeline, merge func(into, from *T)) *Lane[T] {
	lane := &Lane[T]{line: l, cells: make([]T, l.max), merge: merge}
	l.lanes = append(l.lanes, lane)
	return lane
}

// at answers the value for a time.
func (l *Lane[T]) at(t int64) *T { return &l.cells[l.line.cell(t)] }

// Cells answers the values of the bins in use, in order of time.
func (l *Lane[T]) Cells() []T {
	if !l.line.used {
		return nil
	}
	return l.cells[l.line.lo-l.line.first : l.line.hi-l.line.first+1]
}

func (l *Lane[T]) regrid(from, to int, offset int64, by uint, move int64) {
	place := func(i int) int { return int((int64(i)+offset)>>by + move) }
	if by == 0 { // cells only move, so none may run over another
		moved := make([]T, len(l.cells))
		copy(moved[place(from):], l.cells[from:to+1])
		l.cells = moved
		return
	}
	moved := make([]T, len(l.cells))
	for i := from; i <= to; i++ {
		l.merge(&moved[place(i)], &l.cells[i])
	}
	l.cells = moved
}
