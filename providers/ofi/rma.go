package ofi

/*
#include "shim.h"
*/
import "C"

import (
	"unsafe"

	"golnx/providers"
	"golnx/providers/fiinfo"
)

var _ providers.RMAer = (*Core)(nil)

// RMA implements [providers.RMAer] (fi_read(3), fi_write(3), fi_readmsg(3),
// fi_writemsg(3)). Buffers go to C as integers, as in Send.
func (c *Core) RMA(rail int, op *providers.RMAOp) error {
	r, tx := handle(unsafe.Pointer(c.rails[rail].c)), handle(unsafe.Pointer(c.txAt(op.Slot)))
	dest, write := C.uint64_t(op.Dest), C.bool(op.Write)
	if op.Count == 1 && op.RemoteCount == 1 && op.Flags == 0 {
		at := &op.Remote[0]
		return hot(rmaName(op), int(C.gx_rma(r, write, handle(op.IOV[0].Base), C.size_t(op.IOV[0].Len),
			C.uintptr_t(op.Desc[0]), dest, C.uint64_t(at.Addr), C.uint64_t(at.Key), tx)))
	}
	iov := (*[providers.MaxIOV]iovec)(unsafe.Pointer(&c.c.iov))
	desc := (*[providers.MaxIOV]uintptr)(unsafe.Pointer(&c.c.desc))
	for i := range op.Count {
		iov[i] = iovec{uintptr(op.IOV[i].Base), op.IOV[i].Len}
		desc[i] = op.Desc[i]
	}
	for i := range op.RemoteCount {
		at := &op.Remote[i]
		c.c.remote[i] = C.struct_fi_rma_iov{addr: C.uint64_t(at.Addr), len: C.size_t(at.Len), key: C.uint64_t(at.Key)}
	}
	return hot(rmaName(op), int(C.gx_rmamsg(r, write, C.size_t(op.Count), C.size_t(op.RemoteCount),
		dest, C.uint64_t(op.Data), C.uint64_t(op.Flags), tx)))
}

func rmaName(op *providers.RMAOp) string {
	if op.Write {
		return "fi_write"
	}
	return "fi_read"
}

// rmaLevels answers the completion levels that a provider offers: those that it answers
// hints with (tx_attr.op_flags).
func rmaLevels(ask *fiinfo.Info) (levels uint64) {
	if providers.Caps(ask.Caps)&providers.CapRMA == 0 {
		return 0
	}
	for _, level := range []uint64{providers.FlagInjectComplete, providers.FlagTransmitComplete, providers.FlagDeliveryComplete} {
		with := *ask
		with.TX.OpFlags |= fiinfo.OpFlags(level)
		if offered(&with) {
			levels |= level
		}
	}
	return levels
}

// offered says whether fi_getinfo(3) has an answer.
func offered(ask *fiinfo.Info) bool {
	hints := C.fi_allocinfo()
	if hints == nil {
		return false
	}
	defer C.fi_freeinfo(hints)
	setHints(hints, ask)
	var list *C.struct_fi_info
	version := C.uint32_t(MinVersion.Major<<16 | MinVersion.Minor)
	if C.fi_getinfo(version, nil, nil, 0, hints, &list) != 0 {
		return false
	}
	C.fi_freeinfo(list)
	return true
}
