package providers

import "fmt"

// Info is what an application chooses by: the attributes of one domain of one
// provider, copied out of fi_info (fi_getinfo(3)).
type Info struct {
	Provider   string     `json:"provider"` // with utility layers: "tcp;ofi_rxm"
	Fabric     string     `json:"fabric"`
	Domain     string     `json:"domain"`
	AddrFormat AddrFormat `json:"-"`
	Addr       []byte     `json:"-"` // local address that the rail will have, if known before
	Caps       Caps       `json:"-"`
	Mode       uint64     `json:"-"`
	MRMode     MRMode     `json:"-"`
	MsgOrder   uint64     `json:"-"`
	// InjectSize is the largest message in bytes that Inject takes.
	InjectSize uint64 `json:"inject_size"`
	// MaxMsgSize is the largest message in bytes.
	MaxMsgSize uint64 `json:"max_msg_size"`
	// IOVLimit is the largest number of buffers of a send or receive.
	IOVLimit int `json:"iov_limit"`
	// RMAIOVLimit is the largest number of ranges of a peer's memory that one read or
	// write takes, 0 without CapRMA.
	RMAIOVLimit int `json:"-"`
	// Levels are the completion levels that RMA operations can ask for.
	Levels uint64 `json:"-"`
	// MRKeySize is the size of a memory key in bytes, 0 if it does not matter.
	MRKeySize int `json:"-"`
	// TxSize is the number of sends that a rail takes before it answers EAGAIN.
	TxSize uint64 `json:"tx_size"`
	// CQDataSize is the number of bytes of remote CQ data, 0 to 8.
	CQDataSize uint64 `json:"cq_data_size"`
	// Alias is what the spec calls the rail, where that is not what it is.
	Alias string `json:"alias,omitempty"`
	// NodeLocal says that the provider reaches this node only.
	NodeLocal bool `json:"node_local"`
	// InjectArrives is that of Traits.
	InjectArrives bool `json:"-"`
	// NICAtomics is that of Traits.
	NICAtomics bool `json:"-"`
	// FetchToConfirm is that of Traits.
	FetchToConfirm bool `json:"-"`
	// ForgetsFetches is that of Traits.
	ForgetsFetches bool `json:"-"`
	// Fetch is that of Traits (Fetcher).
	Fetch Sizes `json:"-"`
	NIC   NIC   `json:"nic"`
}

// NIC is what is known of the device below a domain. Unknown numbers are 0,
// an unknown NUMA node is -1.
type NIC struct {
	Device string `json:"device,omitempty"`
	Driver string `json:"driver,omitempty"`
	PCI    string `json:"pci,omitempty"` // as 0000:3b:00.0
	NUMA   int    `json:"numa"`
	Speed  uint64 `json:"speed"` // bits per second
	MTU    uint64 `json:"mtu"`   // bytes
	State  string `json:"state,omitempty"`
}

// Name is the rail's name in tables: provider:domain as a spec has it, or the
// provider alone where both are the same. An alias stands before it, as
// "cxi:cxi0=tcp;ofi_rxm:lo".
func (i Info) Name() string {
	if i.Alias != "" {
		name := i.Alias
		i.Alias = ""
		return name + "=" + i.Name()
	}
	if i.Domain == i.Provider {
		return i.Provider
	}
	return fmt.Sprintf("%s:%s", i.Provider, i.Domain)
}
