// Package lnx links several libfabric providers into one endpoint, as the LNX
// provider (fi_lnx(7)) does in C.
//
// [Links] answers what the link spec in FI_LNX_PROV_LINKS stands for on this
// machine, [Open] opens one link. An [Endpoint] sends and receives tagged
// messages (fi_tagged(3)) and untagged ones (fi_msg(3)); peers that share memory
// with it are reached over shm, others over the rail that the policy picks. Receives
// of all rails are matched in one queue, and all completions come out of one [CQ].
//
// # Addresses
//
// [Endpoint.Name] is a blob of bytes to be given to peers by whatever means the
// program has. [AV.Insert] makes an [Addr] of a peer's blob.
//
// # Two ways to use it
//
// The calls that begin with T (tagged) or M (untagged) are libfabric's: they start an
// operation and return, answer fierr.EAgain when it cannot be started now, and the
// operation ends with an entry in the CQ. [Endpoint.Send] and [Endpoint.Recv] block, and
// suit goroutines; [Endpoint.Untagged] has the same without tags. Both can be mixed on
// one endpoint.
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
// # Batches
//
// [Endpoint.TSendBatch] and [Endpoint.TRecvBatch] start many messages and receives with
// one call, in order, and answer how many were accepted: after EAGAIN, go on with the
// rest.
//
// # One buffer for many messages
//
// [Endpoint.MRecvMsg] with [FlagMultiRecv] gives a buffer to untagged messages, one behind
// the other. Each has an entry, whose Off and Len say where it lies in bytes. The entry
// with FlagMultiRecv in Flags is the buffer's last, and gives it back: when less than
// Options.MinMultiRecv bytes ([OptMinMultiRecv]) are left, or a message does not fit.
//
// # Memory of peers
//
// With [Options].Caps [CapRMA], peers read and write each other's memory (fi_rma(3)). One
// registers it and gives the key away, the other imports the key:
//
//	region, err := ep.Register(buf, mr.RemoteRead|mr.RemoteWrite)
//	key, err := region.RemoteKey()          // bytes, to be sent to the peer
//
//	remote, err := ep.Import(addr, key)     // at the peer
//	err = remote.WriteAt(ctx, data, offset) // or ReadAt, and Async forms
//
// Offsets and lengths are bytes; [RemoteMemory.Slice] is a part. Read, Write and their kin
// are libfabric's calls, with completions in the CQ: V forms take several buffers, Msg
// forms several ranges and flags. Each takes the rail that the policy picks, with that
// rail's key. A write is over when its buffer is the caller's; that the target has it say
// [FlagDeliveryComplete], and to the target remote CQ data ([Endpoint.WriteData]). Over shm
// plain reads and writes between processes need nothing of the target; all else needs it
// to drive its rails. [Region.Close] withdraws the key, and answers mr.ErrBusy while the
// memory is in use.
//
// Buffers of an endpoint's own operations need no registration: what a rail asks for is
// done and cached. Options.MRCacheEntries and MRCacheBytes bound that, NoMRCache turns it
// off, EagerMR registers on all rails at once, [Endpoint.MRStats] counts. Package mr says
// what it costs, and mr.Alloc has memory outside the Go heap.
//
// # Atomics
//
// With [CapAtomic], [FetchAdd], [CompareSwap] and their kin change one value in a peer's
// memory and wait; [Endpoint.Atomic], [Endpoint.FetchAtomic] and [Endpoint.CompareAtomic]
// many elements. How many an operation takes on all rails answer [Endpoint.AtomicValid] and
// its kin, on each [Endpoint.QueryAtomic]. Offsets are aligned to the type. Today's rails
// have the target's process do it: it has to drive its rails.
//
// # Counters
//
// [Endpoint.OpenCounter] counts operations that have ended, over all rails, for programs
// that do not look at each completion: successes ([Counter.Read], which drives the rails)
// and failures. [Counter.Wait] waits for a number, or answers EAVAIL when something failed.
// With [CapRMAEvent] what peers do with memory is counted, too.
//
// # Options of endpoints
//
// [OptMaxRMASize], [OptMinMultiRecv] and others are read with Get and set with Set
// (fi_getopt(3)); [NewOption] makes those of one provider. A size is the [Smallest] of the
// rails, other values have to be the [Same] on all; Option.Rails answers each. Set changes
// all rails or none. What has to be set before the endpoint is enabled stands in
// Options.Settings.
//
// # Direct mode
//
// Options.Direct has the provider of a link of one rail match messages itself, in the NIC
// where it can. The calls are the same; what differs, as that there are no untagged
// messages, the option says.
//
// # Capabilities
//
// A link can what all its rails can: Link.Info.Caps. Asking for more is an error that names
// the rail and libfabric's bit, of [Links] for [Options].Caps, otherwise of the call. It is
// [ErrNotSupported].
//
// # Errors
//
// Errors compare, with errors.Is, as the numbers of fi_errno(3) in package fierr and
// as the Err… values here. fierr.EAgain means try again, after reading the CQ;
// fierr.EAvail that the next entry of the CQ is a failure, which ReadErr answers.
//
// # Concurrency
//
// All methods are safe for concurrent use. One lock per endpoint, the progress lock,
// is held while libfabric is driven. Of the program's own code only hooks and policies run
// under it: they must not block, nor call the endpoint.
//
// # Buffers
//
// A buffer belongs to the endpoint from the call until its completion has been read
// (or Send, Recv returned). Go memory is pinned in between.
package lnx
