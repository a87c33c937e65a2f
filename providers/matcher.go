package providers

// Flags of receives that a Matcher passes on (fi_tagged(3)).
const (
	FlagPeek  = 1 << 19
	FlagClaim = 1 << 59
)

// Matcher is implemented by Cores that can be opened with one rail whose provider
// matches messages itself: Owner is not called back, there is no lane, and no message
// is unexpected to the owner.
//
// The ring then has a completion for every receive, with the sender in Src if the
// provider knows it. A message longer than the buffers completes with ETRUNC, its Len
// what they hold and its Olen the rest.
type Matcher interface {
	// Matches says that the rail was opened in that way.
	Matches() bool
	// PostRecv hands a receive to the provider (fi_trecvmsg(3)), into the buffers of
	// SetBuffers or SetSmall, from the rail address src, or from any with NoAddr. The
	// slot is the provider's until it completes; after an error it is the caller's.
	//
	// With FlagPeek no buffers are used, and the completion describes a message, or is
	// ENOMSG. FlagPeek|FlagClaim sets that message aside for the slot, and FlagClaim
	// receives what was set aside, with the slot that found it.
	PostRecv(slot Slot, src, tag, ignore, flags uint64) error
	// CancelRecv asks for a receive back (fi_cancel(3)): it completes, with ECANCELED
	// or with the message that it met before.
	CancelRecv(slot Slot) error
	// DropUnexpected has the provider forget the tagged messages that wait of a rail
	// address, or of all with NoAddr, and all untagged ones.
	DropUnexpected(src uint64)
}
