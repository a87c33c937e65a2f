package mr

import (
	"fmt"
	"slices"

	"golnx/providers"
	"golnx/providers/fierr"
)

// RemoteKey is what a peer needs to reach memory of another endpoint: for each of that
// endpoint's rails a key and an address, and how much may be done. It is a value and
// can be copied; copies share what is never changed. The zero RemoteKey reaches
// nothing.
//
// MarshalBinary and UnmarshalBinary take it across. Whoever has the bytes can use the
// memory, so they are to be sent to those only who may.
type RemoteKey struct {
	off, n uint64 // of the part, within what rails address
	access Access
	rails  []RemoteRail // ordered by Entry
}

// RemoteRail is how the memory is reached at one rail of its endpoint.
type RemoteRail struct {
	// Entry is the index of that rail's address in its endpoint's address blob.
	Entry int
	// Addr is the address of the first byte, for fi_rma(3) and fi_atomic(3).
	Addr uint64
	// Key is the key, KeyNotAvail if it is Raw.
	Key uint64
	// Raw, if there is one, has to be mapped first (Manager.Import), with RawBase
	// (fi_mr_map_raw(3)).
	Raw     []byte
	RawBase uint64
}

// Len is the length of the memory in bytes.
func (k RemoteKey) Len() uint64 { return k.n }

// Access says whether the memory may be read (RemoteRead) and written (RemoteWrite).
func (k RemoteKey) Access() Access { return k.access }

// Entries lists the rails that reach the memory.
func (k RemoteKey) Entries() []int {
	out := make([]int, len(k.rails))
	for i, r := range k.rails {
		out[i] = r.Entry
	}
	return out
}

// For answers how to reach the memory at the rail with that entry of the address blob.
// Raw belongs to the key and must not be changed. If the memory is not registered there
// the error is fierr.ENoKey.
func (k RemoteKey) For(entry int) (RemoteRail, error) {
	r := k.find(entry)
	if r == nil {
		return RemoteRail{}, k.noRail(entry)
	}
	out := *r
	out.Addr += k.off
	return out, nil
}

func (k *RemoteKey) find(entry int) *RemoteRail {
	for i := range k.rails {
		if r := &k.rails[i]; r.Entry == entry {
			return r
		}
	}
	return nil
}

func (k *RemoteKey) noRail(entry int) error {
	return fmt.Errorf("mr: the remote key has none for entry %d of the peer's address, only for %v: %w", entry, k.Entries(), fierr.ENoKey)
}

// Slice answers the key of n bytes at offset off, which have to lie within. Raw keys and
// the target's own checks know nothing of parts: it keeps honest programs from going
// wrong, it does not protect memory.
func (k RemoteKey) Slice(off, n uint64) (RemoteKey, error) {
	if err := k.within(off, n); err != nil {
		return RemoteKey{}, err
	}
	k.off, k.n = k.off+off, n
	return k, nil
}

// Check says whether n bytes at offset off lie within the memory and may be used for
// access, which has bits of RemoteAccess.
func (k RemoteKey) Check(off, n uint64, access Access) error {
	if access == 0 || k.access&access != access {
		return tooLittle("the remote memory", access, k.access)
	}
	return k.within(off, n)
}

func (k RemoteKey) within(off, n uint64) error {
	if off > k.n || n > k.n-off {
		return invalid("%d bytes at offset %d: the remote memory has %d", n, off, k.n)
	}
	return nil
}

// String describes the key and does not give it away.
func (k RemoteKey) String() string {
	return fmt.Sprintf("%d bytes for %v at entries %v", k.n, k.access, k.Entries())
}

// check says why k cannot be what a Manager made, and puts rails in order.
func (k *RemoteKey) check() error {
	if err := k.access.check(RemoteAccess); err != nil {
		return err
	}
	if n := len(k.rails); n < 1 || n > providers.MaxRails {
		return invalid("%d rails: want 1 to %d", n, providers.MaxRails)
	}
	slices.SortFunc(k.rails, func(a, b RemoteRail) int { return a.Entry - b.Entry })
	for i, r := range k.rails {
		switch {
		case r.Entry < 0 || r.Entry >= providers.MaxRails:
			return invalid("entry %d: want 0 to %d", r.Entry, providers.MaxRails-1)
		case i > 0 && k.rails[i-1].Entry == r.Entry:
			return invalid("entry %d twice", r.Entry)
		case r.Addr+k.off < r.Addr || r.Addr+k.off+k.n < r.Addr+k.off:
			return invalid("entry %d: %d bytes at %#x end beyond the address space", r.Entry, k.n, r.Addr+k.off)
		case len(r.Raw) > MaxRawKey:
			return invalid("entry %d: a raw key of %d bytes: at most %d are possible", r.Entry, len(r.Raw), MaxRawKey)
		}
	}
	return nil
}
