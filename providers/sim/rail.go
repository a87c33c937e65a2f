package sim

import (
	"fmt"
	"math/bits"

	"golnx/providers"
	"golnx/providers/fierr"
)

// Rail describes one rail of an endpoint to be opened.
type Rail struct {
	// Info is what Core.Rails answers. Some fields get a value if they are
	// zero: Provider and Fabric "sim", Domain "sim0" for the first rail and so
	// on, InjectSize 64, MaxMsgSize 1 GiB, IOVLimit 4, TxSize 256, CQDataSize
	// 8, and NIC.Speed the Rate.
	providers.Info
	// Rate is how fast the rail sends, in bit/s; 0 takes no time. It receives
	// at any rate.
	Rate uint64
	// Latency is how many nanoseconds a message is under way after its last
	// byte left.
	Latency int64
	// Jitter is the most by which that is longer, drawn for each message.
	Jitter int64
	// MaxPeers is how many addresses Insert takes; 0 is any number.
	MaxPeers int
}

func (r Rail) withDefaults(index int) Rail {
	text := func(s *string, def string) {
		if *s == "" {
			*s = def
		}
	}
	text(&r.Provider, "sim")
	text(&r.Fabric, "sim")
	text(&r.Domain, fmt.Sprintf("sim%d", index))
	number := func(n *uint64, def uint64) {
		if *n == 0 {
			*n = def
		}
	}
	number(&r.InjectSize, 64)
	number(&r.MaxMsgSize, 1<<30)
	number(&r.TxSize, 256)
	number(&r.CQDataSize, 8)
	number(&r.NIC.Speed, r.Rate)
	if r.IOVLimit == 0 {
		r.IOVLimit = providers.MaxIOV
	}
	return r
}

func (r *Rail) validate() error {
	if r.IOVLimit < 1 || r.IOVLimit > providers.MaxIOV {
		return fmt.Errorf("%d buffers (IOVLimit): 1 to %d are possible: %w", r.IOVLimit, providers.MaxIOV, fierr.EInval)
	}
	if r.Latency < 0 || r.Jitter < 0 || r.MaxPeers < 0 {
		return fmt.Errorf("one of latency %d ns, jitter %d ns and MaxPeers %d is negative: %w", r.Latency, r.Jitter, r.MaxPeers, fierr.EInval)
	}
	return nil
}

// rail is an opened rail.
type rail struct {
	Rail
	core  *Core
	index int
	addr  string

	// Guarded by the endpoint's progress lock.
	av     av
	queued uint64 // sends that the owner has no completion for yet
	busy   int64  // time until which the rail sends
	part   uint64 // and the part of a nanosecond beyond, in 1/Rate

	// Guarded by Fabric.mu.
	up, closed bool
	loss       Loss
	downs      int // times it went down, which each ends what is under way
	out        queue[*message]
	due        queue[due]
}

type dueKind uint8

const (
	sent     dueKind = iota
	received         // a message
	broken           // the rail went down with Fail
)

// due is something for the owner to take in.
type due struct {
	at   int64
	seq  uint64
	m    *message // received
	op   txRef    // sent
	err  fierr.Errno
	kind dueKind
}

func (d *due) before(o *due) bool { return d.at < o.at || d.at == o.at && d.seq < o.seq }

// txRef is what a completion repeats of a send.
type txRef struct {
	tag  uint64
	slot providers.Slot
	gen  uint16
	msg  bool // untagged
}

// kind is the flag of its completion.
func (t txRef) kind() uint64 {
	if t.msg {
		return providers.FlagMsg
	}
	return providers.FlagTagged
}

// tell leaves something for the owner; Fabric.mu is held.
func (r *rail) tell(d due) {
	d.at, d.seq = r.core.fabric.now, r.core.fabric.next()
	r.due.push(d)
}

// end completes the send of a message; Fabric.mu is held.
func (r *rail) end(m *message, err fierr.Errno) {
	if !m.probe {
		r.tell(due{kind: sent, op: m.op, err: err})
	}
}

// send answers when the last of n more bytes will have left, if they are handed
// over now. Parts of a nanosecond are carried on, so that the rate is met however
// small the messages are.
func (r *rail) send(now int64, n uint64) int64 {
	if r.busy < now {
		r.busy, r.part = now, 0
	}
	if r.Rate > 0 {
		hi, lo := bits.Mul64(n, 8e9)
		lo, carry := bits.Add64(lo, r.part, 0)
		ns, part := bits.Div64((hi+carry)%r.Rate, lo, r.Rate)
		r.busy, r.part = r.busy+int64(ns), part
	}
	return r.busy
}

// accepts checks a send as far as the rail's own limits go.
func (r *rail) accepts(op *providers.SendOp) (size uint64, err error) {
	if op.Count < 0 || op.Count > r.IOVLimit || r.av.addr(op.Dest) == "" {
		return 0, fierr.EInval
	}
	for _, b := range op.IOV[:op.Count] {
		size += uint64(b.Len)
	}
	if size > r.MaxMsgSize || op.Flags&providers.FlagInject != 0 && size > r.InjectSize {
		return 0, fierr.EMsgSize
	}
	return size, nil
}
