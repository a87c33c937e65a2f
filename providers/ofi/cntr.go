package ofi

/*
#include "cntr.h"
*/
import "C"

import (
	"unsafe"

	"golnx/providers"
)

var _ providers.RemoteCounter = (*Core)(nil)

// PeerCounters are a provider's counters of what peers do with an endpoint's memory,
// which count in our memory (fi_cntr(3), fi_peer(3)).
type PeerCounters struct{ c *C.struct_gx_cntrs }

// openPeerCounters calls fi_cntr_open(3) with FI_PEER for reads and writes, and binds them
// to the rail's endpoint.
func openPeerCounters(d *Domain, rail *C.struct_gx_rail) (*PeerCounters, error) {
	cs := &PeerCounters{}
	if ret := int(C.gx_cntrs_open(d.c, rail.ep, &cs.c)); ret != 0 {
		return cs, fail("fi_cntr_open", ret, "peer counters of remote reads and writes")
	}
	return cs, nil
}

// Close calls fi_close(3), for after the endpoint's. Closing twice does nothing.
func (cs *PeerCounters) Close() error {
	if cs == nil || cs.c == nil {
		return nil
	}
	if ret := int(C.gx_cntrs_close(cs.c)); ret != 0 {
		return fail("fi_close", ret, "peer counter")
	}
	cs.c = nil
	return nil
}

// countsRemotely says whether a provider was asked to count what peers do, and does.
func countsRemotely(info *Info) bool {
	return info.Caps&C.FI_RMA_EVENT != 0 && info.Hints.Caps&C.FI_RMA_EVENT != 0
}

// RemoteEvents implements [providers.RemoteCounter].
func (c *Core) RemoteEvents(rail int) (e providers.RemoteEvents, ok bool) {
	cs := c.rails[rail].cntrs
	if cs == nil {
		return e, false
	}
	of := (*[C.GX_CNTRS]C.struct_gx_cntr)(unsafe.Pointer(&cs.c.of))
	reads, writes := &of[C.GX_READS], &of[C.GX_WRITES]
	return providers.RemoteEvents{
		Reads: uint64(reads.n), ReadErrs: uint64(reads.errs), Writes: uint64(writes.n), WriteErrs: uint64(writes.errs),
	}, true
}
