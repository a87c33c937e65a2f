package ofi

/*
#include <stdlib.h>
#include "atomic.h"
*/
import "C"

import (
	"unsafe"

	"golnx/providers"
	"golnx/providers/fierr"
)

var _ providers.AtomicCore = (*Core)(nil)

// Both sides have to agree.
var (
	_ [providers.AtomicDiff]byte = [C.FI_DIFF]byte{}
	_ [providers.Float8E5M2]byte = [C.FI_FLOAT8_E5M2]byte{}
)

// ioc is struct fi_ioc with an integer for the address, as iovec.
type ioc struct{ base, count uintptr }

// Atomic implements [providers.AtomicCore] (fi_atomicmsg(3), fi_fetch_atomicmsg(3),
// fi_compare_atomicmsg(3)). Buffers go to C as integers, as in Send.
func (c *Core) Atomic(rail int, call *providers.AtomicCall) error {
	if c.atomic == nil {
		if c.atomic = (*C.struct_gx_atomic)(C.calloc(1, C.sizeof_struct_gx_atomic)); c.atomic == nil {
			return fierr.ENoMem
		}
	}
	a, size := c.atomic, uintptr(call.Type.Size())
	c.atomicSide(C.GX_OPERANDS, &call.Operands, size)
	c.atomicSide(C.GX_COMPARE, &call.Compare, size)
	c.atomicSide(C.GX_RESULT, &call.Result, size)
	for i, at := range call.Remote[:call.RemoteCount] {
		a.remote[i] = C.struct_fi_rma_ioc{addr: C.uint64_t(at.Addr), count: C.size_t(at.Len) / C.size_t(size), key: C.uint64_t(at.Key)}
	}
	a.remote_count = C.size_t(call.RemoteCount)
	a.dest, a.flags = C.uint64_t(call.Dest), C.uint64_t(call.Flags)
	a.kind, a.op, a._type = C.uint32_t(call.Kind), C.uint32_t(call.Op), C.uint32_t(call.Type)
	r, tx := handle(unsafe.Pointer(c.rails[rail].c)), handle(unsafe.Pointer(c.txAt(call.Slot)))
	return hot(atomicNames[call.Kind], int(C.gx_atomic(r, handle(unsafe.Pointer(a)), tx)))
}

var atomicNames = [providers.NumAtomicKinds]string{"fi_atomic", "fi_fetch_atomic", "fi_compare_atomic"}

func (c *Core) atomicSide(side int, bufs *providers.AtomicBufs, size uintptr) {
	s := &c.atomic.side[side]
	iov := (*[providers.MaxIOV]ioc)(unsafe.Pointer(&s.iov))
	desc := (*[providers.MaxIOV]uintptr)(unsafe.Pointer(&s.desc))
	for i, b := range bufs.IOV[:bufs.Count] {
		iov[i] = ioc{uintptr(b.Base), b.Len / size}
		desc[i] = bufs.Desc[i]
	}
	s.count = C.size_t(bufs.Count)
}

// QueryAtomic implements [providers.AtomicCore].
func (c *Core) QueryAtomic(rail int, kind providers.AtomicKind, op providers.AtomicOp, typ providers.Datatype) (int, error) {
	return c.rails[rail].domain.QueryAtomic(kind, op, typ)
}

// QueryAtomic calls fi_query_atomic(3). A datatype that has another size there than here
// is not supported.
func (d *Domain) QueryAtomic(kind providers.AtomicKind, op providers.AtomicOp, typ providers.Datatype) (int, error) {
	if !kind.Takes(op) || !typ.Valid() {
		return 0, fierr.EOpNotSupp
	}
	var attr C.struct_fi_atomic_attr
	if ret := int(C.gx_query_atomic(d.c, C.uint32_t(kind), C.uint32_t(op), C.uint32_t(typ), &attr)); ret != 0 {
		if ret == -int(fierr.ENoSys) {
			return 0, fierr.EOpNotSupp
		}
		return 0, fierr.Errno(-ret)
	}
	if int(attr.size) != typ.Size() || attr.count == 0 {
		return 0, fierr.EOpNotSupp
	}
	return int(attr.count), nil
}
