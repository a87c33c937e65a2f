// Package lnx links several libfabric providers into one endpoint, as the LNX
// provider (fi_lnx(7)) does in C.
//
// [Links] answers what the link spec in FI_LNX_PROV_LINKS stands for on this
// machine, [Open] opens one link. An [Endpoint] sends and receives tagged
// messages (fi_tagged(3)) and untagged ones (fi_msg(3)); peers that share memory with it are reached over shm,
// others over the rail that the policy picks. Receives of all rails are matched
// in one queue, and all completions come out of one [CQ].
//
// # Addresses
//
// [Endpoint.Name] is a blob of bytes to be given to peers by whatever means the
// program has. [AV.Insert] makes an [Addr] of a peer's blob.
//
// # Two ways to use it
//
// The calls that begin with T (tagged) or M (untagged) are libfabric's: they start an operation and return,
// answer fierr.EAgain when it cannot be started now, and the operation ends with an
// entry in the CQ. [Endpoint.Send] and [Endpoint.Recv] block, and suit goroutines;
// [Endpoint.Untagged] has the same without tags.
// Both can be mixed on one endpoint.
//
// # Progress
//
// Nothing happens in the background. Rails are driven inside the calls of their
// endpoint: Read and Wait of the CQ, Send, Recv, a Future's Wait, and a little by
// every other. So a peer has to be in one of them for messages to move. The first
// message to a peer connects the two, which takes the peer's calls as well.
//
// A send is over when the buffer is the sender's again. Up to a size that depends on
// the provider (16 KiB over tcp, 4 KiB over shm) it need not have been received by
// then; a larger one is over when its receiver has taken it. So two peers that both
// send large messages before they receive wait for ever. Close does not wait: what
// is not over when it is called may be lost, what is over arrives.
//
// # Remote memory
//
// With Options.Caps CapRMA, peers read and write each other's memory (fi_rma(3)). One
// registers it and gives the key away, the other imports the key:
//
//	region, err := ep.Register(buf, mr.RemoteRead|mr.RemoteWrite)
//	key, err := region.RemoteKey()          // bytes, to be sent to the peer
//
//	remote, err := ep.Import(addr, key)     // at the peer
//	err = remote.WriteAt(ctx, data, offset) // or ReadAt, and Async forms
//
// Read, Write and their kin are libfabric's calls, with completions in the CQ. Each
// takes the rail that the policy picks, with that rail's key. A write is over when its
// buffer is the caller's; that the target has it say FlagDeliveryComplete, and to the
// target remote CQ data (WriteData). Over shm plain reads and writes between processes
// need nothing of the target; all else needs it to drive its rails.
//
// # Atomics and counters
//
// With CapAtomic in [Options].Caps, [FetchAdd], [CompareSwap] and their kin change one
// value in a peer's memory, [Endpoint.Atomic] and its kin many. Today's rails have the
// target's process do it: it has to drive its rails. [Endpoint.OpenCounter] counts
// operations that have ended, for programs that do not look at each completion.
//
// # Errors
//
// Errors compare, with errors.Is, as the numbers of fi_errno(3) in package fierr and
// as the Err… values here. fierr.EAgain means try again, after reading the CQ;
// fierr.EAvail that the next entry of the CQ is a failure, which ReadErr answers.
//
// # Concurrency
//
// All methods are safe for concurrent use. One lock per endpoint, the progress
// lock, is held while libfabric is driven; no user code runs under it.
//
// # Memory
//
// A buffer belongs to the endpoint from the call until its completion has been
// read (or Send, Recv returned). Go memory is pinned in between.
package lnx
