package timer

import "sync/atomic"

// ring takes records from the data path of one endpoint to the writer. One goroutine at
// a time puts, one takes; neither waits.
type ring struct {
	records []record // a power of two
	// putTail and putHead are the putting side's: its position, and the taking side's
	// as it was last seen.
	putTail, putHead uint64
	tail             atomic.Uint64 // records before it may be taken
	_                [64]byte      // the two sides on different cache lines
	head             atomic.Uint64 // records before it have been taken
}

func newRing(size int) *ring { return &ring{records: make([]record, size)} }

// next answers the record to fill in; nil if there is no room. It is on its way with
// publish.
func (q *ring) next() *record {
	size := uint64(len(q.records))
	if q.putTail-q.putHead >= size {
		if q.putHead = q.head.Load(); q.putTail-q.putHead >= size {
			return nil
		}
	}
	return &q.records[q.putTail&(size-1)]
}

// publish answers whether it is time to wake the writer up, which it is four times
// while the ring fills.
func (q *ring) publish() bool {
	q.putTail++
	q.tail.Store(q.putTail)
	return q.putTail&(uint64(len(q.records))/4-1) == 0
}

// take calls f with each record before tail.
func (q *ring) take(tail uint64, f func(*record)) {
	size := uint64(len(q.records))
	for head := q.head.Load(); head < tail; {
		// give the places back in steps: the other side may be waiting for them
		for step := min(tail, head+size/4); head < step; head++ {
			f(&q.records[head&(size-1)])
		}
		q.head.Store(head)
	}
}
