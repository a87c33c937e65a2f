package providers

import (
	"fmt"
	"strings"
)

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
var capNames = [...]struct {
	bit  Caps
	name string
}{{CapTagged, "tagged"}, {CapRMA, "rma"}, {CapAtomic, "atomic"}, {CapRMAEvent, "rma_event"}}

// String names the bits that an application asks for, as "tagged|rma", and answers the
// rest as a number; no bits are "none".
func (c Caps) String() string {
	var names []string
	for _, n := range capNames {
		if c&n.bit != 0 {
			names = append(names, n.name)
			c &^= n.bit
		}
	}
	if c != 0 {
		names = append(names, fmt.Sprintf("%#x", uint64(c)))
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, "|")
}
