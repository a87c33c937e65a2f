package providers

import (
	"iter"
	"unsafe"
)

// Slot names an entry of one of a Core's slabs: of its receive entries or of
// its send contexts.
type Slot = uint32

// NoSlot is the Slot of a message that needs none (Injector).
const NoSlot = ^Slot(0)

// NoAddr is the rail address of an unknown sender (FI_ADDR_UNSPEC).
const NoAddr = ^uint64(0)

// MaxIOV is the largest number of buffers of one operation, whatever a provider
// could take.
const MaxIOV = 4

// SmallRecv is the largest receive in bytes that needs no buffer of its own.
const SmallRecv = 64

// ColdRounds is after how many rounds of Spin the next rail without traffic has its turn.
const ColdRounds = 64

// MaxRails is the largest number of rails of one endpoint.
const MaxRails = 64

// Kind says which slab a completion's slot belongs to.
type Kind uint8

// The two kinds of completions.
const (
	Transmit Kind = 1
	Receive  Kind = 2
)

// Flags of operations and completions (fi_cq(3), fi_tagged(3)).
const (
	FlagMsg          = 1 << 1
	FlagTagged       = 1 << 3
	FlagRecv         = 1 << 10
	FlagSend         = 1 << 11
	FlagRemoteCQData = 1 << 17
	FlagCompletion   = 1 << 24
	FlagInject       = 1 << 25
)

// Completion is one entry of the ring that the providers complete into. It is
// read in place; the memory belongs to the Core and is valid until Consume.
type Completion struct {
	Flags uint64
	Len   uint64
	Data  uint64
	Tag   uint64
	Src   uint64 // rail address of the sender, NoAddr if unknown
	Olen  uint64 // bytes of the message that did not fit
	Slot  Slot
	// ProvErrno is the provider's own error number, for its own text.
	ProvErrno int32
	Gen       uint16 // of the slot when the operation was handed over
	Rail      uint8
	Kind      Kind
	// Err is 0 or a number of package fierr.
	Err int32
}

// IOVec is one buffer. Whoever fills it in keeps the memory pinned, or outside
// the Go heap, until the operation has completed.
type IOVec struct {
	Base unsafe.Pointer
	Len  uintptr
}

// SendOp is one send: tagged (fi_tsendmsg(3)), or with FlagMsg untagged (fi_sendmsg(3)).
// A Core does not keep it.
type SendOp struct {
	IOV   [MaxIOV]IOVec
	Count int
	Dest  uint64 // rail address
	Tag   uint64
	Data  uint64
	// Flags are FlagRemoteCQData, FlagInject for a message of at most the rail's
	// InjectSize bytes, whose buffer the caller has back at once, and FlagMsg for an
	// untagged one, whose Tag is 0.
	Flags uint64
	Slot  Slot
}

// Message describes an unexpected message that waits in its provider.
type Message struct {
	Size  uint64
	Tag   uint64
	Data  uint64
	Flags uint64
	Src   uint64
	Rail  int
}

// Owner is called back while a Core makes progress, on the goroutine that holds
// the endpoint's progress lock. It must not call the Core's methods other than
// AllocRx, ReleaseRx and SetBuffers.
type Owner interface {
	// Match answers get_tag of fi_peer(3): the slot of the posted receive that
	// takes the message, or posted == false and a fresh slot which the owner
	// has put into its unexpected queue.
	Match(rail int, src, size, tag uint64) (slot Slot, posted bool)
	// MatchMsg is Match for an untagged message (get_msg).
	MatchMsg(rail int, src, size uint64) (slot Slot, posted bool)
	// Taken has the owner deal with Lane.Taken, which is full.
	Taken()
	// Dropped says that the provider withdrew an unexpected message.
	Dropped(slot Slot)
}

