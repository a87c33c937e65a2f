package rail

import "fmt"

// Info describes one rail. It does not change after the rail was opened.
// It holds what fi_info(3) answered for the domain and what policies weigh.
type Info struct {
	// Index is the rail's position in its endpoint. NewSelector sets it.
	Index int
	// Name is provider and domain as a link spec writes them: "cxi:cxi0",
	// "tcp;ofi_rxm:lo", "shm".
	Name string
	// Provider is the core provider (fi_fabric_attr.prov_name).
	Provider string
	// Fabric is the core fabric (fi_fabric_attr.name): "10.0.1.0/24".
	Fabric string
	// Domain is fi_domain_attr.name: "cxi0".
	Domain string
	// NodeLocal says that the rail reaches only peers on this node, by
	// shared memory. It then takes all traffic to those it reaches.
	NodeLocal bool
	// Speed is the link's speed in bit/s (fi_link_attr.speed); 0 is unknown.
	Speed uint64
	// NUMA is the NUMA node the device hangs on; -1 is unknown.
	NUMA int
	// PCI is the device's address, "0000:21:00.0"; empty for none.
	PCI string
	// MTU is the link's in bytes (fi_link_attr.mtu); 0 is unknown.
	MTU uint64
	// InjectSize is the longest message, in bytes, that an inject call takes.
	InjectSize uint64
	// MaxMsgSize is the longest message in bytes (fi_ep_attr.max_msg_size).
	MaxMsgSize uint64
	// AddrFormat is fi_info.addr_format by name: "FI_SOCKADDR_IN".
	AddrFormat string
}

// String names the rail as explanations and errors do: "rail 1 (cxi:cxi0)".
func (i *Info) String() string { return fmt.Sprintf("rail %d (%s)", i.Index, i.Name) }

// Path is one way to a peer: a local rail and one of the peer's addresses.
type Path struct {
	// Rail is the local rail's Info.Index.
	Rail int
	// Addr is the position of the address in the peer's list, over all of
	// its providers.
	Addr int
}
