package lnx

import (
	"fmt"

	"golnx/providers/fierr"
)

// Entry is one completion (struct fi_cq_tagged_entry, with the source that
// fi_cq_readfrom(3) adds).
type Entry struct {
	// Context is what the operation was called with.
	Context any
	Flags   Flags
	// Len is the number of bytes received; 0 for sends.
	Len int
	// Tag is the message's.
	Tag uint64
	// Data is valid with FlagRemoteCQData.
	Data uint64
	// Src is the sender, AddrUnspec if it is not in the AV.
	Src Addr
	// Off is where in the buffer of a multi-receive the message begins, in bytes; 0 for
	// others.
	Off int
}

// ErrEntry is a failed operation (struct fi_cq_err_entry). It is an error.
type ErrEntry struct {
	Entry
	// Err is what happened: ETRUNC, ECANCELED, ENOMSG, EHOSTDOWN, …
	Err fierr.Errno
	// Olen is the number of bytes of the message that did not fit; Len is how
	// many were delivered.
	Olen int
	// ProvErrno is the provider's own number, 0 if it has none.
	ProvErrno int
	// Rail names the rail it happened on, if it did on one.
	Rail string
	// Hook is what a hook answered after the operation was handed over, if one failed.
	Hook error
}

// Error describes the failure.
func (e *ErrEntry) Error() string {
	s := e.Flags.what(e.Tag)
	if e.Rail != "" {
		s += " over " + e.Rail
	}
	switch e.Err {
	case fierr.EHostDown:
		s += ": " + ErrPeerDead.Error()
	case fierr.EOwnerDead:
		s += ": " + ErrRailBroken.Error()
	default:
		s += ": " + e.Err.Error()
	}
	if e.Err == fierr.ETrunc {
		s += fmt.Sprintf(": the message has %d bytes, the buffer %d", e.Len+e.Olen, e.Len)
	}
	if e.ProvErrno != 0 && e.ProvErrno != int(e.Err) {
		s += fmt.Sprintf(" (provider error %d: %v)", e.ProvErrno, fierr.Errno(abs(e.ProvErrno)))
	}
	if e.Hook != nil {
		s += ": " + e.Hook.Error()
	}
	return s
}

// Unwrap answers Err, and Hook if there is one.
func (e *ErrEntry) Unwrap() []error {
	if e.Hook != nil {
		return []error{e.Err, e.Hook}
	}
	return []error{e.Err}
}

// Is makes a failure compare as the condition that caused it.
func (e *ErrEntry) Is(target error) bool {
	return e.Err == fierr.EHostDown && target == ErrPeerDead || e.Err == fierr.EOwnerDead && target == ErrRailBroken
}

func abs(n int) int { return max(n, -n) }

// CQ is the completion queue of an endpoint (fi_cq(3)). It is safe for
// concurrent use; each entry goes to one reader.
type CQ struct {
	ep *Endpoint
	// A ring of completions that nobody has read. It grows rather than lose
	// one; operations answer EAGAIN when it holds more than Options.CQSize.
	ring       []record
	head, tail uint
	// out is where a Read that drives the rails wants completions, which then need no
	// stay in the ring: only while that is empty, so that order is kept.
	out    []Entry
	filled int
}

type record struct {
	Entry
	err *ErrEntry
}

func (q *CQ) len() int { return int(q.tail - q.head) }

// full is when operations answer EAGAIN.
func (q *CQ) full() bool { return q.len() >= q.ep.set.CQSize }

func (q *CQ) next() *record {
	if q.len() == len(q.ring) {
		q.grow()
	}
	r := &q.ring[q.tail&uint(len(q.ring)-1)]
	q.tail++
	return r
}

// rewind has an empty ring begin where it is in the processor's cache.
func (q *CQ) rewind() {
	if q.head == q.tail {
		q.head, q.tail = 0, 0
	}
}

func (q *CQ) grow() {
	ring := make([]record, max(256, 2*len(q.ring)))
	for i := q.head; i != q.tail; i++ {
		ring[i&uint(len(ring)-1)] = q.ring[i&uint(len(q.ring)-1)]
	}
	q.ring = ring
}

func (q *CQ) push(e *Entry) {
	if q.filled < len(q.out) {
		q.out[q.filled] = *e
		q.filled++
		return
	}
	r := q.next()
	r.Entry, r.err = *e, nil
	q.ep.wait.signalCQ()
}

func (q *CQ) pushErr(e ErrEntry) {
	q.out = q.out[:q.filled] // what follows comes after it
	q.next().err = &e
	q.ep.wait.signalCQ()
}

// Read fills entries with completions, the oldest first (fi_cq_read(3),
// fi_cq_readfrom(3)); while none wait it drives the rails. It answers how many;
// [fierr.EAgain] if there are none (as ErrUnexpectedFull if the reason is that), and
// [fierr.EAvail] if the next one is a failure, which ReadErr answers. With no room in
// entries it only drives the rails, once, which is the way to wait for what a peer writes
// into memory. It does not allocate.
func (q *CQ) Read(entries []Entry) (int, error) {
	if h := q.ep.hooks; h != nil && h.cqRead != nil {
		return h.cqRead(hookEntries(entries))
	}
	return q.read(entries)
}

func (q *CQ) read(entries []Entry) (int, error) {
	if q.ep.foreign {
		return q.readGuarded(entries)
	}
	q.ep.lock()
	n, err := q.readLocked(entries)
	q.ep.mu.Unlock()
	return n, err
}

func (q *CQ) readLocked(entries []Entry) (int, error) {
	ep := q.ep
	if err := ep.check(); err != nil {
		return 0, err
	}
	n, err := 0, error(nil)
	if q.head == q.tail || len(entries) == 0 {
		n = q.drive(entries)
	}
	if n == 0 {
		n, err = q.take(entries)
	}
	if err == fierr.Again && ep.flooded() {
		err = ErrUnexpectedFull
	}
	return n, err
}

// drive drives the rails for an empty queue or no room, and answers how many completions went
// straight to the reader.
func (q *CQ) drive(entries []Entry) int {
	q.out, q.filled = entries, 0
	q.ep.progress(q.ep.rounds(len(entries)))
	n := q.filled
	q.out, q.filled = nil, 0
	return n
}

// take moves completions to the reader, under the lock.
func (q *CQ) take(entries []Entry) (n int, err error) {
	for n < len(entries) && q.head != q.tail {
		r := &q.ring[q.head&uint(len(q.ring)-1)]
		if r.err != nil {
			break
		}
		entries[n] = r.Entry
		r.Context = nil
		n++
		q.head++
	}
	q.rewind()
	switch {
	case n > 0 || len(entries) == 0:
		return n, nil
	case q.head != q.tail:
		return 0, fierr.Avail
	}
	return 0, fierr.Again
}

// ReadErr answers the failure that is next in the queue (fi_cq_readerr(3)), or
// EAGAIN if the next completion is none.
func (q *CQ) ReadErr() (*ErrEntry, error) {
	q.ep.lock()
	defer q.ep.unlock()
	if err := q.ep.check(); err != nil {
		return nil, err
	}
	if q.head == q.tail {
		return nil, fierr.Again
	}
	r := &q.ring[q.head&uint(len(q.ring)-1)]
	if r.err == nil {
		return nil, fierr.Again
	}
	e := r.err
	r.err = nil
	q.head++
	q.rewind()
	return e, nil
}
