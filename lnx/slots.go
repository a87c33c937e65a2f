package lnx

import (
	"runtime"
	"unsafe"

	"golnx/providers"
	"golnx/providers/fierr"
)

// Go's half of the operations under way: C's half lies in the core's slabs,
// under the same slot numbers.

type rxState uint8

const (
	rxFree       rxState = iota
	rxPosted             // in the Core, or in package srq
	rxUnexpected         // in the SUQ
	rxClaimed            // taken out of the SUQ by a peek with claim
	rxActive             // handed to its provider, which will complete it
	rxStray              // a message on its way into the void
	rxAbandoned          // its completion was reported; the provider still has it
	// In direct mode, where the provider has all posted receives:
	rxPeeking  // a peek is under way
	rxClaiming // one that sets the message aside
	rxDropping // one that drops it
	rxDropped  // a claimed message on its way into the void, which is reported
)

type rxOp struct {
	ctx  any
	pin  runtime.Pinner
	buf  []byte   // of a small receive, which is copied into it in the end
	bufs [][]byte // of a receive that takes a message which is fetched
	from Addr     // of a posted receive: who it is for; of a message: who sent it
	tag  uint64
	// ignore is valid while the receive is posted.
	ignore uint64
	state  rxState
	rail   int8 // of a message
	fetch  fetchState
	quiet  bool // no completion unless it fails
	big    bool // in direct mode: counted in Endpoint.active
	// In direct mode: why the provider was asked for the receive back, and its age.
	why fierr.Errno
	age uint64
	msg bool // untagged
	// multi is set of a multi-receive, and of a message that goes into its buffer,
	// at off.
	multi *multiRecv
	off   int
}

// small says that it is a tagged receive whose message lies in its slot.
func (op *rxOp) small() bool { return op.buf != nil && !op.msg }

// kind is the flag of its completions.
func (op *rxOp) kind() Flags { return msgKind(op.msg) }

func msgKind(msg bool) Flags {
	if msg {
		return FlagMsg
	}
	return FlagTagged
}

type txState uint8

const (
	txFree txState = iota
	txActive
	txAbandoned
)

type txOp struct {
	ctx    any
	pin    runtime.Pinner
	peer   *peerState
	to     Addr
	len    uint64
	tag    uint64
	seq    uint64 // counts the endpoint's sends
	state  txState
	rail   int8
	pinned bool
	quiet  bool
	msg    bool // untagged
	// rma has the completion's flags if it is no send.
	rma    Flags
	held   *held     // what it uses of this side's and the peer's memory; nil if the rail needs nothing
	atomic *atomicOp // of an atomic operation, until its provider has done with it
}

// flags are those of the completion.
func (op *txOp) flags() Flags {
	if op.rma != 0 {
		return op.rma
	}
	return op.kind() | FlagSend
}

// kind is the flag of its completions.
func (op *txOp) kind() Flags { return msgKind(op.msg) }

const opChunk = 1024

// opTable grows by chunks, so that growing moves nothing.
type opTable[T any] struct{ chunks []*[opChunk]T }

func (t *opTable[T]) at(slot providers.Slot) *T {
	i := int(slot / opChunk)
	for i >= len(t.chunks) {
		t.chunks = append(t.chunks, new([opChunk]T))
	}
	return &t.chunks[i][slot%opChunk]
}

// all calls f for each operation that the table has room for.
func (t *opTable[T]) all(f func(providers.Slot, *T)) {
	for i, c := range t.chunks {
		for j := range c {
			f(providers.Slot(i*opChunk+j), &c[j])
		}
	}
}

// iovOf describes one buffer.
func iovOf(buf []byte) providers.IOVec {
	return providers.IOVec{Base: unsafe.Pointer(unsafe.SliceData(buf)), Len: uintptr(len(buf))}
}

// pinSlice pins a buffer's memory; slices without any need none.
func pinSlice(p *runtime.Pinner, buf []byte) {
	if cap(buf) > 0 {
		p.Pin(unsafe.SliceData(buf))
	}
}
