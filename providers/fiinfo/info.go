package fiinfo

// Info is struct fi_info (fi_getinfo(3)). Numbers that libfabric left open are 0. It is
// plain data: the one who made it owns it.
//
// An attribute is one line below: its type says how it is written, its json tag is its
// name in C. Fields, Compare and JSON have it from there; package ofi fills it in.
type Info struct {
	Caps       Caps       `json:"caps,omitzero"`
	Mode       Mode       `json:"mode,omitzero"`
	AddrFormat AddrFormat `json:"addr_format,omitzero"`
	Src        Addr       `json:"src_addr,omitempty"`
	Dest       Addr       `json:"dest_addr,omitempty"`
	EP         EP         `json:"ep_attr,omitzero"`
	TX         TX         `json:"tx_attr,omitzero"`
	RX         RX         `json:"rx_attr,omitzero"`
	Domain     Domain     `json:"domain_attr,omitzero"`
	Fabric     Fabric     `json:"fabric_attr,omitzero"`
	NIC        *NIC       `json:"nic,omitempty"` // nil if the provider says nothing of one
}

// EP is struct fi_ep_attr (fi_endpoint(3)). Sizes are in bytes.
type EP struct {
	Type            EPType       `json:"type,omitzero"`
	Protocol        Protocol     `json:"protocol,omitzero"`
	ProtocolVersion Number       `json:"protocol_version,omitzero"`
	MaxMsgSize      Number       `json:"max_msg_size,omitzero"`
	MsgPrefixSize   Number       `json:"msg_prefix_size,omitzero"`
	MaxOrderRAW     Number       `json:"max_order_raw_size,omitzero"`
	MaxOrderWAR     Number       `json:"max_order_war_size,omitzero"`
	MaxOrderWAW     Number       `json:"max_order_waw_size,omitzero"`
	MemTagFormat    TagFormat    `json:"mem_tag_format,omitzero"`
	TxCtxCount      ContextCount `json:"tx_ctx_cnt,omitzero"`
	RxCtxCount      ContextCount `json:"rx_ctx_cnt,omitzero"`
	AuthKeySize     Number       `json:"auth_key_size,omitzero"`
}

// TX is struct fi_tx_attr (fi_endpoint(3)).
type TX struct {
	Caps         Caps         `json:"caps,omitzero"`
	Mode         Mode         `json:"mode,omitzero"`
	OpFlags      OpFlags      `json:"op_flags,omitzero"`
	MsgOrder     MsgOrder     `json:"msg_order,omitzero"`
	CompOrder    CompOrder    `json:"comp_order,omitzero"`
	InjectSize   Number       `json:"inject_size,omitzero"` // bytes
	Size         Number       `json:"size,omitzero"`        // operations
	IOVLimit     Number       `json:"iov_limit,omitzero"`
	RMAIOVLimit  Number       `json:"rma_iov_limit,omitzero"`
	TrafficClass TrafficClass `json:"tclass,omitzero"`
}

// RX is struct fi_rx_attr (fi_endpoint(3)).
type RX struct {
	Caps              Caps      `json:"caps,omitzero"`
	Mode              Mode      `json:"mode,omitzero"`
	OpFlags           OpFlags   `json:"op_flags,omitzero"`
	MsgOrder          MsgOrder  `json:"msg_order,omitzero"`
	CompOrder         CompOrder `json:"comp_order,omitzero"`
	TotalBufferedRecv Number    `json:"total_buffered_recv,omitzero"` // bytes
	Size              Number    `json:"size,omitzero"`                // operations
	IOVLimit          Number    `json:"iov_limit,omitzero"`
}

// Domain is struct fi_domain_attr (fi_domain(3)).
type Domain struct {
	Name            string       `json:"name,omitzero"`
	Caps            Caps         `json:"caps,omitzero"`
	Mode            Mode         `json:"mode,omitzero"`
	Threading       Threading    `json:"threading,omitzero"`
	ControlProgress Progress     `json:"control_progress,omitzero"`
	Progress        Progress     `json:"progress,omitzero"` // data_progress is the same field
	ResourceMgmt    ResourceMgmt `json:"resource_mgmt,omitzero"`
	AVType          AVType       `json:"av_type,omitzero"`
	MRMode          MRMode       `json:"mr_mode,omitzero"`
	MRKeySize       Number       `json:"mr_key_size,omitzero"`  // bytes
	CQDataSize      Number       `json:"cq_data_size,omitzero"` // bytes
	CQCount         Number       `json:"cq_cnt,omitzero"`
	EPCount         Number       `json:"ep_cnt,omitzero"`
	TxCtxCount      Number       `json:"tx_ctx_cnt,omitzero"`
	RxCtxCount      Number       `json:"rx_ctx_cnt,omitzero"`
	MaxEPTxCtx      Number       `json:"max_ep_tx_ctx,omitzero"`
	MaxEPRxCtx      Number       `json:"max_ep_rx_ctx,omitzero"`
	MaxEPSTxCtx     Number       `json:"max_ep_stx_ctx,omitzero"`
	MaxEPSRxCtx     Number       `json:"max_ep_srx_ctx,omitzero"`
	CntrCount       Number       `json:"cntr_cnt,omitzero"`
	MRIOVLimit      Number       `json:"mr_iov_limit,omitzero"`
	AuthKeySize     Number       `json:"auth_key_size,omitzero"` // bytes
	MaxErrData      Number       `json:"max_err_data,omitzero"`  // bytes
	MRCount         Number       `json:"mr_cnt,omitzero"`
	TrafficClass    TrafficClass `json:"tclass,omitzero"`
	MaxEPAuthKey    Number       `json:"max_ep_auth_key,omitzero"`
	MaxGroupID      Number       `json:"max_group_id,omitzero"`
	// Of libfabric 2.5 and later.
	MaxCntrValue    Number `json:"max_cntr_value,omitzero"`
	MaxErrCntrValue Number `json:"max_err_cntr_value,omitzero"`
}

// Fabric is struct fi_fabric_attr (fi_fabric(3)).
type Fabric struct {
	Name            string  `json:"name,omitzero"`
	Provider        string  `json:"prov_name,omitzero"`
	ProviderVersion Version `json:"prov_version,omitzero"`
	APIVersion      Version `json:"api_version,omitzero"`
}

// NIC is struct fid_nic (fi_nic(3)), as far as providers fill it in.
type NIC struct {
	Device        string `json:"device,omitzero"`
	DeviceID      string `json:"device_id,omitzero"`
	DeviceVersion string `json:"device_version,omitzero"`
	VendorID      string `json:"vendor_id,omitzero"`
	Driver        string `json:"driver,omitzero"`
	Firmware      string `json:"firmware,omitzero"`
	PCI           string `json:"pci,omitzero"` // as 0000:3b:00.0
	Address       string `json:"address,omitzero"`
	MTU           Number `json:"mtu,omitzero"`   // bytes
	Speed         Number `json:"speed,omitzero"` // bits per second
	State         string `json:"state,omitzero"` // up or down
	Network       string `json:"network_type,omitzero"`
}
