package intercept

import (
	"golnx/providers"
	"golnx/providers/fiinfo"
	"golnx/rail"
)

// Endpoint is what hooks see of an endpoint of a link.
type Endpoint struct {
	// ID is the endpoint's number in this process, from 1.
	ID uint64
	// Link is the link's name.
	Link string
	// Address is the printable form of the endpoint's address; no other endpoint has
	// the same.
	Address string
	Rails   []*Rail
}

// Rail is what hooks see of a rail. It is the same pointer in every call.
type Rail struct {
	// Endpoint is the rail's endpoint. Its Address is set when it is created.
	Endpoint *Endpoint
	// Index is the rail's place in the link; -1 stands for the link as a whole.
	Index int
	Info  rail.Info
	// Device is the NIC's name (cxi0, mlx5_0, eth0), or the domain's if there is no
	// device.
	Device string
}

// Remote is the other end of a path. It is the same pointer in every call.
type Remote struct {
	// Peer is the Addr of the peer in the endpoint's AV.
	Peer uint64
	// Address is the printable form of the peer's address (its Endpoint.Address).
	Address string
	// Device is the peer's NIC, or what names it best.
	Device string
}

// Send is a call that sends a message (fi_tsend(3), fi_send(3) and their kin).
type Send struct {
	Op Op
	To *Remote
	// IOV is the buffers. The memory is the caller's until the completion.
	IOV [][]byte
	Tag uint64
	// Data goes with the message if Flags have FI_REMOTE_CQ_DATA.
	Data  uint64
	Flags uint64
	// Context comes back in the completion. What a hook puts in here it takes out
	// again in Complete.
	Context any
}

// Len is the number of bytes of the message.
func (s *Send) Len() int { return total(s.IOV) }

// Recv is a call that posts a receive, or peeks (fi_trecv(3), fi_recv(3) and kin).
type Recv struct {
	Op Op
	// From is the Addr of the sender, ^0 for any (FI_ADDR_UNSPEC).
	From        uint64
	IOV         [][]byte
	Tag, Ignore uint64
	Flags       uint64
	Context     any
	// Result is the completion of a receive that a hook answers itself, without next:
	// it has filled the buffers and says here with what.
	Result Entry
}

// Len is the number of bytes of the buffers.
func (r *Recv) Len() int { return total(r.IOV) }

// RMA is a read or write of remote memory (fi_rma(3)).
type RMA struct {
	Op  Op
	To  *Remote
	IOV [][]byte
	// Remote is what is read or written there.
	Remote []RemoteIOV
	Data   uint64
	Flags  uint64
	// Context comes back in the completion.
	Context any
}

// Len is the number of bytes moved.
func (r *RMA) Len() int { return total(r.IOV) }

// RemoteIOV is struct fi_rma_iov.
type RemoteIOV struct{ Addr, Len, Key uint64 }

// Atomic is an atomic operation on remote memory (fi_atomic(3)).
type Atomic struct {
	Op Op
	To *Remote
	// Do is the operation and Type the elements' type (enum fi_op and fi_datatype).
	Do   providers.AtomicOp
	Type providers.Datatype
	// Operands are the elements to do it with, Compare what to compare with. Result is
	// filled with what was there before, when it completes.
	Operands, Compare, Result [][]byte
	// Remote is what it is done to, with lengths in bytes.
	Remote []RemoteIOV
	Flags  uint64
	// Context comes back in the completion.
	Context any
}

// Len is the number of bytes that are changed or fetched there.
func (a *Atomic) Len() int { return max(total(a.Operands), total(a.Result)) }

// Completion is the end of an operation.
type Completion struct {
	Entry
	// Err is 0 or an error number (package fierr).
	Err int
}

// Entry is one completion (struct fi_cq_tagged_entry).
type Entry struct {
	// Context is what the operation was called with.
	Context any
	Flags   uint64
	// Len is the number of bytes received; 0 for sends.
	Len int
	// Tag is the message's.
	Tag uint64
	// Data is valid with FI_REMOTE_CQ_DATA.
	Data uint64
	// Src is the sender, ^0 if it is not in the AV.
	Src uint64
	// Off is where in the buffer of a multi-receive the message begins.
	Off int
}

// GetInfo is a call of fi_getinfo(3).
type GetInfo struct {
	Provider string
	Hints    *fiinfo.Info
	// Results are the answers, after next.
	Results []*fiinfo.Info
}

// CQOpen is a call of fi_cq_open(3).
type CQOpen struct {
	// Size is the number of entries asked for.
	Size int
}

func total(iov [][]byte) int {
	n := 0
	for _, b := range iov {
		n += len(b)
	}
	return n
}
