package rail

// Policy chooses paths for one endpoint. An instance is made by its [Factory]
// for one Selector and called under that endpoint's lock, so it needs no lock of
// its own. Memory for each peer belongs in [Peer].State and [Peer].Reach, memory
// for the endpoint in the policy.
type Policy interface {
	// Pick answers the index of one of p's paths, whose rail must not be
	// Down, or NoPath when every rail that reaches p is. It allocates
	// nothing and costs no more than a look at each rail. Rails with shared
	// memory were dealt with before: a policy sees them only when they are
	// Down.
	Pick(r *Rails, p *Peer, c Call) (path int, why Why)
	// Heard tells that the first message from p came in on a path. A policy that is not
	// built in hears of it before the next Pick.
	Heard(r *Rails, p *Peer, path int)
	// Explain puts a Why of Pick into words, without line breaks.
	Explain(r *Rails, p *Peer, why Why) string
	// Ordered says whether all messages to a peer take one path while its
	// rail stays up, so that they are received in the order sent
	// (FI_ORDER_SAS).
	Ordered() bool
}

// NoPath is Pick's answer when every rail that reaches the peer is down.
const NoPath = -1

// Call is what a policy knows of the message to be sent.
type Call struct {
	// Size is the payload in bytes.
	Size uint64
	// NUMA is the node the caller runs on, or where its buffer lies; -1 is
	// no hint.
	NUMA int
}

// Why carries the reason of a choice as numbers, so that it costs nothing until
// someone asks for words. Code and Args mean what the policy says they mean.
type Why struct {
	Code uint8
	Args [3]int64
}

// Choice is the answer to one call.
type Choice struct {
	Path
	// Local says that the rail was taken because it shares memory with the
	// peer's node; the policy was not asked.
	Local bool
	// Why is the policy's reason.
	Why Why
}
