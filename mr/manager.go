package mr

import (
	"errors"
	"sync"
	"sync/atomic"
	"unsafe"

	"golnx/providers"
	"golnx/providers/fierr"
)

// Bounds of the cache where Options do not say others.
const (
	DefaultMaxEntries = 1024
	DefaultMaxBytes   = 256 << 20
)

// Options are what a Manager is made of. Only Rails is needed.
type Options struct {
	Rails []Rail
	// Eager registers memory with all rails at once that need it, as LNX does,
	// instead of with each when it first needs it.
	Eager bool
	// NoCache ends registrations as soon as nobody uses them.
	NoCache bool
	// MaxEntries and MaxBytes bound what is cached, that which is in use included; 0
	// takes the defaults. In use there may be more, idle there never is.
	MaxEntries int
	MaxBytes   int64
	// FirstKey is where the keys begin that are chosen on this side. A number that
	// differs from one life of the process to the next keeps peers from meeting a new
	// registration with an old key.
	FirstKey uint64
	// Lock is held around all calls of Registrars and registrations: domains opened
	// with FI_THREAD_DOMAIN want the endpoint's progress lock. Methods whose names end
	// in Locked are called with it held, the others take it. nil makes one.
	Lock sync.Locker
}

// Validate says what is wrong with o.
func (o *Options) Validate() error {
	if n := len(o.Rails); n < 1 || n > providers.MaxRails {
		return invalid("Options.Rails has %d rails: 1 to %d are possible", n, providers.MaxRails)
	}
	entries := map[int]string{}
	for _, r := range o.Rails {
		if r.Entry < 0 || r.Entry >= providers.MaxRails {
			return invalid("rail %s: Entry is %d, want 0 to %d", r.Name, r.Entry, providers.MaxRails-1)
		}
		if other, taken := entries[r.Entry]; taken {
			return invalid("rails %s and %s: Entry is %d for both", other, r.Name, r.Entry)
		}
		entries[r.Entry] = r.Name
	}
	if o.MaxEntries < 0 || o.MaxBytes < 0 {
		return invalid("Options.MaxEntries %d and MaxBytes %d: want 0 or more; NoCache turns the cache off", o.MaxEntries, o.MaxBytes)
	}
	return nil
}

// Manager registers memory with the rails of one endpoint. It is safe for concurrent
// use, by its Lock.
type Manager struct {
	lock       sync.Locker
	rails      []rail
	eager      bool
	maxEntries int
	maxBytes   int64

	// What follows is touched under lock. An entry is in index, or in detached when
	// it cannot be found (any more) and ends with its last use.
	index    index
	idle     idleList
	detached map[*entry]struct{}
	remotes  map[*Remote]struct{} // with keys mapped
	stats    Stats
	closed   bool

	live   atomic.Int64 // entries
	unhook func()       // ends OnFree
}

// New makes a Manager. It has to be closed.
func New(o Options) (*Manager, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	m := &Manager{
		lock: o.Lock, eager: o.Eager, maxEntries: o.MaxEntries, maxBytes: o.MaxBytes,
		detached: map[*entry]struct{}{}, remotes: map[*Remote]struct{}{},
	}
	if m.lock == nil {
		m.lock = &sync.Mutex{}
	}
	if m.maxEntries == 0 {
		m.maxEntries = DefaultMaxEntries
	}
	if m.maxBytes == 0 {
		m.maxBytes = DefaultMaxBytes
	}
	if o.NoCache {
		m.maxEntries = 0
	}
	for _, r := range o.Rails {
		rail, err := newRail(r, o.FirstKey)
		if err != nil {
			return nil, err
		}
		m.rails = append(m.rails, rail)
	}
	m.unhook = OnFree(m.beforeFree)
	return m, nil
}

// Lease is the use of memory by one operation on one rail. The zero Lease is that of
// memory that needs no registration. It is released once.
type Lease struct {
	// Desc is the descriptor for the operation (fi_mr_desc(3)), 0 (NULL) if it needs
	// none.
	Desc   uintptr
	entry  *entry
	region *Region
}

// Pinned says that the memory is pinned until the lease is released; otherwise whoever
// starts the operation pins it.
func (l *Lease) Pinned() bool { return l.entry != nil }

