package fiinfo

import "fmt"

// Attributes with a name for each bit.
type (
	// Caps are capabilities (fi_getinfo(3), fi_endpoint(3), fi_domain(3)).
	Caps = Bits[capNames]
	// Mode is what a provider wants of the application (fi_getinfo(3)).
	Mode = Bits[modeNames]
	// MRMode is the same for registered memory (fi_mr(3)).
	MRMode = Bits[mrModeNames]
	// OpFlags are the flags of an operation that gives none itself (fi_endpoint(3)).
	OpFlags = Bits[opFlagNames]
	// MsgOrder says which operations are seen in order: RAW is a read after a write,
	// SAS a send after a send (fi_endpoint(3)).
	MsgOrder = Bits[msgOrderNames]
	// CompOrder is the order of completions. libfabric 2 has it for version 1's sake.
	CompOrder = Bits[compOrderNames]
)

// Attributes with a name for each value; 0 is left open.
type (
	// EPType is enum fi_ep_type (fi_endpoint(3)).
	EPType = Enum[epTypeNames]
	// Protocol is what endpoints speak; equal ones understand each other
	// (fi_endpoint(3)).
	Protocol = Enum[protocolNames]
	// AddrFormat is the format of an address (fi_getinfo(3)).
	AddrFormat = Enum[addrFormatNames]
	// Threading is enum fi_threading (fi_domain(3)).
	Threading = Enum[threadingNames]
	// Progress is enum fi_progress (fi_domain(3)).
	Progress = Enum[progressNames]
	// ResourceMgmt is enum fi_resource_mgmt (fi_domain(3)).
	ResourceMgmt = Enum[resourceMgmtNames]
	// AVType is enum fi_av_type (fi_av(3)).
	AVType = Enum[avTypeNames]
	// TrafficClass is a label, or a DSCP of IP (fi_endpoint(3), tclass).
	TrafficClass = Enum[trafficClassNames]
)

type (
	capNames       struct{}
	modeNames      struct{}
	mrModeNames    struct{}
	opFlagNames    struct{}
	msgOrderNames  struct{}
	compOrderNames struct{}

	epTypeNames       struct{}
	protocolNames     struct{}
	addrFormatNames   struct{}
	threadingNames    struct{}
	progressNames     struct{}
	resourceMgmtNames struct{}
	avTypeNames       struct{}
	trafficClassNames struct{}
)

func (capNames) bits() *[64]string       { return &capBits }
func (modeNames) bits() *[64]string      { return &modeBits }
func (mrModeNames) bits() *[64]string    { return &mrModeBits }
func (opFlagNames) bits() *[64]string    { return &opFlagBits }
func (msgOrderNames) bits() *[64]string  { return &msgOrderBits }
func (compOrderNames) bits() *[64]string { return &compOrderBits }

func (epTypeNames) values() []string       { return epTypes }
func (protocolNames) values() []string     { return protocols }
func (addrFormatNames) values() []string   { return addrFormats }
func (threadingNames) values() []string    { return threadings }
func (progressNames) values() []string     { return progresses }
func (resourceMgmtNames) values() []string { return resourceMgmts }
func (avTypeNames) values() []string       { return avTypes }
func (trafficClassNames) values() []string { return trafficClasses }

var capBits = [64]string{
	1: "FI_MSG", 2: "FI_RMA", 3: "FI_TAGGED", 4: "FI_ATOMIC", 5: "FI_MULTICAST", 6: "FI_COLLECTIVE",
	8: "FI_READ", 9: "FI_WRITE", 10: "FI_RECV", 11: "FI_SEND", 12: "FI_REMOTE_READ", 13: "FI_REMOTE_WRITE",
	16: "FI_MULTI_RECV", 17: "FI_REMOTE_CQ_DATA", 20: "FI_TRIGGER", 21: "FI_FENCE",
	41: "FI_AV_USER_ID", 43: "FI_PEER", 44: "FI_XPU",
	45: "FI_TAGGED_DIRECTED_RECV", 46: "FI_TAGGED_MULTI_RECV", 47: "FI_HMEM", 48: "FI_EXACT_DIRECTED_RECV",
	49: "FI_RMA_PMEM", 50: "FI_SOURCE_ERR", 51: "FI_LOCAL_COMM", 52: "FI_REMOTE_COMM", 53: "FI_SHARED_AV",
	56: "FI_RMA_EVENT", 57: "FI_SOURCE", 58: "FI_NAMED_RX_CTX", 59: "FI_DIRECTED_RECV",
}

var modeBits = [64]string{
	52: "FI_CONTEXT2", 55: "FI_LOCAL_MR", 56: "FI_RX_CQ_DATA", 57: "FI_ASYNC_IOV", 58: "FI_MSG_PREFIX", 59: "FI_CONTEXT",
}

var mrModeBits = [64]string{
	"FI_MR_BASIC", "FI_MR_SCALABLE", "FI_MR_LOCAL", "FI_MR_RAW", "FI_MR_VIRT_ADDR", "FI_MR_ALLOCATED", "FI_MR_PROV_KEY",
	"FI_MR_MMU_NOTIFY", "FI_MR_RMA_EVENT", "FI_MR_ENDPOINT", "FI_MR_HMEM", "FI_MR_COLLECTIVE", "FI_MR_XPU_DESC",
}

