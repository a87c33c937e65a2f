package providers

// Flags of RMA operations and of their completions (fi_rma(3), fi_cq(3)).
const (
	FlagRMA              = 1 << 2
	FlagRead             = 1 << 8
	FlagWrite            = 1 << 9
	FlagRemoteRead       = 1 << 12
	FlagRemoteWrite      = 1 << 13
	FlagInjectComplete   = 1 << 26
	FlagTransmitComplete = 1 << 27
	FlagDeliveryComplete = 1 << 28
)

// Remote is the Kind of a completion that no operation of this side belongs to: a peer
// wrote into memory of this side with remote CQ data. Its Slot means nothing.
const Remote Kind = 3

// RMAIOV is a range of a peer's memory (struct fi_rma_iov).
type RMAIOV struct{ Addr, Len, Key uint64 }

// RMAOp is one read or write of a peer's memory (fi_readmsg(3), fi_writemsg(3)). A Core
// does not keep it.
type RMAOp struct {
	IOV         [MaxIOV]IOVec
	Desc        [MaxIOV]uintptr // of the buffers (fi_mr_desc(3)), 0 where none is needed
	Count       int
	Remote      [MaxIOV]RMAIOV // as many bytes as the buffers have
	RemoteCount int
	Dest        uint64 // rail address
	Data        uint64
	// Flags are FlagRemoteCQData, one of the levels that the rail's Info has in
	// Levels, and FlagInject for a write of at most InjectSize bytes, whose buffers
	// the caller has back at once.
	Flags uint64
	Slot  Slot
	Write bool
}

// RMAer is implemented by Cores whose rails can read and write the memory of peers; a
// rail does if its Info.Caps have CapRMA. The context of an operation is a send's, and
// so is its completion.
type RMAer interface {
	RMA(rail int, op *RMAOp) error
}
