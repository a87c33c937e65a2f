package lnx

import (
	"errors"
	"fmt"
	"hash/maphash"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"golnx/internal/shmclean"
	"golnx/peer"
	"golnx/providers"
	"golnx/providers/fierr"
	"golnx/providers/ofi"
	"golnx/rail"
	"golnx/rail/intercept"
	"golnx/srq"
	"golnx/suq"
)

// Errors that an endpoint answers besides those of package fierr.
var (
	// ErrClosed: the endpoint is closed. It is fierr.EBadF as well.
	ErrClosed = fmt.Errorf("endpoint is closed: %w", fierr.EBadF)
	// ErrUnexpectedFull: Options.MaxUnexpected messages wait for receives, and
	// nothing is driven until receives take some. It is fierr.EAgain as well.
	ErrUnexpectedFull = fmt.Errorf("unexpected queue is full: receive from it, or raise Options.MaxUnexpected: %w", fierr.EAgain)
	// ErrPeerDead: the peer's process has ended.
	ErrPeerDead = fmt.Errorf("peer has ended: %w", fierr.EHostDown)
)

// Endpoint is an opened link. All methods are safe for concurrent use.
type Endpoint struct {
	link  *Link
	set   settings
	self  peer.Self
	blob  []byte
	local []peer.LocalRail

	// mu is the progress lock. What follows is only touched under it.
	mu       sync.Mutex
	core     providers.Core
	sel      *rail.Selector
	peers    *peer.Table[*peerState]
	byRail   [][]*peerState // whose a rail's addresses are; nil is nobody's
	posted   posted
	suq      *suq.Queue
	msgs     msgQueues
	rx       opTable[rxOp]
	tx       opTable[txOp]
	sends    int // under way
	seq      uint64
	near     bool // the policy asks where the caller runs
	stats    []rail.Stats
	inject   []uint64 // per rail: largest message that needs no pin
	arriving arriving
	cq       CQ
	op       providers.SendOp // scratch of the send path
	poll     poller
	watch    watcher
	wait     waiters
	arrivals uint64           // messages so far
	claims   []providers.Slot // messages set aside by peeks
	// starting are messages whose provider could not take buffers yet.
	starting []providers.Slot
	one      [1][]byte        // scratch of calls with one buffer
	fetch    []providers.Slot // unexpected messages to be fetched
	// fetchedBytes is what fetched messages take that wait.
	fetchedBytes uint64
	left         []*peerState // removed peers that the rails still know
	retired      []retired
	active       int        // messages on their way into buffers
	shm          []shmState // per rail
	// broken counts what went wrong with rails.
	broken int
	// probing counts the probes of shm that are under way.
	probing int
	rma     *rmaState // nil without CapRMA
	bells   bells
	hooks   *hooked // nil without consumers
	direct  directMode
	closing atomic.Bool // somebody has called Close
	closed  atomic.Bool
	// foreign is set if the user's code can run under the lock: hooks, or a policy
	// (ownPolicy), which has to be told of what is in toTell.
	foreign, ownPolicy bool
	toTell             []heardOn
	quit               atomic.Pointer[quit]
	ordered            bool // as the policy says

	atomics  atomicState
	counters *counters // nil until somebody opens one
	// minMultiRecv is OptMinMultiRecv.
	minMultiRecv uint64
}

// Open opens the rails of a link. Opening that fails closes what it opened.
func Open(link *Link) (*Endpoint, error) { return openWith(link, openCore) }

// opener opens a core; tests put failing ones here.
type opener func(link *Link, owner providers.Owner) (providers.Core, error)

