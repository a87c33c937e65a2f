package lnx

import (
	"fmt"
	"slices"

	"golnx/internal/livekeys"
	"golnx/mr"
	"golnx/providers/fierr"
)

// RemoteMemory is memory of a peer, or a part of it, as this endpoint reaches it. It is
// safe for concurrent use.
type RemoteMemory struct {
	ep     *Endpoint
	to     Addr
	state  *peerState
	remote *mr.Remote
	off, n uint64 // within what was imported
	part   bool
	base   uint64 // the whole's address at the peer modulo 64
}

// RemoteRange is a range of a peer's memory.
type RemoteRange struct {
	Mem      *RemoteMemory
	Off, Len uint64 // in bytes
}

// Import makes the key of a peer's memory usable: what its Region.RemoteKey answered. The
// bytes are not trusted; a key of another endpoint than the peer is refused.
func (ep *Endpoint) Import(to Addr, key []byte) (*RemoteMemory, error) {
	if ep.rma == nil {
		return nil, ep.withoutCap("Import", ErrNoRMA)
	}
	var k rkey
	if err := k.unmarshal(key); err != nil {
		return nil, fmt.Errorf("Import: %w", err)
	}
	ep.lock()
	defer ep.unlock()
	if err := ep.check(); err != nil {
		return nil, err
	}
	state := ep.peerOf(to)
	if state == nil {
		return nil, unknownAddr("Import", to)
	}
	if k.id != identify(state.addr) {
		return nil, fmt.Errorf("Import: the key belongs to another endpoint than peer %v (%v): %w", to, state.addr, mr.ErrForeign)
	}
	if err := ep.viewKeys(state, k.table); err != nil {
		return nil, fmt.Errorf("Import: %w", err)
	}
	return &RemoteMemory{ep: ep, to: to, state: state, remote: ep.rma.mem.Import(k.mr), n: k.mr.Len(), base: uint64(k.base)}, nil
}

// viewKeys opens a peer's table of live keys, if a rail needs it.
func (ep *Endpoint) viewKeys(state *peerState, name livekeys.Name) (err error) {
	i := slices.IndexFunc(state.paths, func(p path) bool { return ep.link.Rails[p.rail].NodeLocal })
	if i < 0 || state.keys != nil {
		return nil
	}
	if state.keys, err = livekeys.Open(name); err != nil {
		return fmt.Errorf("rail %s needs the peer to be in the same PID namespace: %w: %w", ep.link.Rails[state.paths[i].rail].Name(), err, mr.ErrNotSupported)
	}
	return nil
}

// Peer is whose memory it is.
func (m *RemoteMemory) Peer() Addr { return m.to }

// Len is the length in bytes.
func (m *RemoteMemory) Len() uint64 { return m.n }

// Access says whether the memory may be read (mr.RemoteRead) and written (mr.RemoteWrite).
func (m *RemoteMemory) Access() mr.Access { return m.remote.Key().Access() }

// Slice answers n bytes at offset off, which have to lie within. Close of the whole ends
// the part, too.
func (m *RemoteMemory) Slice(off, n uint64) (*RemoteMemory, error) {
	if err := m.within(off, n); err != nil {
		return nil, err
	}
	part := *m
	part.off, part.n, part.part = m.off+off, n, true
	return &part, nil
}

func (m *RemoteMemory) within(off, n uint64) error {
	if off > m.n || n > m.n-off {
		return fmt.Errorf("%d bytes at offset %d: the remote memory has %d: %w", n, off, m.n, fierr.EInval)
	}
	return nil
}

// Close says that no operation uses the memory any more, of which none is under way. Of a
// part it does nothing. The second time is mr.ErrClosed.
func (m *RemoteMemory) Close() error {
	if m.part {
		return nil
	}
	return m.remote.Close()
}