// AcquireLocked prepares buf for one operation of this endpoint on a rail: where the
// rail needs that, it finds or makes a registration that covers buf and is good for
// access, which has bits of LocalAccess. ReleaseLocked ends the use after the
// operation's completion. A buffer that is found costs no allocation.
func (m *Manager) AcquireLocked(rail int, buf []byte, access Access) (Lease, error) {
	if m.closed || uint(rail) >= uint(len(m.rails)) || access == 0 || access&^LocalAccess != 0 {
		return Lease{}, m.refuse(rail, access)
	}
	if !m.rails[rail].local || len(buf) == 0 {
		return Lease{}, nil
	}
	start := uintptr(unsafe.Pointer(unsafe.SliceData(buf)))
	e := m.index.find(start, start+uintptr(len(buf)), access)
	if e != nil {
		m.stats.Hits++
		m.use(e)
		if reg := &e.regs[rail]; reg.ready {
			return Lease{Desc: reg.desc, entry: e}, nil
		}
	} else {
		e = m.miss(buf, access)
	}
	if err := m.prepare(e, rail); err != nil {
		return Lease{}, errors.Join(err, m.unuse(e))
	}
	return Lease{Desc: e.regs[rail].desc, entry: e}, nil
}

// Acquire is AcquireLocked for those who do not hold the lock.
func (m *Manager) Acquire(rail int, buf []byte, access Access) (Lease, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.AcquireLocked(rail, buf, access)
}

// refuse says why AcquireLocked does not go on.
func (m *Manager) refuse(rail int, access Access) error {
	if err := m.checkOpen(); err != nil {
		return err
	}
	if err := access.check(LocalAccess); err != nil {
		return err
	}
	return m.checkRail(rail)
}

func (m *Manager) checkOpen() error {
	if m.closed {
		return closed("the manager")
	}
	return nil
}

func (m *Manager) checkRail(rail int) error {
	if uint(rail) >= uint(len(m.rails)) {
		return invalid("rail %d: there are %d", rail, len(m.rails))
	}
	return nil
}

// ReleaseLocked ends a lease. A zero one, or one that outlives the Manager, is nothing.
func (m *Manager) ReleaseLocked(l Lease) {
	if l.region != nil {
		l.region.ops--
	}
	if l.entry != nil {
		_ = m.unuse(l.entry) // an error is in Stats.Failed
	}
}

// Release is ReleaseLocked for those who do not hold the lock.
func (m *Manager) Release(l Lease) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.ReleaseLocked(l)
}

// prepare has an entry in use registered with a rail, or with all when eager.
func (m *Manager) prepare(e *entry, rail int) error {
	if m.eager {
		return m.prepareAll(e)
	}
	return m.register(e, rail)
}

// prepareAll registers e with every rail that needs it and can.
func (m *Manager) prepareAll(e *entry) error {
	for i := range m.rails {
		if r := &m.rails[i]; !r.needs(&e.mem, e.access) || r.supports(&e.mem) != nil {
			continue
		}
		if err := m.register(e, i); err != nil {
			return err
		}
	}
	return nil
}

// register makes room as long as the provider asks for it.
func (m *Manager) register(e *entry, rail int) error {
	for {
		made := e.made
		err := e.register(rail, &m.rails[rail])
		m.stats.Registrations += e.made - made
		if err == nil || !wantsRoom(err) || m.idle.oldest == nil {
			return err
		}
		m.evict()
	}
}

func wantsRoom(err error) bool {
	switch no, _ := fierr.Of(err); no {
	case fierr.ENoMem, fierr.ENoSpc, fierr.ENoMR:
		return true
	}
	return false
}

// Close ends every registration, whoever uses it, and unmaps the keys of peers; open
// regions are closed by that. So the operations of the rails have to be over. Memory
// whose registration could not be closed stays pinned, and Close tries again when it
// is called again.
func (m *Manager) Close() error {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.CloseLocked()
}

// CloseLocked is Close for those who hold the lock.
func (m *Manager) CloseLocked() error {
	m.closed = true
	var errs []error
	for _, e := range m.index.all() {
		m.detach(e)
	}
	for _, e := range inOrder(m.detached) {
		errs = append(errs, m.end(e))
	}
	for r := range m.remotes {
		errs = append(errs, r.unmap())
	}
	err := errors.Join(errs...)
	if err == nil {
		m.unhook()
	}
	return err
}