func openCore(link *Link, owner providers.Owner) (providers.Core, error) {
	if slices.ContainsFunc(link.Rails, func(r providers.Info) bool { return r.Provider == "shm" }) {
		// Best effort: what cannot be judged or removed stays.
		_, _ = shmclean.Remove(shmclean.Roots{})
		shmOpening.Lock()
		defer shmOpening.Unlock()
		if err := roomForRegion("/dev/shm"); err != nil {
			return nil, err
		}
	}
	// The explicit nil matters: a nil *ofi.Core is no nil providers.Core.
	opts := ofi.Options{
		MaxRx:  link.set.MaxPosted + link.set.MaxUnexpected,
		MaxTx:  link.set.MaxSends,
		AVSize: link.set.Peers,
		Direct: link.set.Direct,
	}
	ep := endpointOf(owner)
	if ep.hooks != nil {
		opts.OpenCQ = ep.hooks.openCQ
	}
	if len(ep.set.Settings) > 0 {
		opts.Setup = func(_ int, rail *ofi.Endpoint) error { return ep.applySettings(rail.SetOption) }
	}
	core, err := ofi.Open(link.infos, owner, opts)
	if err != nil {
		return nil, err
	}
	if err := reserveRegions(core); err != nil {
		return nil, errors.Join(err, core.Close())
	}
	return core, nil
}

func openWith(link *Link, open opener) (_ *Endpoint, err error) {
	if link == nil {
		return nil, fmt.Errorf("open: no link given; Links answers those that there are: %w", fierr.EInval)
	}
	ep := &Endpoint{link: link, set: link.set, minMultiRecv: uint64(link.set.MinMultiRecv)}
	seed := maphash.Comparable(maphash.MakeSeed(), link)
	ep.posted.init(&ep.rx, seed)
	ep.suq = suq.New(seed)
	ep.msgs.srq, ep.msgs.suq = srq.New(seed), suq.New(seed)
	ep.cq.ep = ep
	if ep.self.Host, err = os.Hostname(); err != nil {
		return nil, fmt.Errorf("open %s: %w", link.Name, err)
	}
	// What cannot be read stays unknown, and shm is used with fewer peers.
	ep.self.Node, _ = peer.ReadNode(peer.Roots{})
	if ep.sel, err = rail.NewSelector(railInfos(link.Rails), rail.Options{
		Policy: link.set.Policy, Seed: link.set.Seed, Distances: nodeDistances("/sys"),
	}); err != nil {
		return nil, fmt.Errorf("open %s: %w", link.Name, err)
	}
	ep.ordered, ep.ownPolicy = ep.sel.Ordered(), !rail.BuiltIn(ep.sel.Policy())
	// Of the built-in policies only one asks; a user's may.
	ep.near = !slices.Contains([]string{rail.PerPeer, rail.PerMsg, rail.Weighted}, link.set.Policy)
	ep.peers = peer.NewTable(func(p *peer.Peer[*peerState]) { ep.left = append(ep.left, p.Data) })
	if ep.hooks, err = newHooked(ep); err != nil {
		return nil, fmt.Errorf("open %s: %w", link.Name, err)
	}
	ep.foreign = ep.ownPolicy || ep.hooks != nil && ep.hooks.users
	if err = ep.watch.open(); err != nil {
		return nil, fmt.Errorf("open %s: %w", link.Name, err)
	}
	if ep.core, err = open(link, (*owner)(ep)); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", link.Name, err), ep.watch.close())
	}
	if err = ep.start(); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", link.Name, err), ep.core.Close(), ep.watch.close())
	}
	ep.enlist()
	returned := false
	defer func() {
		if !returned { // a hook ended the goroutine
			_ = ep.Close()
		}
	}()
	err = ep.hooks.created()
	returned = true
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", link.Name, err), ep.Close())
	}
	return ep, nil
}