var opFlagBits = [64]string{
	5: "FI_MULTICAST", 16: "FI_MULTI_RECV", 17: "FI_REMOTE_CQ_DATA", 18: "FI_MORE", 19: "FI_PEEK", 20: "FI_TRIGGER", 21: "FI_FENCE",
	24: "FI_COMPLETION", 25: "FI_INJECT", 26: "FI_INJECT_COMPLETE", 27: "FI_TRANSMIT_COMPLETE", 28: "FI_DELIVERY_COMPLETE",
	29: "FI_AFFINITY", 30: "FI_COMMIT_COMPLETE", 31: "FI_MATCH_COMPLETE", 36: "FI_PEER_TRANSFER",
	57: "FI_AUTH_KEY", 58: "FI_DISCARD", 59: "FI_CLAIM",
}

var msgOrderBits = [64]string{
	"FI_ORDER_RAR", "FI_ORDER_RAW", "FI_ORDER_RAS", "FI_ORDER_WAR", "FI_ORDER_WAW", "FI_ORDER_WAS",
	"FI_ORDER_SAR", "FI_ORDER_SAW", "FI_ORDER_SAS",
	32: "FI_ORDER_RMA_RAR", 33: "FI_ORDER_RMA_RAW", 34: "FI_ORDER_RMA_WAR", 35: "FI_ORDER_RMA_WAW",
	36: "FI_ORDER_ATOMIC_RAR", 37: "FI_ORDER_ATOMIC_RAW", 38: "FI_ORDER_ATOMIC_WAR", 39: "FI_ORDER_ATOMIC_WAW",
}

// FI_ORDER_STRICT is the nine bits of the message order.
var compOrderBits = func() [64]string {
	bits := [64]string{16: "FI_ORDER_DATA"}
	copy(bits[:], msgOrderBits[:9])
	return bits
}()

var epTypes = []string{"FI_EP_UNSPEC", "FI_EP_MSG", "FI_EP_DGRAM", "FI_EP_RDM"}

var protocols = []string{
	"FI_PROTO_UNSPEC", "FI_PROTO_RDMA_CM_IB_RC", "FI_PROTO_IWARP", "FI_PROTO_IB_UD", "FI_PROTO_PSMX", "FI_PROTO_UDP",
	"FI_PROTO_SOCK_TCP", "FI_PROTO_MXM", "FI_PROTO_IWARP_RDM", "FI_PROTO_IB_RDM", "FI_PROTO_GNI", "FI_PROTO_RXM",
	"FI_PROTO_RXD", "FI_PROTO_MLX", "FI_PROTO_NETWORKDIRECT", "FI_PROTO_PSMX2", "FI_PROTO_SHM", "FI_PROTO_MRAIL",
	"FI_PROTO_RSTREAM", "FI_PROTO_RDMA_CM_IB_XRC", "FI_PROTO_EFA", "FI_PROTO_PSMX3", "FI_PROTO_RXM_TCP", "FI_PROTO_OPX",
	"FI_PROTO_CXI", "FI_PROTO_XNET", "FI_PROTO_COLL", "FI_PROTO_UCX", "FI_PROTO_SM2", "FI_PROTO_CXI_RNR", "FI_PROTO_LPP",
	"FI_PROTO_LNX",
}

var addrFormats = []string{
	"FI_FORMAT_UNSPEC", "FI_SOCKADDR", "FI_SOCKADDR_IN", "FI_SOCKADDR_IN6", "FI_SOCKADDR_IB", "FI_ADDR_PSMX", "FI_ADDR_GNI",
	"FI_ADDR_BGQ", "FI_ADDR_MLX", "FI_ADDR_STR", "FI_ADDR_PSMX2", "FI_ADDR_IB_UD", "FI_ADDR_EFA", "FI_ADDR_PSMX3",
	"FI_ADDR_OPX", "FI_ADDR_CXI", "FI_ADDR_UCX", "FI_SOCKADDR_IP",
}

var threadings = []string{
	"FI_THREAD_UNSPEC", "FI_THREAD_SAFE", "FI_THREAD_FID", "FI_THREAD_DOMAIN", "FI_THREAD_COMPLETION", "FI_THREAD_ENDPOINT",
}

var progresses = []string{"FI_PROGRESS_UNSPEC", "FI_PROGRESS_AUTO", "FI_PROGRESS_MANUAL", "FI_PROGRESS_CONTROL_UNIFIED"}

var resourceMgmts = []string{"FI_RM_UNSPEC", "FI_RM_DISABLED", "FI_RM_ENABLED"}

var avTypes = []string{"FI_AV_UNSPEC", "FI_AV_MAP", "FI_AV_TABLE"}

// Between 0x100 and 0x1ff is what fi_tc_dscp_set answers.
var trafficClasses = func() []string {
	values := []string{
		0: "FI_TC_UNSPEC", 0x200: "FI_TC_BEST_EFFORT", 0x201: "FI_TC_LOW_LATENCY", 0x202: "FI_TC_DEDICATED_ACCESS",
		0x203: "FI_TC_BULK_DATA", 0x204: "FI_TC_SCAVENGER", 0x205: "FI_TC_NETWORK_CTRL",
	}
	for dscp := range 0x100 {
		values[0x100|dscp] = fmt.Sprintf("FI_TC_DSCP(%d)", dscp)
	}
	return values
}()