// Core is the opened rails of one endpoint. Its methods are called with the
// endpoint's progress lock held; it takes no locks of its own.
//
// Errors of the data path are the preallocated values of package fierr.
type Core interface {
	// Rails answers what was opened, in the order asked for.
	Rails() []Info
	// Name answers fi_getname(3) of a rail's endpoint.
	Name(rail int) ([]byte, error)
	// Insert and Remove answer fi_av_insert and fi_av_remove. Rail addresses
	// are small and dense from 0 (FI_AV_TABLE).
	Insert(rail int, addr []byte) (uint64, error)
	Remove(rail int, addr uint64) error

	// AllocTx takes a send context, or answers fierr.EAgain at the limit.
	AllocTx() (Slot, error)
	FreeTx(Slot)
	// Send hands a message to a rail. After an error the slot is the caller's.
	Send(rail int, op *SendOp) error

	// AllocRx takes a receive entry, or answers fierr.EAgain at the limit.
	// With overLimit it only fails when memory is exhausted.
	AllocRx(overLimit bool) (Slot, error)
	// ReleaseRx gives an entry back, at once or when the provider lets go.
	ReleaseRx(Slot)
	// SetBuffers tells where a message goes.
	SetBuffers(slot Slot, iov []IOVec)
	// SetSmall has a message of at most size bytes go into the slot itself, so
	// that nothing has to be pinned; size is at most SmallRecv. Small answers
	// the memory, which is valid until ReleaseRx.
	SetSmall(slot Slot, size int)
	Small(slot Slot) []byte
	// Start hands an unexpected message the buffers of SetBuffers (start_tag,
	// start_msg).
	Start(slot Slot) error
	// Unexpected describes an unexpected message.
	Unexpected(slot Slot) Message
	// Whose asks the rail again for the sender of an unexpected message.
	Whose(slot Slot) uint64

	// Progress drives the rails in the mask and answers how many completions
	// wait. Spin repeats that, with the rails of hot every round and one of the
	// others of all, in turn, once in ColdRounds, until a completion waits or the
	// rounds are over.
	Progress(rails uint64) int
	Spin(hot, all uint64, rounds int) int
	// Ready answers completions that lie side by side in the ring, the oldest
	// first; Consume gives the first n of them back.
	Ready() []Completion
	Consume(n int)

	// WaitFDs answers the descriptors that become readable when a rail has
	// something to do, and the mask of the rails that have none.
	WaitFDs() (fds []int, without uint64)
	// TryWait prepares the rails for blocking on those descriptors
	// (fi_trywait(3)); false means that there is work to do first.
	TryWait() bool

	// Close ends all rails. Slots and buffers are no longer referred to after it.
	Close() error
}

// Injector is implemented by Cores that send small messages without a context and a
// completion, which makes sense over rails with Info.InjectArrives.
type Injector interface {
	// Inject sends the one buffer of op, of at most the rail's InjectSize bytes
	// (fi_tinject(3), fi_tinjectdata(3)); its Slot is NoSlot, and it needs no FlagInject.
	Inject(rail int, op *SendOp) error
}

// BatchSize is how many messages a Batcher takes in one call.
const BatchSize = 64

// Batcher is implemented by Cores that take several messages in one call.
type Batcher interface {
	// Stage notes a message of one buffer, the i-th of a batch, for SendStaged. One with
	// NoSlot is sent as by Injector.
	Stage(i int, op *SendOp)
	// SendStaged hands the first n staged messages to a rail, in order, until it
	// refuses one. It answers how many it took, and why not the next. The slots of
	// the rest are the caller's.
	SendStaged(rail, n int) (int, error)
}

// Prober is implemented by Cores whose rails can stop receiving without a word.
type Prober interface {
	// Probe sends an empty untagged message (fi_inject(3)), which arrives with
	// Owner.MatchMsg behind what was sent before.
	Probe(rail int, dest uint64) error
}

// LaneSize is how many posted receives a lane holds.
const LaneSize = 64

