// Package linear is the plainest owner of a [providers.Core]: lists that are
// searched from the front, and no more than it takes to send and receive. It
// serves to test a Core without the link layer, which does the same for real.
package linear

import (
	"runtime"
	"unsafe"

	"golnx/providers"
)

// Owner is an endpoint over any Core. It is not safe for concurrent use.
type Owner struct {
	// Core is what it was opened with.
	Core providers.Core
	// Strays and Withdrawn count the messages without a tag, and those that
	// the Core took back.
	Strays, Withdrawn int

	posted []receive
	queue  []message
	ended  []providers.Completion
	pin    runtime.Pinner
}

type receive struct {
	slot             providers.Slot
	src, tag, ignore uint64
}

type message struct {
	slot     providers.Slot
	src, tag uint64
}

func (r *receive) takes(m *message) bool {
	return (r.src == providers.NoAddr || r.src == m.src) && (r.tag^m.tag)&^r.ignore == 0
}

// Open opens a Core for a new Owner.
func Open(open func(providers.Owner) (providers.Core, error)) (*Owner, error) {
	o := &Owner{}
	core, err := open(o)
	if err != nil {
		return nil, err
	}
	o.Core = core
	return o, nil
}

// Close closes the Core. Buffers are the caller's again if it succeeds.
func (o *Owner) Close() error {
	if err := o.Core.Close(); err != nil {
		return err
	}
	o.pin.Unpin()
	return nil
}

// Send sends the buffers as one message; op has the rest, apart from its slot,
// which Send answers.
func (o *Owner) Send(rail int, op providers.SendOp, bufs ...[]byte) (providers.Slot, error) {
	slot, err := o.Core.AllocTx()
	if err != nil {
		return 0, err
	}
	op.Slot = slot
	op.Count = copy(op.IOV[:], o.iov(bufs))
	if err := o.Core.Send(rail, &op); err != nil {
		o.Core.FreeTx(slot)
		return 0, err
	}
	return slot, nil
}

// Recv receives the first message from src, a rail address or NoAddr for any,
// whose tag equals tag where ignore is 0, and answers the slot that completes.
func (o *Owner) Recv(src, tag, ignore uint64, bufs ...[]byte) (providers.Slot, error) {
	r := receive{src: src, tag: tag, ignore: ignore}
	for i := range o.queue {
		if m := o.queue[i]; r.takes(&m) {
			o.queue = append(o.queue[:i], o.queue[i+1:]...)
			o.Core.SetBuffers(m.slot, o.iov(bufs))
			return m.slot, o.start(m.slot)
		}
	}
	var err error
	if r.slot, err = o.Core.AllocRx(false); err != nil {
		return 0, err
	}
	o.Core.SetBuffers(r.slot, o.iov(bufs))
	o.posted = append(o.posted, r)
	return r.slot, nil
}

func (o *Owner) start(slot providers.Slot) error {
	err := o.Core.Start(slot)
	if err != nil {
		o.Core.ReleaseRx(slot)
	}
	return err
}

// Cancel takes back a receive that waits, and answers whether it did.
func (o *Owner) Cancel(slot providers.Slot) bool {
	for i := range o.posted {
		if o.posted[i].slot == slot {
			o.posted = append(o.posted[:i], o.posted[i+1:]...)
			o.Core.ReleaseRx(slot)
			return true
		}
	}
	return false
}

// Poll drives all rails once and answers what completed since. The slice is valid
// until the next Poll; the slots in it are free.
func (o *Owner) Poll() []providers.Completion {
	o.Core.Progress(^uint64(0) >> (64 - len(o.Core.Rails())))
	o.ended = o.ended[:0]
	for ready := o.Core.Ready(); len(ready) > 0; ready = o.Core.Ready() {
		o.ended = append(o.ended, ready...)
		o.Core.Consume(len(ready))
	}
	for i := range o.ended {
		if c := &o.ended[i]; c.Kind == providers.Transmit {
			o.Core.FreeTx(c.Slot)
		} else {
			o.Core.ReleaseRx(c.Slot)
		}
	}
	return o.ended
}

// Unexpected answers the slots of the unexpected messages, the oldest first.
func (o *Owner) Unexpected() (slots []providers.Slot) {
	for _, m := range o.queue {
		slots = append(slots, m.slot)
	}
	return slots
}

// Resolve asks again for the senders that were unknown, so that receives from them
// take their messages; call it after an Insert.
func (o *Owner) Resolve() {
	for i := range o.queue {
		if m := &o.queue[i]; m.src == providers.NoAddr {
			m.src = o.Core.Whose(m.slot)
		}
	}
}

// take finds the receive for a message and takes it off the list.
func (o *Owner) take(m *message) (providers.Slot, bool) {
	for i := range o.posted {
		if r := o.posted[i]; r.takes(m) {
			o.posted = append(o.posted[:i], o.posted[i+1:]...)
			return r.slot, true
		}
	}
	return 0, false
}

func (o *Owner) iov(bufs [][]byte) (iov []providers.IOVec) {
	for _, b := range bufs {
		if cap(b) > 0 {
			o.pin.Pin(unsafe.SliceData(b))
		}
		iov = append(iov, providers.IOVec{Base: unsafe.Pointer(unsafe.SliceData(b)), Len: uintptr(len(b))})
	}
	return iov
}

// Match implements [providers.Owner].
func (o *Owner) Match(_ int, src, _, tag uint64) (providers.Slot, bool) {
	m := message{src: src, tag: tag}
	if slot, ok := o.take(&m); ok {
		return slot, true
	}
	m.slot = o.entry()
	o.queue = append(o.queue, m)
	return m.slot, false
}

// MatchMsg implements [providers.Owner]: untagged messages are received into nothing.
func (o *Owner) MatchMsg(int, uint64, uint64) (providers.Slot, bool) {
	o.Strays++
	slot := o.entry()
	o.Core.SetBuffers(slot, nil)
	return slot, true
}

func (o *Owner) entry() providers.Slot {
	slot, err := o.Core.AllocRx(true)
	if err != nil {
		panic("linear: no receive entry: " + err.Error()) // memory is exhausted
	}
	return slot
}

// Dropped implements [providers.Owner].
func (o *Owner) Dropped(slot providers.Slot) {
	o.Withdrawn++
	for i := range o.queue {
		if o.queue[i].slot == slot {
			o.queue = append(o.queue[:i], o.queue[i+1:]...)
			break
		}
	}
	o.Core.ReleaseRx(slot)
}
