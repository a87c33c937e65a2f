package mr

import (
	"errors"
	"fmt"
	"slices"
)

// Remote is memory of a peer, as this endpoint's rails reach it. It belongs to one
// Manager and is safe for concurrent use.
type Remote struct {
	m      *Manager
	key    RemoteKey
	mapped []mappedKey
	closed bool
}

// mappedKey is a raw key of a peer's rail as a local rail knows it.
type mappedKey struct {
	rail, entry int
	key         uint64
}

// Import makes a peer's key usable. Only raw keys need anything done, when a rail first
// needs it, and only with them does Close matter.
func (m *Manager) Import(key RemoteKey) *Remote { return &Remote{m: m, key: key} }

// Key answers what was imported.
func (r *Remote) Key() RemoteKey { return r.key }

// AtLocked answers address and key with which a local rail reaches n bytes at offset off
// of the memory, at the peer's rail with that entry of its address blob. The range has
// to lie within, and allow access, which has bits of RemoteAccess.
func (r *Remote) AtLocked(rail, entry int, off, n uint64, access Access) (addr, key uint64, err error) {
	if r == nil || r.m == nil || r.closed {
		return 0, 0, closed("the imported key")
	}
	if err := r.m.checkOpen(); err != nil {
		return 0, 0, err
	}
	if err := r.m.checkRail(rail); err != nil {
		return 0, 0, err
	}
	if err := r.key.Check(off, n, access); err != nil {
		return 0, 0, err
	}
	remote := r.key.find(entry)
	if remote == nil {
		return 0, 0, r.key.noRail(entry)
	}
	addr = remote.Addr + r.key.off + off
	if len(remote.Raw) == 0 {
		return addr, remote.Key, nil
	}
	key, err = r.mapRaw(rail, remote)
	return addr, key, err
}

// At is AtLocked for those who do not hold the lock.
func (r *Remote) At(rail, entry int, off, n uint64, access Access) (addr, key uint64, err error) {
	if r == nil || r.m == nil {
		return 0, 0, closed("the imported key")
	}
	r.m.lock.Lock()
	defer r.m.lock.Unlock()
	return r.AtLocked(rail, entry, off, n, access)
}

func (r *Remote) mapRaw(rail int, remote *RemoteRail) (uint64, error) {
	for _, k := range r.mapped {
		if k.rail == rail && k.entry == remote.Entry {
			return k.key, nil
		}
	}
	how := &r.m.rails[rail]
	mapper, ok := how.Registrar.(RawMapper)
	if !ok {
		return 0, fmt.Errorf("mr: rail %s cannot map the peer's raw key: %w", how.Name, ErrNotSupported)
	}
	key, err := mapper.MapRaw(remote.RawBase, remote.Raw)
	if err != nil {
		return 0, railError(how, "map the peer's raw key", err)
	}
	r.mapped = append(r.mapped, mappedKey{rail, remote.Entry, key})
	r.m.remotes[r] = struct{}{}
	return key, nil
}

// Close unmaps raw keys. Operations that use them have to be over. The second time is
// ErrClosed; keys that could not be unmapped are tried again by then, and by
// Manager.Close.
func (r *Remote) Close() error {
	if r == nil || r.m == nil {
		return closed("the imported key")
	}
	r.m.lock.Lock()
	defer r.m.lock.Unlock()
	if r.closed && len(r.mapped) == 0 {
		return closed("the imported key")
	}
	r.closed = true
	return r.unmap()
}

func (r *Remote) unmap() error {
	var errs []error
	r.mapped = slices.DeleteFunc(r.mapped, func(k mappedKey) bool {
		how := &r.m.rails[k.rail]
		err := how.Registrar.(RawMapper).UnmapKey(k.key)
		if err != nil {
			errs = append(errs, railError(how, "unmap a peer's key", err))
		}
		return err == nil
	})
	if len(r.mapped) == 0 {
		delete(r.m.remotes, r)
	}
	return errors.Join(errs...)
}
