package sim

import (
	"syscall"
	"unsafe"

	"golnx/providers"
	"golnx/providers/fierr"
)

// Loss says what becomes of the messages of a rail that goes down. Those that
// have left it, or are on their way to it, are lost with either.
type Loss uint8

const (
	// Fail ends sends whose last byte has not left with ENETDOWN, and the
	// rail's unexpected messages that no receive took are withdrawn
	// (Owner.Dropped). A send to a rail that is down fails with EHOSTUNREACH.
	Fail Loss = iota
	// Lose loses the messages of sends without a word: they complete as if
	// nothing had happened.
	Lose
)

// ErrDown is what Send answers on a rail that is down.
var ErrDown error = fierr.Errno(syscall.ENETDOWN)

// message is one on its way. It returns to Fabric.free when nobody needs it.
type message struct {
	from    *rail
	to      string
	dest    *rail // from the departure on
	op      txRef
	data    uint64
	flags   uint64 // FlagTagged or FlagMsg, FlagRemoteCQData
	size    uint64
	arrives int64
	// downs of both rails, summed up, at departure
	downs int
	// probe is set if its send completes nowhere
	probe bool
	// void is set if it will not leave any more
	void bool
	// The bytes are in the sender's buffers until they have left.
	iov   [providers.MaxIOV]providers.IOVec
	count int
	buf   []byte
}

func (f *Fabric) message() *message {
	n := len(f.free)
	if n == 0 {
		return &message{}
	}
	m := f.free[n-1]
	f.free = f.free[:n-1]
	return m
}

func (f *Fabric) recycle(m *message) {
	*m = message{buf: m.buf[:0]}
	f.free = append(f.free, m)
}

// capture takes the bytes out of the sender's buffers.
func (m *message) capture() {
	for _, b := range m.iov[:m.count] {
		m.buf = append(m.buf, bytesOf(b)...)
	}
	m.letGo()
}

func (m *message) letGo() {
	m.iov, m.count = [providers.MaxIOV]providers.IOVec{}, 0
}

func bytesOf(b providers.IOVec) []byte { return unsafe.Slice((*byte)(b.Base), b.Len) }

// depart completes a send and puts its message on the way.
func (f *Fabric) depart(m *message) {
	if m.void {
		f.recycle(m)
		return
	}
	r, dest := m.from, f.byAddr[m.to]
	r.out.pop() // which is m
	m.capture()
	reached := dest != nil && dest.Fabric == r.Fabric && dest.up
	err := fierr.Errno(0)
	if !reached && (dest == nil || dest.Fabric != r.Fabric || dest.loss == Fail) {
		err = fierr.EHostUnreach
	}
	r.end(m, err)
	if !reached {
		f.recycle(m)
		return
	}
	m.dest, m.downs = dest, r.downs+dest.downs
	f.schedule(event{at: m.arrives, kind: arrives, m: m})
}

func (f *Fabric) arrive(m *message) {
	if m.dest.closed || m.from.downs+m.dest.downs != m.downs {
		f.recycle(m)
		return
	}
	m.dest.tell(due{kind: received, m: m})
}

// down takes a rail away.
func (f *Fabric) down(r *rail, loss Loss) {
	if r.closed {
		return
	}
	r.up, r.loss = false, loss
	r.downs++
	err := fierr.Errno(0)
	if loss == Fail {
		err = fierr.Errno(syscall.ENETDOWN)
	}
	for r.out.len() > 0 {
		m := r.out.pop()
		r.end(m, err)
		f.abandon(m)
	}
	if loss == Fail {
		r.tell(due{kind: broken})
	}
}

// abandon gives up a message that has not left; its departure frees it.
func (f *Fabric) abandon(m *message) {
	m.void = true
	m.letGo()
}

// close takes a rail away for good, with all that its owner has not taken in.
// What has left stays under way.
func (f *Fabric) close(r *rail) {
	r.up, r.closed = false, true
	delete(f.byAddr, r.addr)
	for r.out.len() > 0 {
		f.abandon(r.out.pop())
	}
	for r.due.len() > 0 {
		if m := r.due.pop().m; m != nil {
			f.recycle(m)
		}
	}
}
