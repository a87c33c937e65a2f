package peer

import (
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
)

// Addr names a peer at the link level, as an fi_addr_t of an FI_AV_TABLE
// address vector (fi_av(3)) does: the first peers get 0, 1, 2 and so on.
//
// Slots of removed peers are used again. So that an Addr kept too long does not
// silently name somebody else, the bits above the 32 of the slot count the
// slot's uses: its second peer has 1<<32 | slot. An Addr has at most 56 bits,
// which leaves 8 for an address index where both go into FI_AV_USER_ID.
type Addr uint64

// AddrUnspec is FI_ADDR_UNSPEC: no peer, or any.
const AddrUnspec = ^Addr(0)

const (
	slotBits = 32
	maxUse   = 1<<24 - 1 // a slot used that often is not used again
)

func (a Addr) slot() uint64 { return uint64(a) & (1<<slotBits - 1) }

// Peer is one peer of a table with what the layer above attaches to it.
type Peer[T any] struct {
	Addr    Addr
	Address *Address // as inserted first; not to be changed
	Data    T

	refs    int
	removed bool
	key     string
}

// Table maps link-level addresses to peers and back. It is not safe for
// concurrent use: the caller holds the endpoint's lock. Lookup, Acquire and
// Release do not allocate and cost the same for any number of peers.
type Table[T any] struct {
	slots   []*Peer[T] // nil where free
	uses    []uint32   // of each slot, counted by peers that have left
	free    []uint32
	byKey   map[string]*Peer[T] // for Insert only
	live    int
	recycle func(*Peer[T])
}

// NewTable returns an empty table. When a peer was removed and the last
// operation that refers to it is done, recycle (if not nil) is called, under
// the caller's lock, before the slot is used again: the moment to take the
// peer's addresses out of the rails' address vectors. It must not call the
// table.
func NewTable[T any](recycle func(*Peer[T])) *Table[T] {
	return &Table[T]{byKey: map[string]*Peer[T]{}, recycle: recycle}
}

// Insert returns the peer with this address and whether it is new to the table,
// so that the caller has to fill in Data. A peer that is there already, perhaps
// with its rails in another order or from a blob of another layout, is returned
// again with the same Addr; fi_av(3) leaves duplicates undefined, so the rails
// must not see them. One that was removed while operations still refer to it is
// taken back. One Remove undoes any number of Inserts.
//
// The table keeps a.
func (t *Table[T]) Insert(a *Address) (p *Peer[T], fresh bool) {
	key := identity(a)
	if p := t.byKey[key]; p != nil {
		if p.removed {
			p.removed = false
			t.live++
		}
		return p, false
	}
	p = &Peer[T]{Address: a, key: key}
	if n := len(t.free); n > 0 {
		slot := t.free[n-1]
		t.free = t.free[:n-1]
		p.Addr = Addr(t.uses[slot])<<slotBits | Addr(slot)
		t.slots[slot] = p
	} else {
		p.Addr = Addr(len(t.slots))
		t.slots = append(t.slots, p)
		t.uses = append(t.uses, 0)
	}
	t.byKey[key] = p
	t.live++
	return p, true
}

// Lookup returns the peer of addr, or nil if there is none or it was removed.
func (t *Table[T]) Lookup(addr Addr) *Peer[T] {
	if p := t.get(addr); p != nil && !p.removed {
		return p
	}
	return nil
}

// Acquire is Lookup for an operation that is about to start: the peer stays
// until Release is called with the same Addr.
func (t *Table[T]) Acquire(addr Addr) *Peer[T] {
	p := t.Lookup(addr)
	if p != nil {
		p.refs++
	}
	return p
}

// Release ends an operation that began with Acquire. It returns the peer, also
// if that was removed in between. A Release without an Acquire panics, for the
// counts cannot be trusted any more.
func (t *Table[T]) Release(addr Addr) *Peer[T] {
	p := t.get(addr)
	if p == nil || p.refs == 0 {
		panic(fmt.Sprintf("peer: release of address %#x without acquire", uint64(addr)))
	}
	p.refs--
	if p.refs == 0 && p.removed {
		t.recycleSlot(p)
	}
	return p
}

// Remove takes a peer out: Lookup and Acquire no longer find it. Its slot is
// used again when the operations that refer to it are done. The error is
// [ErrUnknownPeer].
func (t *Table[T]) Remove(addr Addr) error {
	p := t.Lookup(addr)
	if p == nil {
		return fmt.Errorf("remove address %#x from a table of %d peers: %w (never inserted, or removed before)",
			uint64(addr), t.live, ErrUnknownPeer)
	}
	p.removed = true
	t.live--
	if p.refs == 0 {
		t.recycleSlot(p)
	}
	return nil
}

// Len returns the number of peers that Lookup finds.
func (t *Table[T]) Len() int { return t.live }

// All yields the peers that Lookup finds, by slot. The table must not be
// changed meanwhile, the yielded peer's own removal apart.
func (t *Table[T]) All() iter.Seq[*Peer[T]] {
	return func(yield func(*Peer[T]) bool) {
		for _, p := range t.slots {
			if p != nil && !p.removed && !yield(p) {
				return
			}
		}
	}
}

// get finds removed peers, too, but never the next user of a slot.
func (t *Table[T]) get(addr Addr) *Peer[T] {
	slot := addr.slot()
	if slot >= uint64(len(t.slots)) {
		return nil
	}
	if p := t.slots[slot]; p != nil && p.Addr == addr {
		return p
	}
	return nil
}

func (t *Table[T]) recycleSlot(p *Peer[T]) {
	if t.recycle != nil {
		t.recycle(p)
	}
	slot := p.Addr.slot()
	delete(t.byKey, p.key)
	t.slots[slot] = nil
	if t.uses[slot] < maxUse {
		t.uses[slot]++
		t.free = append(t.free, uint32(slot))
	}
}

// identity is equal for blobs of one endpoint: what says where it is and what
// its addresses are, whatever their order, and not what describes the rails.
// Addresses alone would not do, as 127.0.0.1 and shm names are everywhere.
// Without an extension the names of layout 2.1 and 2.2 cannot be compared, so
// that there a peer has one identity in each.
func identity(a *Address) string {
	var parts []string
	for i, e := range a.Entries {
		name, addr := a.Provider(i), e.Addr
		if name == "" {
			name = e.Name
		}
		if s, ok := cString(addr); ok && a.Format(i) == FormatString {
			addr = []byte(s)
		}
		parts = append(parts, lengthFirst(name)+lengthFirst(string(addr)))
	}
	slices.Sort(parts)
	key := []byte(lengthFirst(a.Host))
	if a.Ext != nil {
		key = appendNode(key, &a.Ext.Node)
	}
	for _, p := range parts {
		key = append(key, p...)
	}
	return string(key)
}

func lengthFirst(s string) string {
	return string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s
}
