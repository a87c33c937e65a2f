package providers

import "golnx/internal/bitnames"

// Caps has the capability bits of fi_getinfo(3).
type Caps uint64

// The capabilities that an application asks a link for.
const (
	CapRMA    Caps = 1 << 2 // FI_RMA: reads and writes of peers' memory
	CapTagged Caps = 1 << 3 // FI_TAGGED: tagged messages
	CapAtomic Caps = 1 << 4 // FI_ATOMIC: atomic operations on peers' memory

	CapRMAEvent Caps = 1 << 56 // FI_RMA_EVENT: what peers do with memory is counted
)

// capNames has what can be asked for.
var capNames = []bitnames.Name[Caps]{
	{Bit: CapTagged, Name: "tagged"}, {Bit: CapRMA, Name: "rma"}, {Bit: CapAtomic, Name: "atomic"}, {Bit: CapRMAEvent, Name: "rma_event"},
}

// String names the bits that an application asks for, as "tagged|rma", and answers the
// rest as a number; no bits are "none".
func (c Caps) String() string { return bitnames.Join(c, capNames, "none") }
