// Package fiinfo has libfabric's attributes (fi_getinfo(3)) as Go values, with a name
// for every bit. It needs no libfabric.
package fiinfo

// Info is struct fi_info. Numbers that libfabric left open are 0.
type Info struct {
	Caps       uint64 `json:"caps"`
	Mode       uint64 `json:"mode"`
	AddrFormat uint32 `json:"addr_format"`
	Src        []byte `json:"src_addr,omitempty"`
	Dest       []byte `json:"dest_addr,omitempty"`
	EP         EP     `json:"ep_attr"`
	TX         TX     `json:"tx_attr"`
	RX         RX     `json:"rx_attr"`
	Domain     Domain `json:"domain_attr"`
	Fabric     Fabric `json:"fabric_attr"`
	NIC        *NIC   `json:"nic,omitempty"` // nil if the provider says nothing of one
}

// EP is struct fi_ep_attr (fi_endpoint(3)). Sizes are in bytes.
type EP struct {
	Type            uint32 `json:"type"`
	Protocol        uint32 `json:"protocol"`
	ProtocolVersion uint32 `json:"protocol_version"`
	MaxMsgSize      uint64 `json:"max_msg_size"`
	MsgPrefixSize   uint64 `json:"msg_prefix_size"`
	MaxOrderRAW     uint64 `json:"max_order_raw_size"`
	MaxOrderWAR     uint64 `json:"max_order_war_size"`
	MaxOrderWAW     uint64 `json:"max_order_waw_size"`
	MemTagFormat    uint64 `json:"mem_tag_format"`
	TxCtxCount      uint64 `json:"tx_ctx_cnt"`
	RxCtxCount      uint64 `json:"rx_ctx_cnt"`
}

// TX is struct fi_tx_attr (fi_endpoint(3)).
type TX struct {
	Caps         uint64 `json:"caps"`
	Mode         uint64 `json:"mode"`
	OpFlags      uint64 `json:"op_flags"`
	MsgOrder     uint64 `json:"msg_order"`
	InjectSize   uint64 `json:"inject_size"` // bytes
	Size         uint64 `json:"size"`        // operations
	IOVLimit     uint64 `json:"iov_limit"`
	RMAIOVLimit  uint64 `json:"rma_iov_limit"`
	TrafficClass uint32 `json:"tclass"`
}

// RX is struct fi_rx_attr (fi_endpoint(3)).
type RX struct {
	Caps     uint64 `json:"caps"`
	Mode     uint64 `json:"mode"`
	OpFlags  uint64 `json:"op_flags"`
	MsgOrder uint64 `json:"msg_order"`
	Size     uint64 `json:"size"` // operations
	IOVLimit uint64 `json:"iov_limit"`
}

// Domain is struct fi_domain_attr (fi_domain(3)).
type Domain struct {
	Name         string `json:"name"`
	Caps         uint64 `json:"caps"`
	Mode         uint64 `json:"mode"`
	Threading    uint32 `json:"threading"`
	Progress     uint32 `json:"progress"`
	ResourceMgmt uint32 `json:"resource_mgmt"`
	AVType       uint32 `json:"av_type"`
	MRMode       uint64 `json:"mr_mode"`
	MRKeySize    uint64 `json:"mr_key_size"`  // bytes
	CQDataSize   uint64 `json:"cq_data_size"` // bytes
	CQCount      uint64 `json:"cq_cnt"`
	EPCount      uint64 `json:"ep_cnt"`
	TxCtxCount   uint64 `json:"tx_ctx_cnt"`
	RxCtxCount   uint64 `json:"rx_ctx_cnt"`
	CntrCount    uint64 `json:"cntr_cnt"`
	MRCount      uint64 `json:"mr_cnt"`
	MRIOVLimit   uint64 `json:"mr_iov_limit"`
	MaxEPTxCtx   uint64 `json:"max_ep_tx_ctx"`
	MaxEPRxCtx   uint64 `json:"max_ep_rx_ctx"`
	MaxEPSTxCtx  uint64 `json:"max_ep_stx_ctx"`
	MaxEPSRxCtx  uint64 `json:"max_ep_srx_ctx"`
	MaxErrData   uint64 `json:"max_err_data"` // bytes
	TrafficClass uint32 `json:"tclass"`
	MaxEPAuthKey uint64 `json:"max_ep_auth_key"`
	MaxGroupID   uint32 `json:"max_group_id"`
}

// Fabric is struct fi_fabric_attr (fi_fabric(3)). Versions are as FI_VERSION makes
// them: major in the upper 16 bits.
type Fabric struct {
	Name            string `json:"name"`
	Provider        string `json:"prov_name"`
	ProviderVersion uint32 `json:"prov_version"`
	APIVersion      uint32 `json:"api_version"`
}

// NIC is struct fid_nic (fi_nic(3)), as far as providers fill it in.
type NIC struct {
	Device   string `json:"device,omitempty"`
	Driver   string `json:"driver,omitempty"`
	Firmware string `json:"firmware,omitempty"`
	PCI      string `json:"pci,omitempty"` // as 0000:3b:00.0
	Address  string `json:"address,omitempty"`
	MTU      uint64 `json:"mtu"`   // bytes
	Speed    uint64 `json:"speed"` // bits per second
	State    string `json:"state,omitempty"`
	Network  string `json:"network_type,omitempty"`
}
