package ofi

/*
#include <stdlib.h>
#include <string.h>
#include "shim.h"

static void gx_hint(struct fi_info *hints, char *provider, uint64_t caps, int mr_mode)
{
	hints->caps = caps;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = provider;
	hints->domain_attr->mr_mode = mr_mode;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->av_type = FI_AV_TABLE;
	hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
}
*/
import "C"

import (
	"os"
	"runtime"
	"strconv"
	"unsafe"

	"golnx/providers"
	"golnx/providers/fierr"
)

// Capabilities of fi_getinfo(3) that a rail is opened with.
const caps = C.FI_TAGGED | C.FI_MSG | C.FI_PEER | C.FI_SOURCE | C.FI_DIRECTED_RECV

// Info is one answer of fi_getinfo(3): the attributes in Go, and libfabric's own
// copy for opening. It is immutable and safe for concurrent use.
type Info struct {
	providers.Info
	c *C.struct_fi_info
}

// Discover answers what a provider offers with the capabilities that a link
// needs: one Info per domain and address. A provider that is not built in, or
// finds no device, answers none and no error.
func Discover(traits providers.Traits) ([]*Info, error) {
	if err := Load(); err != nil {
		return nil, err
	}
	hints := C.fi_allocinfo()
	if hints == nil {
		return nil, fail("fi_allocinfo", -int(fierr.ENoMem), "%s", traits.Name)
	}
	defer C.fi_freeinfo(hints)
	C.gx_hint(hints, C.CString(traits.Name), caps, C.int(traits.MRMode))

	var list *C.struct_fi_info
	version := C.uint32_t(MinVersion.Major<<16 | MinVersion.Minor)
	ret := int(C.fi_getinfo(version, nil, nil, 0, hints, &list))
	if ret == -int(fierr.ENoData) {
		return nil, nil
	}
	if ret != 0 {
		return nil, fail("fi_getinfo", ret, "provider %s", traits.Name)
	}
	defer C.fi_freeinfo(list)

	var infos []*Info
	seen := map[string]bool{}
	for c := list; c != nil; c = c.next {
		info := newInfo(c, traits)
		key := info.Domain + "\x00" + info.Fabric + "\x00" + string(info.Addr)
		// rxm answers each domain and address several times
		if info.Provider != traits.Name || seen[key] {
			continue
		}
		seen[key] = true
		if info.c = C.fi_dupinfo(c); info.c == nil {
			return nil, fail("fi_dupinfo", -int(fierr.ENoMem), "%s", info.Name())
		}
		runtime.AddCleanup(info, func(c *C.struct_fi_info) { C.fi_freeinfo(c) }, info.c)
		infos = append(infos, info)
	}
	return infos, nil
}

func newInfo(c *C.struct_fi_info, traits providers.Traits) *Info {
	info := &Info{Info: providers.Info{
		Provider:   C.GoString(c.fabric_attr.prov_name),
		Fabric:     C.GoString(c.fabric_attr.name),
		Domain:     C.GoString(c.domain_attr.name),
		AddrFormat: providers.AddrFormat(c.addr_format),
		Addr:       C.GoBytes(c.src_addr, C.int(c.src_addrlen)),
		Caps:       providers.Caps(c.caps),
		Mode:       uint64(c.mode),
		MRMode:     providers.MRMode(c.domain_attr.mr_mode),
		MsgOrder:   uint64(c.tx_attr.msg_order & c.rx_attr.msg_order),
		InjectSize: uint64(c.tx_attr.inject_size),
		MaxMsgSize: uint64(c.ep_attr.max_msg_size),
		IOVLimit:   min(providers.MaxIOV, int(c.tx_attr.iov_limit), int(c.rx_attr.iov_limit)),
		TxSize:     uint64(c.tx_attr.size),
		CQDataSize: uint64(c.domain_attr.cq_data_size),
		NodeLocal:  traits.NodeLocal,
	}}
	info.NIC = nicOf(c, info.Domain)
	info.FetchAbove = traits.Eager
	if n, err := strconv.ParseUint(os.Getenv(traits.EagerEnv), 10, 64); err == nil && traits.Eager > 0 {
		info.FetchAbove = min(info.FetchAbove, n) // to fetch more than necessary does no harm
	}
	return info
}

func nicOf(c *C.struct_fi_info, domain string) providers.NIC {
	if c.nic == nil {
		return sysfsNIC("/sys", domain)
	}
	nic := providers.NIC{NUMA: -1}
	if a := c.nic.device_attr; a != nil {
		nic.Device, nic.Driver = text(a.name), text(a.driver)
	}
	if a := c.nic.link_attr; a != nil {
		nic.Speed, nic.MTU = uint64(a.speed), uint64(a.mtu)
		switch a.state {
		case C.FI_LINK_UP:
			nic.State = "up"
		case C.FI_LINK_DOWN:
			nic.State = "down"
		}
	}
	if a := c.nic.bus_attr; a != nil && a.bus_type == C.FI_BUS_PCI {
		pci := (*C.struct_fi_pci_attr)(unsafe.Pointer(&a.attr))
		nic.PCI = pciName(uint16(pci.domain_id), uint8(pci.bus_id), uint8(pci.device_id), uint8(pci.function_id))
		nic.NUMA = sysfsNUMA("/sys", nic.PCI)
	}
	return nic
}

func text(s *C.char) string {
	if s == nil {
		return ""
	}
	return C.GoString(s)
}
