package intercept

import "golnx/providers/fiinfo"

// Hooks are what one consumer wants to see of, or change in, the operations of an
// endpoint. Every field is optional; one that is nil costs nothing.
//
// A hook of an operation is called in its place, with the call's arguments and next,
// which does what would have been done without the hook: the next consumer's hook, and
// in the end the provider's operation. Several consumers chain in the order they were
// registered: the first one is the outermost.
//
// The hooks of operations and Complete run with the endpoint's progress lock held, on
// the goroutine that made the call or drives the rails: they must not block and must not
// call the same endpoint. Arguments are valid until the hook returns. A hook that
// panics makes an error of the call (*PanicError), which names the consumer. One that ends
// its goroutine (runtime.Goexit, testing.T.FailNow) has the endpoint close itself.
type Hooks struct {
	// Name is the consumer's, for errors and traces.
	Name string

	// Tagged messages (fi_tagged(3)), on the rail that the policy chose.
	TSend, TSendV, TSendMsg, TSendData, TInject, TInjectData SendFunc
	// Untagged messages (fi_msg(3)).
	Send, SendV, SendMsg, SendData, Inject, InjectData SendFunc
	// Receives. They belong to the link, not to a rail: the rail is known when a
	// message comes. Peeks and claims come as TRecvMsg.
	TRecv, TRecvV, TRecvMsg RecvFunc
	Recv, RecvV, RecvMsg    RecvFunc
	// Remote memory access (fi_rma(3)).
	Read, ReadV, ReadMsg                                             RMAFunc
	Write, WriteV, WriteMsg, InjectWrite, WriteData, InjectWriteData RMAFunc
	// Atomic operations (fi_atomic(3)).
	Atomic, AtomicV, AtomicMsg, InjectAtomic        AtomicFunc
	FetchAtomic, FetchAtomicV, FetchAtomicMsg       AtomicFunc
	CompareAtomic, CompareAtomicV, CompareAtomicMsg AtomicFunc

	// Complete sees each operation that was accepted when it has ended, on its way to
	// the CQ or to a blocked call, and may change it. It comes exactly once, also for
	// operations without a completion in the CQ; of a multi-receive for each message,
	// the last time with FI_MULTI_RECV in Flags. Consumers are called in the opposite
	// order, so that each finds the Context that it had put in. A consumer that hooks
	// no receives is not told of receives, one that hooks nothing else is told of
	// nothing else, and one that hooks no operation is told of all.
	Complete func(r *Rail, c *Completion)

	// CQRead and CQWait are CQ.Read and CQ.Wait (fi_cq_read(3), fi_cq_sread(3)). They
	// run without a lock. One that panics after next has answered entries makes the
	// call answer them, and an error.
	CQRead, CQWait ReadFunc

	// GetInfo is fi_getinfo(3), once for each provider that a link asks for. Hooks
	// may change what is asked, and take answers out or put them in another order.
	// Only hooks that are given to Links, or registered before it, see it.
	GetInfo func(c *GetInfo, next func(*GetInfo) error) error
	// CQOpen is fi_cq_open(3) of each rail, which may be given another size.
	CQOpen func(r *Rail, c *CQOpen, next func(*CQOpen) error) error

	// DomainInfo and EndpointInfo tell what a rail's domain and endpoint were asked
	// for, and the info that they are opened from. Both are valid for the call only.
	DomainInfo, EndpointInfo func(r *Rail, requested, granted *fiinfo.Info)
	// EndpointCreated and CQCreated come once, when the endpoint of the link is
	// open; EndpointClosing and CQClosing before it closes, while rails still work.
	EndpointCreated, EndpointClosing func(e *Endpoint)
	CQCreated, CQClosing             func(e *Endpoint)
}

// The operations' functions.
type (
	SendFunc   func(r *Rail, c *Send, next func(*Send) error) error
	RecvFunc   func(r *Rail, c *Recv, next func(*Recv) error) error
	RMAFunc    func(r *Rail, c *RMA, next func(*RMA) error) error
	AtomicFunc func(r *Rail, c *Atomic, next func(*Atomic) error) error
	ReadFunc   func(e *Endpoint, entries []Entry, next func([]Entry) (int, error)) (int, error)
)
