package ofi

/*
#include "mr.h"

static uintptr_t gx_mr_desc(struct fid_mr *mr) { return (uintptr_t) fi_mr_desc(mr); }
*/
import "C"

import (
	"unsafe"

	"golnx/mr"
	"golnx/providers"
	"golnx/providers/fierr"
)

// capHMEM is FI_HMEM.
const capHMEM = providers.Caps(C.FI_HMEM)

// Registrar answers a rail's domain as a place to register memory with. It is the same
// value each time, and is used with the progress lock held, until the Core closes.
func (c *Core) Registrar(rail int) mr.Registrar {
	if c.infos[rail].MRMode&mr.ModeRaw != 0 {
		return rawRegistrar{registrar{c.rails[rail]}}
	}
	return registrar{c.rails[rail]}
}

// registrar implements mr.Registrar.
type registrar struct{ rail *rail }

func (r registrar) Attr() mr.DomainAttr {
	info := &r.rail.info.Info
	hmem := info.Caps&capHMEM != 0
	return mr.DomainAttr{Mode: info.MRMode, KeySize: info.MRKeySize, HMEM: hmem, DMABuf: hmem}
}

func (r registrar) Register(attr *mr.Attr) (mr.Registration, error) {
	return r.register(attr, r)
}

// register answers a registration that names by as its domain.
func (r registrar) register(attr *mr.Attr, by mr.Registrar) (mr.Registration, error) {
	mem := &attr.Memory
	a := C.struct_gx_mr_attr{
		base: C.uintptr_t(uintptr(mem.Base)), len: C.size_t(mem.Len), access: C.uint64_t(attr.Access),
		key: C.uint64_t(attr.RequestedKey), device: C.uint64_t(mem.Device), flags: C.uint64_t(mem.Flags),
		iface: C.uint32_t(mem.Iface), fd: -1,
	}
	if mem.DMABuf != nil {
		a.fd, a.offset = C.int(mem.DMABuf.FD), C.uint64_t(mem.DMABuf.Offset)
	}
	out := &registration{by: by, rail: r.rail}
	if ret := int(C.gx_mr_reg(r.rail.domain.c, &a, &out.c)); ret != 0 {
		return nil, fail("fi_mr_regattr", ret, "%s", r.rail.info.Name())
	}
	return out, nil
}

// registration implements mr.Registration.
type registration struct {
	by   mr.Registrar
	rail *rail
	c    *C.struct_fid_mr
}

func (m *registration) Domain() mr.Registrar { return m.by }
func (m *registration) Desc() uintptr        { return uintptr(C.gx_mr_desc(m.c)) }
func (m *registration) Key() uint64          { return uint64(C.fi_mr_key(m.c)) }

func (m *registration) RawKey() (uint64, []byte, error) {
	var base C.uint64_t
	buf := make([]byte, mr.MaxRawKey)
	n := C.size_t(len(buf))
	if ret := int(C.fi_mr_raw_attr(m.c, &base, (*C.uint8_t)(unsafe.Pointer(&buf[0])), &n, 0)); ret != 0 {
		return 0, nil, fail("fi_mr_raw_attr", ret, "%s", m.rail.info.Name())
	}
	if int(n) > len(buf) {
		return 0, nil, fail("fi_mr_raw_attr", -int(fierr.ETooSmall), "%s: a key of %d bytes", m.rail.info.Name(), n)
	}
	return uint64(base), buf[:n:n], nil
}

func (m *registration) BindEndpoint() error {
	if ret := int(C.gx_mr_bind(m.c, m.rail.c)); ret != 0 {
		return fail("fi_mr_bind", ret, "%s", m.rail.info.Name())
	}
	return nil
}

func (m *registration) Enable() error {
	if ret := int(C.fi_mr_enable(m.c)); ret != 0 {
		return fail("fi_mr_enable", ret, "%s", m.rail.info.Name())
	}
	return nil
}

func (m *registration) Close() error { return closeFID(&m.c, "memory registration") }

// rawRegistrar is a registrar whose keys are longer than 64 bits.
type rawRegistrar struct{ registrar }

func (r rawRegistrar) Register(attr *mr.Attr) (mr.Registration, error) { return r.register(attr, r) }

func (r rawRegistrar) MapRaw(base uint64, raw []byte) (uint64, error) {
	var key C.uint64_t
	ret := int(C.fi_mr_map_raw(r.rail.domain.c, C.uint64_t(base), (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(raw))), C.size_t(len(raw)), &key, 0))
	if ret != 0 {
		return 0, fail("fi_mr_map_raw", ret, "%s", r.rail.info.Name())
	}
	return uint64(key), nil
}

func (r rawRegistrar) UnmapKey(key uint64) error {
	if ret := int(C.fi_mr_unmap_key(r.rail.domain.c, C.uint64_t(key))); ret != 0 {
		return fail("fi_mr_unmap_key", ret, "%s", r.rail.info.Name())
	}
	return nil
}
