package ofi

/*
#include "shim.h"
*/
import "C"

import (
	"unsafe"

	"golnx/providers"
	"golnx/providers/fierr"
	"golnx/providers/fiinfo"
)

// DirectHints are [Hints] for a rail whose provider matches messages itself: it need not
// have the peer interface, and untagged messages are not used.
func DirectHints(traits providers.Traits) *fiinfo.Info {
	hints := Hints(traits)
	hints.Caps &^= C.FI_PEER | C.FI_MSG
	return hints
}

// direct takes from an info what a rail in direct mode needs itself: one buffer, and
// the length of that.
func direct(info *Info, traits providers.Traits) {
	if traits.Sink == 0 {
		return
	}
	info.sink = traits.Sink
	info.IOVLimit--
	info.MaxMsgSize = min(info.MaxMsgSize, traits.Sink)
}

// matchItself makes what a rail in direct mode has besides.
func (r *rail) matchItself() error {
	r.c.direct = true
	if ret := int(C.gx_sink_open(r.c, C.uint64_t(r.info.sink))); ret != 0 {
		return fail("mmap", ret, "%d bytes of address space for what does not fit into receives over %s", r.info.sink, r.info.Name())
	}
	return nil
}

// Matches implements [providers.Matcher].
func (c *Core) Matches() bool { return c.opts.Direct }

// PostRecv implements [providers.Matcher].
func (c *Core) PostRecv(slot providers.Slot, src, tag, ignore, flags uint64) error {
	r, rx := handle(unsafe.Pointer(c.rails[0].c)), handle(unsafe.Pointer(c.rxAt(slot)))
	return hot("fi_trecvmsg", int(C.gx_post(r, rx, C.uint64_t(src), C.uint64_t(tag), C.uint64_t(ignore), C.uint64_t(flags))))
}

// CancelRecv implements [providers.Matcher].
func (c *Core) CancelRecv(slot providers.Slot) error {
	ret := int(C.gx_cancel(handle(unsafe.Pointer(c.rails[0].c)), handle(unsafe.Pointer(c.rxAt(slot)))))
	if ret == -int(fierr.ENoEnt) {
		return nil // it has met a message
	}
	return hot("fi_cancel", ret)
}

// DropUnexpected implements [providers.Matcher].
func (c *Core) DropUnexpected(src uint64) { C.gx_take(c.rails[0].c, C.uint64_t(src)) }
