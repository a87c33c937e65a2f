package lnx

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
	"unsafe"

	"golnx/internal/livekeys"
	"golnx/mr"
	"golnx/peer"
	"golnx/providers"
	"golnx/providers/fierr"
	"golnx/rail/intercept"
)

// ErrNoRMA says that the endpoint's link was not asked for CapRMA. It is
// fierr.EOpNotSupp as well.
var ErrNoRMA = fmt.Errorf("the link was opened without CapRMA (FI_RMA), which Options.Caps asks for: %w", fierr.EOpNotSupp)

// registrars are Cores whose rails register memory.
type registrars interface{ Registrar(rail int) mr.Registrar }

// rmaState is what an endpoint with CapRMA has for memory of its own and of peers.
// It is touched under the progress lock.
type rmaState struct {
	mem   *mr.Manager
	core  providers.RMAer
	id    endpointID
	table *livekeys.Table // of the keys that node-local rails gave out; nil without such a rail
	local []bool          // per rail: it wants its own operations' buffers registered
	op    providers.RMAOp // scratch of the path of an operation, as are the next two
	one   [1]RemoteRange
	seen  [providers.MaxIOV]intercept.RemoteIOV
	free  []*held
	near  int // operations under way over node-local rails
}

// held is what an operation uses until its completion.
type held struct {
	leases [providers.MaxIOV]mr.Lease // of its buffers
	nlease int
	view   *livekeys.View
	keys   [providers.MaxIOV]uint64 // that were entered in view
	nkey   int
}

// progressLock is the endpoint's progress lock as a sync.Locker.
type progressLock Endpoint

func (l *progressLock) Lock()   { (*Endpoint)(l).lock() }
func (l *progressLock) Unlock() { (*Endpoint)(l).unlock() }

var _ sync.Locker = (*progressLock)(nil)

// openRMA prepares the opened rails for registration and RMA.
func (ep *Endpoint) openRMA() (err error) {
	if ep.set.Caps&CapRMA == 0 {
		return nil
	}
	core, ok := ep.core.(providers.RMAer)
	domains, too := ep.core.(registrars)
	if !ok || !too {
		return ErrNoRMA // of a core that tests made
	}
	own, err := peer.Decode(ep.blob)
	if err != nil {
		return err
	}
	var seed [16]byte
	_, _ = rand.Read(seed[:]) // never fails
	s := &rmaState{core: core, id: identify(own)}
	opts := mr.Options{
		Eager: ep.set.EagerMR, NoCache: ep.set.NoMRCache, MaxEntries: ep.set.MRCacheEntries, MaxBytes: ep.set.MRCacheBytes,
		// Keys of an earlier life are unknown, and stay below the sign.
		FirstKey: binary.LittleEndian.Uint64(seed[:]) >> 1, Lock: (*progressLock)(ep),
	}
	for i, info := range ep.core.Rails() {
		r := mr.Rail{Name: info.Name(), Registrar: domains.Registrar(i)}
		if r.Entry, err = ep.entryOf(own, i); err != nil {
			return err
		}
		if info.NodeLocal && info.MRMode&mr.ModeRaw == 0 {
			if s.table == nil {
				if s.table, err = livekeys.New(binary.LittleEndian.Uint64(seed[8:])); err != nil {
					return err
				}
			}
			r.Registrar = &publisher{r.Registrar, s.table}
		}
		opts.Rails = append(opts.Rails, r)
		s.local = append(s.local, info.MRMode&providers.MRLocal != 0)
	}
	if s.mem, err = mr.New(opts); err != nil {
		if s.table != nil {
			err = errors.Join(err, s.table.Close())
		}
		return err
	}
	ep.rma = s
	return nil
}

