package mr

import "golnx/internal/bitnames"

// Access says what memory may be used for, with the bits of fi_mr(3).
type Access uint64

// The kinds of access. Send, Recv, Read and Write are uses by operations of this
// endpoint; RemoteRead and RemoteWrite are uses by peers that hold the key.
const (
	Read        Access = 1 << 8  // FI_READ: an RMA read or fetching atomic puts its result here
	Write       Access = 1 << 9  // FI_WRITE: an RMA write or atomic takes its data from here
	Recv        Access = 1 << 10 // FI_RECV: messages are received into it
	Send        Access = 1 << 11 // FI_SEND: messages are sent from it
	RemoteRead  Access = 1 << 12 // FI_REMOTE_READ: peers read it
	RemoteWrite Access = 1 << 13 // FI_REMOTE_WRITE: peers write it, by RMA or atomics

	LocalAccess  = Send | Recv | Read | Write
	RemoteAccess = RemoteRead | RemoteWrite
)

var accessNames = []bitnames.Name[Access]{
	{Bit: Send, Name: "send"}, {Bit: Recv, Name: "recv"}, {Bit: Read, Name: "read"}, {Bit: Write, Name: "write"},
	{Bit: RemoteRead, Name: "remote_read"}, {Bit: RemoteWrite, Name: "remote_write"},
}

// String names the bits, as "send|recv"; no bits are "none".
func (a Access) String() string { return bitnames.Join(a, accessNames, "none") }

// check says what is wrong with a where only the bits of allowed are possible.
func (a Access) check(allowed Access) error {
	if a == 0 || a&^allowed != 0 {
		return invalid("access %v: want some of %v", a, allowed)
	}
	return nil
}
