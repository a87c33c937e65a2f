// Package rail holds what a link layer knows about its rails (one opened domain
// of one provider each) and the policies that choose, for every message, the
// rail to send on and the peer address to send to.
//
// Everything here is a plain value or a state machine over plain values: no
// clock, no randomness, no environment, no provider. What happens is a function
// of the calls made and of [Options].Seed, so a table of calls tests it; package
// railtest reads such tables from text.
//
// # How a path is chosen
//
// A [Selector] belongs to one endpoint. For every peer it makes a [Peer] from
// the paths (local rail, peer address) that can work. [Selector.Pick] then
// applies, in this order:
//
//  1. a rail that shares memory with the peer's node takes all traffic to it,
//     unless it is down;
//  2. the [Policy] chooses among the paths whose rail is not down;
//  3. no such path is an error that names the rails and their health.
//
// # Policies
//
//	PER_PEER   one path for each peer, rails dealt out to peers in turn; keeps order (default)
//	PER_MSG    another rail and another peer address for each message
//	WEIGHTED   as PER_MSG, in proportion to the rails' speed
//	NEAREST    the rail closest to the caller's NUMA node, then the fastest
//
// The first two are those of fi_lnx(7). Each stands in a file of its own; a
// user's is added with [RegisterPolicy].
//
// # Concurrency
//
// A Selector, its Peers and the [Stats] of its rails belong to the endpoint and
// are used under its progress lock; nothing here locks. The policy registry is
// safe for concurrent use.
package rail