// start finishes what needs the opened rails.
func (ep *Endpoint) start() error {
	if err := ep.openDirect(); err != nil {
		return err
	}
	rails := ep.core.Rails()
	ep.byRail = make([][]*peerState, len(rails))
	if c, ok := ep.core.(providers.Laner); ok {
		ep.posted.matchedBy(c)
	}
	ep.shm = make([]shmState, len(rails))
	ep.stats = make([]rail.Stats, len(rails))
	for _, r := range rails {
		ep.inject = append(ep.inject, r.InjectSize)
	}
	ep.arriving.init(ep.core)
	ep.poll.init(ep.core)
	fds, polled := ep.core.WaitFDs()
	if slices.ContainsFunc(ep.link.Rails, func(r providers.Info) bool { return r.NodeLocal }) {
		ep.bells.open()
	}
	if err := ep.wait.open(fds, polled, ep.watch.epfd, ep.bells.own); err != nil {
		return errors.Join(err, ep.bells.close())
	}
	var err error
	if ep.blob, err = ep.makeBlob(); err != nil {
		return errors.Join(err, ep.wait.close(), ep.bells.close())
	}
	if err := ep.openRMA(); err != nil {
		return errors.Join(err, ep.wait.close(), ep.bells.close())
	}
	if ep.hooks != nil {
		own, err := peer.Decode(ep.blob)
		if err != nil {
			return errors.Join(err, ep.closeRMA(), ep.wait.close(), ep.bells.close())
		}
		ep.hooks.view.Address = own.String()
	}
	return nil
}

// Link is what the endpoint was opened from.
func (ep *Endpoint) Link() *Link { return ep.link }

// CQ is the completion queue of all rails.
func (ep *Endpoint) CQ() *CQ { return &ep.cq }

// AV is the address vector of the endpoint.
func (ep *Endpoint) AV() *AV { return (*AV)(ep) }

// Name is the endpoint's address blob, for peers' AV.Insert (fi_getname(3)). The
// caller owns the copy.
func (ep *Endpoint) Name() []byte { return append([]byte(nil), ep.blob...) }

// Ordered says whether messages to a peer are received in the order sent
// (FI_ORDER_SAS), which depends on the policy.
func (ep *Endpoint) Ordered() bool { return ep.ordered }

// RailStats are the counters of one rail.
type RailStats struct {
	Name   string
	Health rail.Health
	rail.Stats
}

// String is one line for logs.
func (s RailStats) String() string { return fmt.Sprintf("%s (%v): %v", s.Name, s.Health, s.Stats) }

// Stats answers the counters of every rail, in the link's order.
func (ep *Endpoint) Stats() []RailStats {
	ep.lock()
	defer ep.unlock()
	out := make([]RailStats, len(ep.stats))
	for i, s := range ep.stats {
		out[i] = RailStats{ep.link.Rails[i].Name(), ep.sel.Rails().Health(i), s}
	}
	return out
}

// Close ends the endpoint: operations under way end without a completion,
// blocked calls return ErrClosed, and unread completions are dropped. Closing
// twice does nothing. Peers notice only that nothing comes any more.
func (ep *Endpoint) Close() error {
	if ep.closing.Swap(true) {
		return ep.closedItself()
	}
	return ep.close()
}

// close closes the endpoint, also if a hook ends the goroutine.
func (ep *Endpoint) close() error {
	returned := false
	defer func() {
		if !returned {
			_ = ep.shut()
		}
	}()
	err := ep.hooks.closing()
	returned = true
	return errors.Join(err, ep.shut())
}

func (ep *Endpoint) shut() error {
	ep.closed.Store(true)
	ep.wait.wakeAll()
	process.closing.Lock()
	defer process.closing.Unlock()
	ep.wait.lead.Lock() // nobody sleeps on the descriptors any more
	defer ep.wait.lead.Unlock()
	for _, other := range ep.others() {
		ep.endNear(other)
		other.lock()
		back := other.hooks.standAside()
		ep.answerLocal()
		other.forget(ep)
		back()
		other.mu.Unlock()
	}
	ep.lock()
	defer ep.unlock()
	ep.hooks.standAside()
	if ep.set.DumpStats {
		ep.dumpStats()
	}
	ended := ep.closeRMA()
	ep.dropWaiting()
	err := ep.core.Close()
	ep.abandonAll(err == nil)
	for p := range ep.peers.All() {
		ep.leaveBell(p.Data)
	}
	for _, state := range ep.left {
		ep.leaveBell(state)
	}
	return errors.Join(ended, err, ep.closeViews(), ep.watch.close(), ep.wait.close(), ep.bells.close())
}

