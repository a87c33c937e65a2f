package mr

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"unsafe"
)

// Stats say how the cache does. Numbers of events count from the Manager's making.
type Stats struct {
	// Hits and Misses count searches for memory of the host with local access.
	Hits, Misses uint64
	// Evictions counts cached entries that were given up to keep the bounds, because
	// a provider had no room, or because a new one contains them; Invalidated those
	// that Invalidate and Buffer.Free took out.
	Evictions, Invalidated uint64
	// Entries, Bytes and InUse are what is cached now, and how much of it regions or
	// operations use. Bytes count from the first to the last, not whole pages.
	Entries, InUse int
	Bytes          int64
	// Private is the number of registered ranges that are not cached: those with
	// remote access, and of devices. Each ends with its region.
	Private int
	// Registrations is the number of all rails' registrations now.
	Registrations int
	// Failed counts registrations that could not be closed. Their memory stays
	// pinned; Manager.Close tries again.
	Failed uint64
}

// Stats answers the numbers of now.
func (m *Manager) Stats() Stats {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.stats
}

// Invalidate forgets the registrations that touch mem, which is memory of the host,
// mapped or not: what nobody uses ends now, the rest is not found again and ends with
// its last use. inUse is how many of those there are. Whoever unmaps memory outside
// the Go heap that was used for communication, or maps other memory there, calls this
// before; Buffer.Free does. For memory of the Go heap it ends the pin early.
func (m *Manager) Invalidate(mem []byte) (inUse int) {
	if len(mem) == 0 {
		return 0
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	start := uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
	end := start + uintptr(len(mem))
	for _, e := range m.index.overlapping(start, end) {
		if !e.private {
			m.stats.Invalidated++
		}
		_ = m.drop(e)
	}
	for e := range m.detached {
		if e.mem.host() && e.start < end && start < e.end {
			inUse++
		}
	}
	return inUse
}

// beforeFree is a hook of OnFree.
func (m *Manager) beforeFree(mem []byte) error {
	if m.live.Load() == 0 {
		return nil
	}
	if n := m.Invalidate(mem); n > 0 {
		return fmt.Errorf("registrations of its memory: %d: %w", n, ErrBusy)
	}
	return nil
}

// The life of an entry. It is made in use. use and unuse count its users; when there
// are none it becomes idle if it is cached, and otherwise ends. drop takes it out of
// the cache, used or not.

// miss makes a cached entry for buf.
func (m *Manager) miss(buf []byte, access Access) *entry {
	m.stats.Misses++
	e := newEntry(bytesMemory(buf), access, len(m.rails))
	m.add(e)
	return e
}

// add takes a new entry in, with one user.
func (m *Manager) add(e *entry) {
	m.live.Add(1)
	e.refs = 1
	if e.private {
		m.stats.Private++
	} else {
		m.stats.Entries++
		m.stats.Bytes += int64(e.mem.Len)
		m.stats.InUse++
	}
	if e.mem.host() {
		for _, old := range m.index.add(e) {
			if !old.private {
				m.stats.Evictions++
			}
			_ = m.drop(old)
		}
	}
	if !e.indexed {
		m.detached[e] = struct{}{}
	}
	m.trim()
}

func (m *Manager) use(e *entry) {
	if e.refs == 0 && !e.private {
		m.stats.InUse++
		m.idle.remove(e)
	}
	e.refs++
}

func (m *Manager) unuse(e *entry) error {
	if m.closed {
		return nil
	}
	if e.refs--; e.refs > 0 {
		return nil
	}
	if !e.private {
		m.stats.InUse--
	}
	if e.private || !e.indexed || e.made == 0 {
		return m.drop(e)
	}
	m.idle.push(e)
	m.trim()
	return nil
}

// trim keeps the bounds.
func (m *Manager) trim() {
	for m.idle.oldest != nil && (m.stats.Entries > m.maxEntries || m.stats.Bytes > m.maxBytes) {
		m.evict()
	}
}

// evict gives the entry up that has been idle for longest.
func (m *Manager) evict() {
	m.stats.Evictions++
	_ = m.drop(m.idle.oldest)
}

// drop takes e out of the cache. It ends now or with its last use. Where the error is
// nobody's, it is in Stats.Failed, and Close tries again.
func (m *Manager) drop(e *entry) error {
	m.detach(e)
	if e.refs > 0 {
		return nil
	}
	return m.end(e)
}

func (m *Manager) detach(e *entry) {
	if e.older != nil || e.newer != nil || m.idle.oldest == e {
		m.idle.remove(e)
	}
	if e.indexed {
		m.index.remove(e)
	}
	m.detached[e] = struct{}{}
}

// end closes the registrations of a detached entry.
func (m *Manager) end(e *entry) error {
	made := e.made
	err := e.close(m.rails)
	m.stats.Registrations -= made - e.made
	m.stats.Failed += uint64(e.made)
	if e.made > 0 {
		return err
	}
	delete(m.detached, e)
	m.live.Add(-1)
	if e.private {
		m.stats.Private--
		return err
	}
	m.stats.Entries--
	m.stats.Bytes -= int64(e.mem.Len)
	if e.refs > 0 { // only Manager.Close
		m.stats.InUse--
	}
	return err
}

// inOrder answers entries by address, so that what happens does not depend on a map.
func inOrder(set map[*entry]struct{}) []*entry {
	return slices.SortedFunc(maps.Keys(set), func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end), cmp.Compare(a.access, b.access))
	})
}