// Lane is where a Core itself matches messages with the posted receives while they are
// few, and where it notes what messages took from there and from its Index. Owner and
// Core share the memory; the owner touches it while no call into the Core is under way,
// and in Owner.Taken.
type Lane struct {
	// Entries[Lo:Hi] are the receives, the oldest first, at most LaneSize. The owner
	// adds at the end, the Core takes out what messages meet. There is room for twice
	// as many, so that little has to be moved.
	Lo, Hi uint32
	// TakenN is the number of messages that met an entry and that the owner has
	// not dealt with; it sets it to 0 after each call that drives rails.
	TakenN  uint32
	_       uint32
	Entries [2 * LaneSize]LaneEntry
	Taken   [LaneSize]LaneTaken
}

// Posted answers the receives in the lane, the oldest first. They are valid until the
// next call into the Core.
func (l *Lane) Posted() []LaneEntry { return l.Entries[l.Lo:l.Hi] }

// Add adds a receive as the newest. The owner sees to it that there are fewer than
// LaneSize.
func (l *Lane) Add(e LaneEntry) {
	if l.Hi == 2*LaneSize {
		l.Hi = uint32(copy(l.Entries[:], l.Posted()))
		l.Lo = 0
	}
	l.Entries[l.Hi] = e
	l.Hi++
}

// LaneEntry is a posted receive. Src is NoAddr for any source, otherwise what the
// owner gave to Laner.MapPeer.
type LaneEntry struct {
	Src, Tag, Ignore uint64
	Slot             Slot
	_                uint32
}

// LaneTaken says which receive a message took, as Owner.Match would be asked.
type LaneTaken struct {
	Src  uint64 // rail address
	Size uint64
	Slot Slot
	Rail uint32
}

// Index is where a Core matches messages with the posted receives when they are many: the
// lane is empty then. The owner touches it while no call into the Core is under way.
type Index interface {
	// Reserve makes room for a slot of AllocRx, so that Post cannot fail.
	Reserve(slot Slot) error
	// Post adds a receive as the newest.
	Post(slot Slot, src, tag, ignore uint64)
	// Cancel takes a receive out, and answers false if it is not there.
	Cancel(slot Slot) bool
	Len() int
	// All iterates over the receives, oldest first, and Directed over those that only
	// one source can meet. The loop may cancel the one that it was given.
	All() iter.Seq[Slot]
	Directed(src uint64) iter.Seq[Slot]
}

// Laner is implemented by Cores that match posted receives themselves.
type Laner interface {
	Lane() *Lane
	Index() Index
	// MapPeer says whose a rail address is, NoAddr for nobody's.
	MapPeer(rail int, addr, peer uint64) error
}

// Fetcher is implemented by Cores with rails whose Info has a Fetch; their owners
// have to use it.
type Fetcher interface {
	// Fetch has an unexpected message transferred into memory of the Core, with a
	// completion of kind Receive, unless the Core has begun with that already.
	// Fetched answers it after the completion; the memory is valid until
	// ReleaseRx.
	Fetch(slot Slot) error
	Fetched(slot Slot) []byte
	// Deliver has a fetched message complete once more, as one of which n bytes were
	// received, after what has completed before.
	Deliver(slot Slot, n int)
}

// RemoteEvents are what a rail has counted of what peers did with its memory, from when
// it was opened.
type RemoteEvents struct{ Reads, ReadErrs, Writes, WriteErrs uint64 }

// RemoteCounter is implemented by Cores with rails that count what peers do.
type RemoteCounter interface {
	// RemoteEvents answers false if the rail does not count, for want of FI_RMA_EVENT.
	RemoteEvents(rail int) (RemoteEvents, bool)
}

// Optioner is implemented by Cores whose rails have options (fi_getopt(3)): of level
// FI_OPT_ENDPOINT, by number, with values as C has them. One that a rail does not know is
// fierr.ENoProtoOpt.
type Optioner interface {
	// Option fills in value, whose length is that of the option's type, and answers
	// as much of it as the rail has.
	Option(rail, number int, value []byte) ([]byte, error)
	SetOption(rail, number int, value []byte) error
}
