package ofi

/*
#include "shim.h"
*/
import "C"

import (
	"unsafe"

	"golnx/providers"
)

// sendMsg is Send for an untagged message.
func (c *Core) sendMsg(rail, tx C.uintptr_t, op *providers.SendOp) error {
	dest, data, flags := C.uint64_t(op.Dest), C.uint64_t(op.Data), C.uint64_t(op.Flags&^providers.FlagMsg)
	if op.Count == 1 {
		return hot("fi_send", int(C.gx_send_msg(rail, handle(op.IOV[0].Base), C.size_t(op.IOV[0].Len), dest, data, flags, tx)))
	}
	c.scatter(op)
	return hot("fi_sendmsg", int(C.gx_sendv_msg(rail, C.size_t(op.Count), dest, data, flags, tx)))
}

// Probe implements [providers.Prober].
func (c *Core) Probe(rail int, dest uint64) error {
	return hot("fi_inject", int(C.gx_probe(handle(unsafe.Pointer(c.rails[rail].c)), C.uint64_t(dest))))
}
