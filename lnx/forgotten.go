package lnx

import "golnx/providers/fierr"

// failForgotten fails the atomics under way with a peer when something else has failed,
// on a rail that says nothing of them when a connection breaks. The failures of a broken
// connection come together, so that whatever was handed over before has gone with it.
//
// What breaks a connection without anything else to fail is not seen.
func (ep *Endpoint) failForgotten(r int, to Addr, why fierr.Errno) {
	if !ep.link.Rails[r].ForgetsFetches || len(ep.atomics.free) == ep.atomics.made {
		return
	}
	for _, chunk := range ep.tx.chunks {
		for i := range chunk {
			if op := &chunk[i]; op.state == txActive && op.atomic != nil && int(op.rail) == r && op.to == to {
				ep.abandonSend(op, why)
			}
		}
	}
}
