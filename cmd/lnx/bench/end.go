package bench

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"golnx/lnx"
	"golnx/mr"
	"golnx/providers/fierr"
)

// Tags name a message: what it is, and its number in the run. The tags of the two
// directions differ, so that one taken for the other has the wrong payload.
const (
	tagLead   uint64 = 1 << 56 // from the leading end
	tagFollow uint64 = 2 << 56 // from the following end
	tagAck    uint64 = 4 << 56
	tagDecoy  uint64 = 8 << 56 // does not match what is measured
	tagNumber uint64 = 1<<40 - 1
)

// How many empty reads pass between two looks at the clock, and how many messages
// between two at what may end the test. The other end may need this processor, when
// there are more programs than processors: yieldEvery is after how many empty reads
// it is offered.
const (
	lookEvery  = 4096
	tellEvery  = 64
	yieldEvery = 512
)

// End is one end of a test, for the test's use. A test runs on one goroutine and
// has the endpoint for itself.
type End struct {
	EP *lnx.Endpoint
	// Peer is the other end.
	Peer lnx.Addr
	// Ready tells the leading end that the receives are posted.
	Ready func() error
	// Swap gives the other end a key for memory and answers its.
	Swap func(key []byte) ([]byte, error)
	// Done counts the finished messages of the run, about, for whoever shows
	// progress.
	Done *atomic.Int64

	ctx     context.Context
	limit   time.Duration // without progress
	entries [16]lnx.Entry
	idle    int
	patient bool // waits for as long as the other end works alone
	since   time.Time
	before  []lnx.RailStats

	huge   bool // buffers are to be of huge pages
	held   []*mr.Buffer
	noHuge error
}

// slot is a buffer.
type slot struct {
	buf  []byte
	busy int // operations that have it
	n    int // of the operation, in tests of memory
	iov  [1][]byte

	untagged bool
	tag      uint64 // of the message that the receive is for, if it is untagged
}

func (e *End) newSlots(n, size int) []slot {
	slots := make([]slot, n)
	for i, buf := range e.buffers(n, size) {
		slots[i].buf = buf
	}
	return slots
}

// post receives a message with the tag, the ignored bits aside.
func (e *End) post(s *slot, tag, ignore uint64) error {
	return e.postFrom(s, e.Peer, tag, ignore)
}

func (e *End) postFrom(s *slot, from lnx.Addr, tag, ignore uint64) error {
	s.busy++
	if s.untagged {
		s.tag = tag
		return e.EP.MRecv(s.buf, from, s)
	}
	return e.EP.TRecv(s.buf, from, tag, ignore, s)
}

// send starts a send, waiting while the rail takes none. Meanwhile no completion is
// read: fewer must be to come than the CQ has room for.
func (e *End) send(s *slot, tag uint64) error {
	for {
		sent, err := e.trySend(s, tag)
		if sent || err != nil {
			return err
		}
		if err := e.rest(); err != nil {
			return err
		}
	}
}

// trySend starts a send, unless the rail takes none now.
func (e *End) trySend(s *slot, tag uint64) (bool, error) {
	err := e.start(s, tag)
	if err != nil {
		if err == fierr.Again {
			err = nil
		}
		return false, err
	}
	s.busy++
	e.idle = 0
	return true, nil
}

func (e *End) start(s *slot, tag uint64) error {
	if s.untagged {
		return e.EP.MSend(s.buf, e.Peer, s)
	}
	return e.EP.TSend(s.buf, e.Peer, tag, s)
}

// poll waits for completions. They are valid until the next poll; their slots have
// one operation less.
func (e *End) poll() ([]lnx.Entry, error) {
	for {
		done, err := e.read()
		if len(done) > 0 || err != nil {
			return done, err
		}
	}
}

// read is poll that answers none when there are none.
func (e *End) read() ([]lnx.Entry, error) {
	n, err := e.EP.CQ().Read(e.entries[:])
	switch err {
	case nil:
		return e.finished(n), nil
	case fierr.Again:
		return nil, e.rest()
	}
	return nil, e.failure(err)
}

// wait is poll that sleeps.
func (e *End) wait(ctx context.Context) ([]lnx.Entry, error) {
	n, err := e.EP.CQ().Wait(ctx, e.entries[:])
	switch {
	case err == nil:
		return e.finished(n), nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, e.failure(err)
}

// finished answers the first n of the entries that were read.
func (e *End) finished(n int) []lnx.Entry {
	e.idle = 0
	for i := range n {
		e.entries[i].Context.(*slot).busy--
	}
	return e.entries[:n]
}

// failure answers the failed operation that an error of the CQ stands for.
func (e *End) failure(err error) error {
	if err != fierr.Avail {
		return err
	}
	failed, err := e.EP.CQ().ReadErr()
	if err != nil {
		return err
	}
	return failed
}

// settle waits until nothing has the slot.
func (e *End) settle(s *slot) error {
	for s.busy > 0 {
		if _, err := e.poll(); err != nil {
			return err
		}
	}
	return nil
}

// rest is called when there was nothing to do. Now and then it looks whether the
// test should end.
func (e *End) rest() error {
	e.idle++
	if e.idle%yieldEvery == 0 {
		_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
	}
	if e.idle%lookEvery != 0 {
		return nil
	}
	now := time.Now()
	if e.idle == lookEvery {
		e.since = now
	}
	if now.Sub(e.since) > e.limit && !e.patient {
		return fmt.Errorf("no message came or went for %v", e.limit)
	}
	return e.stopped()
}

// stopped answers why the test should end, nil if it should not.
func (e *End) stopped() error {
	if e.ctx.Err() != nil {
		return context.Cause(e.ctx)
	}
	return nil
}

// tell takes note of finished messages.
func (e *End) tell(done int) error {
	if done%tellEvery != 0 {
		return nil
	}
	e.Done.Store(int64(done))
	return e.stopped()
}

// check compares a received message with what was sent: the length always, with
// Params.Verify also the sender and every byte.
func (e *End) check(c *lnx.Entry, p *Params) error {
	s, tag := c.Context.(*slot), c.Tag
	if s.untagged {
		tag = s.tag
	}
	if c.Len != p.Size {
		return fmt.Errorf("message %#x has %d bytes, %d were sent", tag, c.Len, p.Size)
	}
	if !p.Verify {
		return nil
	}
	if c.Src != e.Peer {
		return fmt.Errorf("message %#x came from Addr %d, not from the other end, %d", tag, c.Src, e.Peer)
	}
	return verify(s.buf[:c.Len], tag)
}

// mark begins what railCounts counts; so does the begin of a run.
func (e *End) mark() { e.before = e.EP.Stats() }

// railCounts says what each rail carried since mark.
func (e *End) railCounts() []RailCount {
	var counts []RailCount
	for i, s := range e.EP.Stats() {
		d := s.Sub(e.before[i].Stats)
		counts = append(counts, RailCount{s.Name, d.TSends + d.TInjects + d.Sends + d.Injects, d.RxExpected + d.RxUnexpected, d.Reads + d.Writes + d.Atomics})
	}
	return counts
}
