package ofi

/*
#include "shim.h"

static uint32_t gx_data_progress(const struct fi_domain_attr *attr) { return attr->data_progress; }

#if FI_MAJOR_VERSION > 2 || FI_MAJOR_VERSION == 2 && FI_MINOR_VERSION >= 5
static uint64_t gx_max_cntr(const struct fi_domain_attr *attr) { return attr->max_cntr_value; }
static uint64_t gx_max_err_cntr(const struct fi_domain_attr *attr) { return attr->max_err_cntr_value; }
#else
static uint64_t gx_max_cntr(const struct fi_domain_attr *attr) { return 0; }
static uint64_t gx_max_err_cntr(const struct fi_domain_attr *attr) { return 0; }
#endif
*/
import "C"

import (
	"unsafe"

	"golnx/providers/fiinfo"
)

// Attr answers all attributes of an info, a copy that is the caller's.
func Attr(info *Info) *fiinfo.Info { return attrOf(info.c) }

// attrOf copies a struct fi_info, as far as it goes: any of its parts may be missing.
func attrOf(c *C.struct_fi_info) *fiinfo.Info {
	if c == nil {
		return nil
	}
	return &fiinfo.Info{
		Caps:       fiinfo.Caps(c.caps),
		Mode:       fiinfo.Mode(c.mode),
		AddrFormat: fiinfo.AddrFormat(c.addr_format),
		Src:        bytesOf(c.src_addr, c.src_addrlen),
		Dest:       bytesOf(c.dest_addr, c.dest_addrlen),
		EP:         epAttr(c.ep_attr),
		TX:         txAttr(c.tx_attr),
		RX:         rxAttr(c.rx_attr),
		Domain:     domainAttr(c.domain_attr),
		Fabric:     fabricAttr(c.fabric_attr),
		NIC:        nicAttr(c.nic),
	}
}

func bytesOf(addr unsafe.Pointer, n C.size_t) []byte {
	if addr == nil || n == 0 {
		return nil
	}
	return C.GoBytes(addr, C.int(n))
}

func epAttr(c *C.struct_fi_ep_attr) (a fiinfo.EP) {
	if c == nil {
		return a
	}
	return fiinfo.EP{
		Type:            fiinfo.EPType(c._type),
		Protocol:        fiinfo.Protocol(c.protocol),
		ProtocolVersion: fiinfo.Number(c.protocol_version),
		MaxMsgSize:      fiinfo.Number(c.max_msg_size),
		MsgPrefixSize:   fiinfo.Number(c.msg_prefix_size),
		MaxOrderRAW:     fiinfo.Number(c.max_order_raw_size),
		MaxOrderWAR:     fiinfo.Number(c.max_order_war_size),
		MaxOrderWAW:     fiinfo.Number(c.max_order_waw_size),
		MemTagFormat:    fiinfo.TagFormat(c.mem_tag_format),
		TxCtxCount:      fiinfo.ContextCount(c.tx_ctx_cnt),
		RxCtxCount:      fiinfo.ContextCount(c.rx_ctx_cnt),
		AuthKeySize:     fiinfo.Number(c.auth_key_size),
	}
}

func txAttr(c *C.struct_fi_tx_attr) (a fiinfo.TX) {
	if c == nil {
		return a
	}
	return fiinfo.TX{
		Caps:         fiinfo.Caps(c.caps),
		Mode:         fiinfo.Mode(c.mode),
		OpFlags:      fiinfo.OpFlags(c.op_flags),
		MsgOrder:     fiinfo.MsgOrder(c.msg_order),
		CompOrder:    fiinfo.CompOrder(c.comp_order),
		InjectSize:   fiinfo.Number(c.inject_size),
		Size:         fiinfo.Number(c.size),
		IOVLimit:     fiinfo.Number(c.iov_limit),
		RMAIOVLimit:  fiinfo.Number(c.rma_iov_limit),
		TrafficClass: fiinfo.TrafficClass(c.tclass),
	}
}

