package providers

import "golnx/providers/fiinfo"

// Caps has the capability bits of fi_getinfo(3).
type Caps uint64

// The capabilities that an application asks a link for.
const (
	CapRMA    Caps = 1 << 2 // FI_RMA: reads and writes of peers' memory
	CapTagged Caps = 1 << 3 // FI_TAGGED: tagged messages
	CapAtomic Caps = 1 << 4 // FI_ATOMIC: atomic operations on peers' memory

	CapRMAEvent Caps = 1 << 56 // FI_RMA_EVENT: what peers do with memory is counted
)

// String names the bits as libfabric does, from the lowest: "FI_RMA|FI_TAGGED". A bit that
// libfabric has no name for is its value, and no bits are "none".
func (c Caps) String() string {
	if c == 0 {
		return "none"
	}
	return fiinfo.Caps(c).String()
}
