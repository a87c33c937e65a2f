package mr

import (
	"errors"
	"fmt"
	"unsafe"

	"golnx/providers/fierr"
)

// Region is memory that stays registered until Close. It belongs to one Manager and is
// safe for concurrent use.
type Region struct {
	m      *Manager
	e      *entry
	mem    Memory
	access Access
	ops    int  // leases
	closed bool // no more uses
	done   bool // Close has answered nil
}

// Register registers buf, which has to have a byte at least, for access. What each rail
// needs it registers when it first needs it, unless Options.Eager. buf is pinned until
// then, and must not change its place otherwise before the region is closed.
//
// Memory with local access only may share a registration with other regions and with
// operations, and stays cached after Close. Memory with remote access has registrations
// and keys of its own, that end with Close.
func (m *Manager) Register(buf []byte, access Access) (*Region, error) {
	if len(buf) == 0 {
		return nil, invalid("register a buffer of 0 bytes: at least 1 is needed")
	}
	return m.RegisterMemory(bytesMemory(buf), access)
}

// RegisterMemory is Register for memory that is no slice: of a device or DMA-BUF. That
// is never cached. If no rail can register it, the error is ErrNotSupported.
func (m *Manager) RegisterMemory(mem Memory, access Access) (*Region, error) {
	if err := access.check(LocalAccess | RemoteAccess); err != nil {
		return nil, err
	}
	if err := mem.check(); err != nil {
		return nil, err
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	if err := m.checkOpen(); err != nil {
		return nil, err
	}
	if err := m.supported(&mem); err != nil {
		return nil, err
	}
	if mem.DMABuf != nil {
		place := *mem.DMABuf
		mem.DMABuf = &place
	}
	r := &Region{m: m, mem: mem, access: access}
	switch {
	case access&RemoteAccess != 0 || !mem.host():
		r.e = newEntry(mem, access, len(m.rails))
		r.e.private = true
		m.add(r.e)
	default:
		if r.e = m.index.findCached(mem.start(), mem.end(), access); r.e != nil {
			m.stats.Hits++
			m.use(r.e)
			break
		}
		r.e = m.miss(r.slice(), access)
	}
	if m.eager {
		if err := m.prepareAll(r.e); err != nil {
			return nil, errors.Join(err, m.leave(r))
		}
	}
	return r, nil
}

// supported answers an error if no rail can register mem: the first rail's.
func (m *Manager) supported(mem *Memory) error {
	var first error
	for i := range m.rails {
		err := m.rails[i].supports(mem)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

func (r *Region) slice() []byte { return unsafe.Slice((*byte)(r.mem.Base), r.mem.Len) }

// Bytes answers the memory, nil after Close or if the host has no address for it. Of a
// device's memory only the device can say whether it may be touched.
func (r *Region) Bytes() []byte {
	if r == nil || r.m == nil {
		return nil
	}
	r.m.lock.Lock()
	defer r.m.lock.Unlock()
	if r.usable() != nil || r.mem.Base == nil {
		return nil
	}
	return r.slice()
}

// Len is the length in bytes, also after Close.
func (r *Region) Len() int { return r.mem.Len }

// Access is what the region may be used for.
func (r *Region) Access() Access { return r.access }

// Handle is what one rail knows a region by.
type Handle struct {
	// Desc is the local descriptor, 0 (NULL) if the rail needs no registration for
	// the region's access.
	Desc uintptr
	// Key is the remote key, KeyNotAvail without remote access or if it is a raw key.
	Key uint64
	// Addr is where peers address the first byte: its virtual address, or 0 on rails
	// that count from the start of the registration. 0 without remote access, too.
	Addr uint64
}

// On answers the handle of a rail, and has the rail register the memory if it needs it
// and has not. It is good on that rail only, until Close.
func (r *Region) On(rail int) (Handle, error) {
	if r == nil || r.m == nil {
		return Handle{}, closed("the region")
	}
	r.m.lock.Lock()
	defer r.m.lock.Unlock()
	if err := r.check(rail); err != nil {
		return Handle{}, err
	}
	return r.m.handle(r, rail)
}

func (m *Manager) handle(r *Region, rail int) (Handle, error) {
	how := &m.rails[rail]
	h := Handle{Key: KeyNotAvail}
	if how.needs(&r.mem, r.access) {
		if err := m.register(r.e, rail); err != nil {
			return h, err
		}
	} else if err := how.supports(&r.mem); err != nil {
		return h, err
	}
	reg := &r.e.regs[rail]
	if !reg.ready {
		return h, nil
	}
	h.Desc = reg.desc
	if r.access&RemoteAccess != 0 {
		h.Addr = how.remoteAddr(&r.mem)
		if how.attr.Mode&ModeRaw == 0 {
			h.Key = reg.reg.Key()
		}
	}
	return h, nil
}

// AcquireRegionLocked prepares n bytes at off of a region for one operation on a rail,
// for which the region's access has to suffice. ReleaseLocked ends the use; until then
// Close answers ErrBusy.
func (m *Manager) AcquireRegionLocked(r *Region, rail, off, n int, access Access) (Lease, error) {
	if r == nil || r.m == nil {
		return Lease{}, closed("the region")
	}
	if r.m != m {
		return Lease{}, fmt.Errorf("mr: the region was registered with another endpoint: %w", ErrForeign)
	}
	if err := r.check(rail); err != nil {
		return Lease{}, err
	}
	if off < 0 || n < 0 || off > r.mem.Len || n > r.mem.Len-off {
		return Lease{}, invalid("%d bytes at offset %d: the region has %d", n, off, r.mem.Len)
	}
	if access == 0 || r.access&access != access {
		return Lease{}, tooLittle("the region", access, r.access)
	}
	h, err := m.handle(r, rail)
	if err != nil {
		return Lease{}, err
	}
	m.use(r.e)
	r.ops++
	return Lease{Desc: h.Desc, entry: r.e, region: r}, nil
}

// AcquireRegion is AcquireRegionLocked for those who do not hold the lock.
func (m *Manager) AcquireRegion(r *Region, rail, off, n int, access Access) (Lease, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.AcquireRegionLocked(r, rail, off, n, access)
}

// Close ends the region. New uses are refused from then on, and as soon as no operation
// uses it (any more) it is deregistered, or left to the cache.
//
// If operations do use it, those included that found its registration by address, Close
// answers ErrBusy: the memory must not be freed yet. That needs nothing more to be done,
// but Close may be called again to see whether they have ended. It answers nil once, and
// ErrClosed after that. An error of a provider that does not let go of the memory leaves
// it pinned, and the next Close tries again.
func (r *Region) Close() error {
	if r == nil || r.m == nil {
		return closed("the region")
	}
	m := r.m
	m.lock.Lock()
	defer m.lock.Unlock()
	if r.done {
		return closed("the region")
	}
	var err error
	if e := r.e; !r.closed {
		err = m.leave(r)
	} else if e.refs == 0 && !e.indexed && e.made > 0 {
		err = m.end(e)
	}
	if err != nil {
		return err
	}
	users := r.ops
	if r.e.private {
		users = max(users, r.e.refs)
	}
	if users > 0 && !m.closed {
		return fmt.Errorf("mr: operations that use the region: %d: %w", users, ErrBusy)
	}
	r.done = true
	r.mem.Base = nil // keep nothing alive
	return nil
}

// leave gives the region's use of its entry up.
func (m *Manager) leave(r *Region) error {
	r.closed = true
	if r.e.private && r.e.indexed {
		m.detach(r.e)
	}
	return m.unuse(r.e)
}

// usable and check are called with the lock held.
func (r *Region) usable() error {
	if err := r.m.checkOpen(); err != nil {
		return err
	}
	if r.closed {
		return closed("the region")
	}
	return nil
}

func (r *Region) check(rail int) error {
	if err := r.usable(); err != nil {
		return err
	}
	return r.m.checkRail(rail)
}

// RemoteKey answers what peers need to reach the region's memory: the keys of all rails
// that can register it. It takes remote access.
func (r *Region) RemoteKey() (RemoteKey, error) {
	if r == nil || r.m == nil {
		return RemoteKey{}, closed("the region")
	}
	m := r.m
	m.lock.Lock()
	defer m.lock.Unlock()
	if err := r.usable(); err != nil {
		return RemoteKey{}, err
	}
	if r.access&RemoteAccess == 0 {
		return RemoteKey{}, tooLittle("the region", RemoteAccess, r.access)
	}
	k := RemoteKey{n: uint64(r.mem.Len), access: r.access & RemoteAccess}
	for i := range m.rails {
		if m.rails[i].supports(&r.mem) != nil {
			continue
		}
		h, err := m.handle(r, i)
		if err != nil {
			return RemoteKey{}, err
		}
		remote := RemoteRail{Entry: m.rails[i].Entry, Addr: h.Addr, Key: h.Key}
		if m.rails[i].attr.Mode&ModeRaw != 0 {
			if remote.RawBase, remote.Raw, err = m.rawKey(r.e, i); err != nil {
				return RemoteKey{}, err
			}
		}
		k.rails = append(k.rails, remote)
	}
	return k, k.check()
}

func (m *Manager) rawKey(e *entry, rail int) (uint64, []byte, error) {
	base, raw, err := e.regs[rail].reg.RawKey()
	if err == nil && (len(raw) == 0 || len(raw) > MaxRawKey) {
		err = fmt.Errorf("it has %d bytes, want 1 to %d: %w", len(raw), MaxRawKey, fierr.EInval)
	}
	if err != nil {
		return 0, nil, railError(&m.rails[rail], "raw key", err)
	}
	return base, raw, nil
}