// entryOf finds a rail's address in the endpoint's own blob, whose order is that of the
// wire.
func (ep *Endpoint) entryOf(own *peer.Address, r int) (int, error) {
	info := ep.core.Rails()[r]
	name, err := ep.core.Name(r)
	if err != nil {
		return 0, err
	}
	for i, e := range own.Entries {
		if own.Provider(i) == info.Provider && bytes.Equal(e.Addr, name) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("the endpoint's own address does not have rail %s: %w", info.Name(), fierr.EOther)
}

// closeRMA lets go of all memory, before the rails close, under the lock. Peers that are
// about to write over a node-local rail are waited for.
func (ep *Endpoint) closeRMA() error {
	if ep.rma == nil {
		return nil
	}
	var errs []error
	if t := ep.rma.table; t != nil {
		inUse := t.RemoveAll()
		for end := time.Now().Add(leaveLimit); ; runtime.Gosched() {
			ep.takeLocal()
			if inUse = slices.DeleteFunc(inUse, func(key uint64) bool { return !t.InUse(key) }); len(inUse) == 0 || time.Now().After(end) {
				break
			}
		}
		ep.takeLocal()
		errs = append(errs, t.Close())
	}
	return errors.Join(append(errs, ep.rma.mem.CloseLocked())...)
}

// closeViews forgets the tables of peers, when no operation uses them any more.
func (ep *Endpoint) closeViews() error {
	var errs []error
	for p := range ep.peers.All() {
		errs = append(errs, p.Data.keys.Close())
	}
	for _, state := range ep.left {
		errs = append(errs, state.keys.Close())
	}
	return errors.Join(errs...)
}

// answerLocal does what an endpoint of this process, whose lock is held, has asked of this
// one's memory, and takes the messages that wait here. shm reads the answer in this one's
// region, which is about to go.
func (ep *Endpoint) answerLocal() {
	ep.lock()
	if ep.rma != nil {
		ep.takeLocal()
	}
	ep.dropWaiting()
	ep.mu.Unlock()
}

// leaveLimit is how long peers on this node are waited for to end what they do with
// memory that closes.
const leaveLimit = 50 * time.Millisecond

// takeLocal has node-local rails do what peers have left in their queues.
func (ep *Endpoint) takeLocal() {
	var rails uint64
	for i, r := range ep.link.Rails {
		if r.NodeLocal {
			rails |= 1 << i
		}
	}
	const rounds = 8 // one that fails ends a round of shm
	for range rounds {
		ep.core.Progress(rails)
	}
}

// publisher is a Registrar that lets peers see which keys are good.
type publisher struct {
	mr.Registrar
	table *livekeys.Table
}

type published struct {
	mr.Registration
	by  *publisher
	key uint64 // 0 if peers do not use it
}

func (p *publisher) Register(attr *mr.Attr) (mr.Registration, error) {
	remote := attr.Access&mr.RemoteAccess != 0
	mem := livekeys.Memory{Len: uint64(attr.Memory.Len), Access: uint64(attr.Access & mr.RemoteAccess)}
	if p.Attr().Mode&providers.MRVirtAddr != 0 {
		mem.Start = uint64(uintptr(attr.Memory.Base))
	}
	if remote && p.Attr().Mode&providers.MRProvKey == 0 {
		if !p.table.Add(attr.RequestedKey, mem) {
			return nil, fierr.ENoKey // the manager tries another
		}
		r, err := p.Registrar.Register(attr)
		if err != nil {
			p.table.Remove(attr.RequestedKey)
			return nil, err
		}
		return &published{r, p, attr.RequestedKey}, nil
	}
	r, err := p.Registrar.Register(attr)
	if err != nil || !remote {
		return &published{r, p, 0}, err
	}
	if !p.table.Add(r.Key(), mem) {
		return nil, errors.Join(fmt.Errorf("no place for the key: %w", fierr.ENoKey), r.Close())
	}
	return &published{r, p, r.Key()}, nil
}

func (r *published) Domain() mr.Registrar { return r.by }

func (r *published) Close() error {
	r.by.table.Remove(r.key)
	return r.Registration.Close()
}

// Region is memory that stays registered until Close, for peers to read and write, or
// for many operations of this endpoint. It is safe for concurrent use.
type Region struct {
	ep *Endpoint
	r  *mr.Region
	// Under the progress lock:
	keys    []uint64  // of node-local rails that were given away
	closing time.Time // of the first Close
}

// Register registers buf, at least a byte, for access (fi_mr_reg(3)); package mr has the
// kinds of access, and what registration is about. Each rail does it when it first needs
// to, unless Options.EagerMR. buf must not change its place before the region is closed;
// memory of Go is pinned until then.
//
// Buffers of this endpoint's own reads and writes need not be registered: what their
// rails ask for is done, and cached.
func (ep *Endpoint) Register(buf []byte, access mr.Access) (*Region, error) {
	if ep.rma == nil {
		return nil, ep.withoutCap("Register", ErrNoRMA)
	}
	return ep.region(ep.rma.mem.Register(buf, access))
}

// RegisterMemory is Register for memory that is no slice: of a device, or a DMA-BUF. If
// no rail reaches it the error is ErrNotSupported, and names one.
func (ep *Endpoint) RegisterMemory(mem mr.Memory, access mr.Access) (*Region, error) {
	if ep.rma == nil {
		return nil, ep.withoutCap("RegisterMemory", ErrNoRMA)
	}
	return ep.region(ep.rma.mem.RegisterMemory(mem, access))
}

func (ep *Endpoint) region(r *mr.Region, err error) (*Region, error) {
	if err != nil {
		return nil, ep.orClosed(err)
	}
	return &Region{ep: ep, r: r}, nil
}

// orClosed answers the error of a call on memory, or that the endpoint is closed.
func (ep *Endpoint) orClosed(err error) error {
	if ep.closed.Load() {
		return ep.whyClosed()
	}
	return err
}

// MRStats says how the cache of registrations does.
func (ep *Endpoint) MRStats() mr.Stats {
	if ep.rma == nil {
		return mr.Stats{}
	}
	return ep.rma.mem.Stats()
}

// Bytes answers the memory, nil after Close.
func (r *Region) Bytes() []byte { return r.r.Bytes() }

// Len is the length in bytes, also after Close.
func (r *Region) Len() int { return r.r.Len() }

// Access is what the region may be used for.
func (r *Region) Access() mr.Access { return r.r.Access() }

// RemoteKey answers what a peer needs to reach the memory, for its Import: bytes that
// carry the key and address base of every rail. It takes remote access. Whoever has them
// can use the memory, as far as its access allows.
func (r *Region) RemoteKey() ([]byte, error) {
	key, err := r.r.RemoteKey()
	if err != nil {
		return nil, r.ep.orClosed(err)
	}
	k := rkey{id: r.ep.rma.id, mr: key, base: byte(uintptr(unsafe.Pointer(unsafe.SliceData(r.r.Bytes()))) % 64)}
	if t := r.ep.rma.table; t != nil {
		k.table = t.Name()
		if err := r.noteKeys(); err != nil {
			return nil, r.ep.orClosed(err)
		}
	}
	return k.marshal()
}

// noteKeys keeps the keys that peers can have, for Close.
func (r *Region) noteKeys() error {
	var keys []uint64
	for i, info := range r.ep.link.Rails {
		if !info.NodeLocal {
			continue
		}
		h, err := r.r.On(i)
		if err != nil {
			return err
		}
		keys = append(keys, h.Key)
	}
	r.ep.lock()
	defer r.ep.unlock()
	r.keys = keys
	return nil
}

// Close ends the region: peers that use its key from then on get an error. It answers
// mr.ErrBusy while operations use the memory, of this endpoint as their buffer, or of
// peers on this node; it must not be freed then. Calling it again tells whether they have
// ended. It answers nil once, and then no peer writes into the memory any more, with one
// exception: what of a write has begun to arrive over rxm goes on to its end. So let peers
// say that they are done before the memory is used for something else.
//
// A peer on this node that does not read its completions, or was killed, holds the memory
// for 30 s at the most.
func (r *Region) Close() error {
	for end := time.Now().Add(leaveLimit); r.inUse(); runtime.Gosched() {
		if time.Now().After(end) {
			return fmt.Errorf("operations of peers on this node use the region: %w", mr.ErrBusy)
		}
	}
	return r.r.Close()
}

// abandonedAfter is when a peer is taken to have died in the middle of an operation.
const abandonedAfter = 30 * time.Second

// inUse withdraws the keys from peers on this node, and says whether any of them is still
// in the middle of something.
func (r *Region) inUse() bool {
	ep := r.ep
	ep.lock()
	defer ep.unlock()
	if len(r.keys) == 0 || ep.closed.Load() {
		return false
	}
	if r.closing.IsZero() {
		r.closing = time.Now()
		for _, key := range r.keys {
			ep.rma.table.Remove(key)
		}
	}
	ended := !slices.ContainsFunc(r.keys, ep.rma.table.InUse)
	ep.takeLocal() // what they have left in the queue
	ep.drain()
	if ended || time.Since(r.closing) > abandonedAfter {
		r.keys = nil
		return false
	}
	return true
}