// abandonAll ends all calls and lets go of every buffer, unless a provider may
// still refer to them.
func (ep *Endpoint) abandonAll(unpin bool) {
	ep.rx.all(func(slot providers.Slot, op *rxOp) {
		if unpin {
			op.pin.Unpin()
		}
		if op.multi != nil && op.multi.slot != slot {
			op.ctx = nil // which is the multi-receive's
		}
		if f, ok := ep.hooks.withdrawn(op.ctx).(*call); ok {
			f.finish(Entry{}, ep.whyClosed())
		}
		*op = rxOp{}
	})
	ep.tx.all(func(_ providers.Slot, op *txOp) {
		ep.endRMA(op)
		if unpin {
			op.pin.Unpin()
		}
		if op.atomic != nil {
			ep.atomics.abandoned(op.atomic, unpin)
		}
		if f, ok := ep.hooks.withdrawn(op.ctx).(*call); ok {
			f.finish(Entry{}, ep.whyClosed())
		}
		*op = txOp{}
	})
	ep.atomics.close(unpin)
}

func (ep *Endpoint) dumpStats() {
	for i, s := range ep.stats {
		fmt.Fprintf(os.Stderr, "lnx: %s: %v\n", ep.link.Rails[i].Name(), s)
	}
}

// check is the first thing that every operation does under the lock.
func (ep *Endpoint) check() error {
	if ep.closed.Load() {
		return ep.whyClosed()
	}
	return nil
}

// allowed is the first thing that operations on messages do.
func (ep *Endpoint) allowed(o intercept.Op) error {
	if err := ep.check(); err != nil {
		return err
	}
	if ep.direct.core != nil && untagged(o) {
		return ep.noUntagged(o)
	}
	return nil
}

// owner is the endpoint's side of providers.Owner, kept out of its public
// method set.
type owner Endpoint

func endpointOf(o providers.Owner) *Endpoint { return (*Endpoint)(o.(*owner)) }

// Match implements providers.Owner.
func (o *owner) Match(r int, src, size, tag uint64) (providers.Slot, bool) {
	ep := (*Endpoint)(o)
	from := ep.arrived(r, src)
	if slot, ok := ep.posted.Match(uint64(from), tag); ok {
		ep.met(slot, r, from, size)
		return slot, true
	}
	return ep.unexpected(r, from, size, tag, false), false
}

// unexpected queues a message that met no receive.
func (ep *Endpoint) unexpected(r int, from Addr, size, tag uint64, msg bool) providers.Slot {
	slot, err := ep.core.AllocRx(true)
	if err != nil {
		panic("lnx: out of memory for unexpected messages")
	}
	op := ep.rx.at(slot)
	op.state, op.rail, op.from, op.tag, op.msg = rxUnexpected, int8(r), from, tag, msg
	ep.queued(op).Push(slot, uint64(from), tag)
	if from != AddrUnspec {
		ep.mustFetch(slot, r, size)
	}
	ep.stats[r].Unexpected(size)
	return slot
}

// arrived notes a message, and answers whose it is.
func (ep *Endpoint) arrived(r int, src uint64) Addr {
	from := ep.senderOf(r, src)
	if from != nil && !from.heard {
		ep.heard(from, r, src)
	}
	ep.poll.busy(r)
	ep.arrivals++
	return from.name()
}

// met notes that a message took a posted receive.
func (ep *Endpoint) met(slot providers.Slot, r int, from Addr, size uint64) {
	op := ep.rx.at(slot)
	op.state, op.rail, op.from = rxActive, int8(r), from
	ep.active++
	ep.stats[r].Expected(size)
}

// Taken implements providers.Owner.
func (o *owner) Taken() { (*Endpoint)(o).noteTaken() }

// Dropped implements providers.Owner.
func (o *owner) Dropped(slot providers.Slot) {
	ep := (*Endpoint)(o)
	op := ep.rx.at(slot)
	ep.stats[op.rail].Error()
	ep.queued(op).Remove(slot)
	ep.claims = slices.DeleteFunc(ep.claims, func(s providers.Slot) bool { return s == slot })
	ep.noFetch(slot)
	ep.starting = slices.DeleteFunc(ep.starting, func(s providers.Slot) bool { return s == slot })
	*op = rxOp{}
	ep.core.ReleaseRx(slot)
}
