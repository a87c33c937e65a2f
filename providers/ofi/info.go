package ofi

/*
#include <stdlib.h>
#include <string.h>
#include "shim.h"

// The bit-fields and enums that Go cannot set.
static void gx_hint(struct fi_info *hints, uint32_t type, uint32_t threading, uint32_t av_type,
		    uint32_t control_progress, uint32_t progress)
{
	hints->ep_attr->type = type;
	hints->domain_attr->threading = threading;
	hints->domain_attr->av_type = av_type;
	hints->domain_attr->control_progress = control_progress;
	hints->domain_attr->data_progress = progress;
}
*/
import "C"

import (
	"runtime"
	"unsafe"

	"golnx/providers"
	"golnx/providers/fierr"
	"golnx/providers/fiinfo"
)

// Capabilities of fi_getinfo(3) that a rail is opened with.
const caps = C.FI_TAGGED | C.FI_MSG | C.FI_PEER | C.FI_SOURCE | C.FI_DIRECTED_RECV

// Info is one answer of fi_getinfo(3): the attributes in Go, and libfabric's own
// copy for opening. It is immutable and safe for concurrent use.
type Info struct {
	providers.Info
	// Hints are what was asked for.
	Hints *fiinfo.Info
	c     *C.struct_fi_info
	sink  uint64 // of direct mode
}

// Hints are what a link asks a provider for. With FI_THREAD_DOMAIN and
// FI_PROGRESS_CONTROL_UNIFIED libfabric leaves out all its locks: all calls come with
// the endpoint's progress lock held, and a domain has one endpoint.
func Hints(traits providers.Traits) *fiinfo.Info {
	return &fiinfo.Info{
		Caps:   caps,
		Mode:   C.FI_CONTEXT | C.FI_CONTEXT2,
		EP:     fiinfo.EP{Type: C.FI_EP_RDM},
		Fabric: fiinfo.Fabric{Provider: traits.Name},
		Domain: fiinfo.Domain{
			MRMode: fiinfo.MRMode(traits.MRMode), Threading: C.FI_THREAD_DOMAIN, AVType: C.FI_AV_TABLE, ControlProgress: C.FI_PROGRESS_CONTROL_UNIFIED, Progress: C.FI_PROGRESS_MANUAL,
		},
	}
}

// Discover answers what a provider offers: one Info per domain and address. A provider
// that is not built in, or finds no device, answers none and no error. Of the hints it
// passes on what [Hints] sets, the operation flags, orders and sizes of tx_attr and
// rx_attr, and the domain's name.
func Discover(traits providers.Traits, ask *fiinfo.Info) ([]*Info, error) {
	if err := Load(); err != nil {
		return nil, err
	}
	hints := C.fi_allocinfo()
	if hints == nil {
		return nil, fail("fi_allocinfo", -int(fierr.ENoMem), "%s", traits.Name)
	}
	defer C.fi_freeinfo(hints)
	setHints(hints, ask)

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
	levels := rmaLevels(ask)
	seen := map[string]bool{}
	for c := list; c != nil; c = c.next {
		info := newInfo(c, traits)
		info.Hints, info.Levels = ask, levels
		if ask.Caps&C.FI_PEER == 0 {
			direct(info, traits)
		}
		key := info.Domain + "\x00" + info.Fabric + "\x00" + string(info.Addr)
		// rxm answers each domain and address several times
		if info.Provider != traits.Name || seen[key] {
			continue
		}
		seen[key] = true
		if info.c = C.fi_dupinfo(c); info.c == nil {
			return nil, fail("fi_dupinfo", -int(fierr.ENoMem), "%s", info.Name())
		}
		// fi_getinfo of 2.1 checks this hint, and does not pass it on.
		info.c.domain_attr.control_progress = hints.domain_attr.control_progress
		runtime.AddCleanup(info, func(c *C.struct_fi_info) { C.fi_freeinfo(c) }, info.c)
		infos = append(infos, info)
	}
	return infos, nil
}

// setHints fills in what fi_allocinfo(3) made. fi_freeinfo(3) frees the strings.
func setHints(c *C.struct_fi_info, ask *fiinfo.Info) {
	c.caps, c.mode = C.uint64_t(ask.Caps), C.uint64_t(ask.Mode)
	c.domain_attr.mr_mode = C.int(ask.Domain.MRMode)
	C.gx_hint(c, C.uint32_t(ask.EP.Type), C.uint32_t(ask.Domain.Threading), C.uint32_t(ask.Domain.AVType),
		C.uint32_t(ask.Domain.ControlProgress), C.uint32_t(ask.Domain.Progress))
	tx, rx := c.tx_attr, c.rx_attr
	tx.op_flags, tx.msg_order, tx.inject_size, tx.size = C.uint64_t(ask.TX.OpFlags), C.uint64_t(ask.TX.MsgOrder), C.size_t(ask.TX.InjectSize), C.size_t(ask.TX.Size)
	rx.op_flags, rx.msg_order, rx.size = C.uint64_t(ask.RX.OpFlags), C.uint64_t(ask.RX.MsgOrder), C.size_t(ask.RX.Size)
	if ask.Fabric.Provider != "" {
		c.fabric_attr.prov_name = C.CString(ask.Fabric.Provider)
	}
	if ask.Domain.Name != "" {
		c.domain_attr.name = C.CString(ask.Domain.Name)
	}
}

func newInfo(c *C.struct_fi_info, traits providers.Traits) *Info {
	info := &Info{Info: providers.Info{
		Provider:       C.GoString(c.fabric_attr.prov_name),
		Fabric:         C.GoString(c.fabric_attr.name),
		Domain:         C.GoString(c.domain_attr.name),
		AddrFormat:     providers.AddrFormat(c.addr_format),
		Addr:           C.GoBytes(c.src_addr, C.int(c.src_addrlen)),
		Caps:           providers.Caps(c.caps),
		Mode:           uint64(c.mode),
		MRMode:         providers.MRMode(c.domain_attr.mr_mode),
		MsgOrder:       uint64(c.tx_attr.msg_order & c.rx_attr.msg_order),
		InjectSize:     uint64(c.tx_attr.inject_size),
		MaxMsgSize:     uint64(c.ep_attr.max_msg_size),
		IOVLimit:       min(providers.MaxIOV, int(c.tx_attr.iov_limit), int(c.rx_attr.iov_limit)),
		MRKeySize:      int(c.domain_attr.mr_key_size),
		TxSize:         uint64(c.tx_attr.size),
		CQDataSize:     uint64(c.domain_attr.cq_data_size),
		NodeLocal:      traits.NodeLocal,
		InjectArrives:  traits.InjectArrives,
		NICAtomics:     traits.NICAtomics,
		FetchToConfirm: traits.FetchToConfirm,
		ForgetsFetches: traits.ForgetsFetches,
	}}
	if info.Caps&providers.CapRMA != 0 {
		info.RMAIOVLimit = min(providers.MaxIOV, int(c.tx_attr.rma_iov_limit))
	}
	info.NIC = nicOf(c, info.Domain)
	info.Fetch = traits.Fetch
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
