package sim

import (
	"fmt"

	"golnx/providers"
	"golnx/providers/fierr"
)

// maxAddr is the longest address that Insert takes, in bytes.
const maxAddr = 64

// av is a rail's address vector. An address that is inserted again keeps its
// index, and is removed as often.
type av struct {
	entries []avEntry
	index   map[string]uint64
	free    []uint64
}

type avEntry struct {
	addr string // empty if free
	refs int
	last int64 // when the last message to it will arrive
}

func (a *av) insert(addr []byte, limit int) (uint64, error) {
	if len(addr) == 0 || len(addr) > maxAddr {
		return 0, fmt.Errorf("sim: an address of %d bytes, 1 to %d are possible: %w", len(addr), maxAddr, fierr.EInval)
	}
	if i, ok := a.index[string(addr)]; ok {
		a.entries[i].refs++
		return i, nil
	}
	if limit > 0 && len(a.index) >= limit {
		return 0, fmt.Errorf("sim: the rail has its %d peers, give it more in Rail.MaxPeers: %w", limit, fierr.ENoMem)
	}
	if a.index == nil {
		a.index = map[string]uint64{}
	}
	i := uint64(len(a.entries))
	if n := len(a.free); n > 0 {
		i, a.free = a.free[n-1], a.free[:n-1]
	} else {
		a.entries = append(a.entries, avEntry{})
	}
	a.entries[i] = avEntry{addr: string(addr), refs: 1}
	a.index[a.entries[i].addr] = i
	return i, nil
}

func (a *av) remove(i uint64) error {
	addr := a.addr(i)
	if addr == "" {
		return fmt.Errorf("sim: rail address %d was never inserted, or was removed: %w", i, fierr.EInval)
	}
	if a.entries[i].refs--; a.entries[i].refs > 0 {
		return nil
	}
	delete(a.index, addr)
	a.entries[i] = avEntry{}
	a.free = append(a.free, i)
	return nil
}

// addr is empty if i names nothing.
func (a *av) addr(i uint64) string {
	if i >= uint64(len(a.entries)) {
		return ""
	}
	return a.entries[i].addr
}

func (a *av) find(addr string) uint64 {
	if i, ok := a.index[addr]; ok {
		return i
	}
	return providers.NoAddr
}