func rxAttr(c *C.struct_fi_rx_attr) (a fiinfo.RX) {
	if c == nil {
		return a
	}
	return fiinfo.RX{
		Caps:              fiinfo.Caps(c.caps),
		Mode:              fiinfo.Mode(c.mode),
		OpFlags:           fiinfo.OpFlags(c.op_flags),
		MsgOrder:          fiinfo.MsgOrder(c.msg_order),
		CompOrder:         fiinfo.CompOrder(c.comp_order),
		TotalBufferedRecv: fiinfo.Number(c.total_buffered_recv),
		Size:              fiinfo.Number(c.size),
		IOVLimit:          fiinfo.Number(c.iov_limit),
	}
}

func domainAttr(c *C.struct_fi_domain_attr) (a fiinfo.Domain) {
	if c == nil {
		return a
	}
	return fiinfo.Domain{
		Name:            text(c.name),
		Caps:            fiinfo.Caps(c.caps),
		Mode:            fiinfo.Mode(c.mode),
		Threading:       fiinfo.Threading(c.threading),
		ControlProgress: fiinfo.Progress(c.control_progress),
		Progress:        fiinfo.Progress(C.gx_data_progress(c)),
		ResourceMgmt:    fiinfo.ResourceMgmt(c.resource_mgmt),
		AVType:          fiinfo.AVType(c.av_type),
		MRMode:          fiinfo.MRMode(uint32(c.mr_mode)),
		MRKeySize:       fiinfo.Number(c.mr_key_size),
		CQDataSize:      fiinfo.Number(c.cq_data_size),
		CQCount:         fiinfo.Number(c.cq_cnt),
		EPCount:         fiinfo.Number(c.ep_cnt),
		TxCtxCount:      fiinfo.Number(c.tx_ctx_cnt),
		RxCtxCount:      fiinfo.Number(c.rx_ctx_cnt),
		MaxEPTxCtx:      fiinfo.Number(c.max_ep_tx_ctx),
		MaxEPRxCtx:      fiinfo.Number(c.max_ep_rx_ctx),
		MaxEPSTxCtx:     fiinfo.Number(c.max_ep_stx_ctx),
		MaxEPSRxCtx:     fiinfo.Number(c.max_ep_srx_ctx),
		CntrCount:       fiinfo.Number(c.cntr_cnt),
		MRIOVLimit:      fiinfo.Number(c.mr_iov_limit),
		AuthKeySize:     fiinfo.Number(c.auth_key_size),
		MaxErrData:      fiinfo.Number(c.max_err_data),
		MRCount:         fiinfo.Number(c.mr_cnt),
		TrafficClass:    fiinfo.TrafficClass(c.tclass),
		MaxEPAuthKey:    fiinfo.Number(c.max_ep_auth_key),
		MaxGroupID:      fiinfo.Number(c.max_group_id),
		MaxCntrValue:    fiinfo.Number(C.gx_max_cntr(c)),
		MaxErrCntrValue: fiinfo.Number(C.gx_max_err_cntr(c)),
	}
}

func fabricAttr(c *C.struct_fi_fabric_attr) (a fiinfo.Fabric) {
	if c == nil {
		return a
	}
	return fiinfo.Fabric{
		Name:            text(c.name),
		Provider:        text(c.prov_name),
		ProviderVersion: fiinfo.Version(c.prov_version),
		APIVersion:      fiinfo.Version(c.api_version),
	}
}

func nicAttr(c *C.struct_fid_nic) *fiinfo.NIC {
	if c == nil {
		return nil
	}
	nic := &fiinfo.NIC{}
	if a := c.device_attr; a != nil {
		nic.Device, nic.DeviceID, nic.DeviceVersion = text(a.name), text(a.device_id), text(a.device_version)
		nic.VendorID, nic.Driver, nic.Firmware = text(a.vendor_id), text(a.driver), text(a.firmware)
	}
	if a := c.bus_attr; a != nil && a.bus_type == C.FI_BUS_PCI {
		pci := (*C.struct_fi_pci_attr)(unsafe.Pointer(&a.attr))
		nic.PCI = pciName(uint16(pci.domain_id), uint8(pci.bus_id), uint8(pci.device_id), uint8(pci.function_id))
	}
	if a := c.link_attr; a != nil {
		nic.Address, nic.Network = text(a.address), text(a.network_type)
		nic.MTU, nic.Speed = fiinfo.Number(a.mtu), fiinfo.Number(a.speed)
		switch a.state {
		case C.FI_LINK_UP:
			nic.State = "up"
		case C.FI_LINK_DOWN:
			nic.State = "down"
		}
	}
	return nic
}
