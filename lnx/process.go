package lnx

import (
	"bytes"
	"fmt"
	"slices"
	"sync"

	"golnx/peer"
)

// Endpoints of one process share more than memory: shm 2.1 uses a region of the
// own process in place instead of mapping it, so that it must be forgotten by all
// others before its endpoint closes. This list knows them.
var process struct {
	closing sync.Mutex // one Close at a time
	mu      sync.Mutex
	open    []*Endpoint
}

func (ep *Endpoint) enlist() {
	process.mu.Lock()
	defer process.mu.Unlock()
	process.open = append(process.open, ep)
}

// others takes ep off the list and answers the rest.
func (ep *Endpoint) others() []*Endpoint {
	process.mu.Lock()
	defer process.mu.Unlock()
	process.open = slices.DeleteFunc(process.open, func(x *Endpoint) bool { return x == ep })
	return slices.Clone(process.open)
}

// inProcess says that a peer belongs to this very process. A peer without an
// extension, as of C LNX, can only be told by its shm address, which begins with its
// process number.
func (ep *Endpoint) inProcess(remote *peer.Address, loc peer.Locality) bool {
	if remote.Ext != nil {
		return remote.Ext.Node == ep.self.Node
	}
	pid, _ := processOf(remote, loc)
	return pid == int(ep.self.Node.PID)
}

// gone says that a peer of this very process is not open any more.
func (ep *Endpoint) gone(remote *peer.Address, loc peer.Locality) bool {
	if !ep.inProcess(remote, loc) {
		return false
	}
	process.mu.Lock()
	defer process.mu.Unlock()
	return !slices.ContainsFunc(process.open, func(x *Endpoint) bool { return !x.closed.Load() && x.isAt(remote) })
}

// isAt compares the endpoint's own addresses with a peer's.
func (ep *Endpoint) isAt(remote *peer.Address) bool {
	return slices.ContainsFunc(remote.Entries, func(e peer.Entry) bool {
		addr := bytes.TrimRight(e.Addr, "\x00") // the null byte of a string may be there or not
		return slices.ContainsFunc(ep.local, func(l peer.LocalRail) bool { return bytes.Equal(bytes.TrimRight(l.Addr, "\x00"), addr) })
	})
}

// forget ends the acquaintance with an endpoint of this process that is about to
// close, under the lock of the one that forgets.
func (ep *Endpoint) forget(closing *Endpoint) {
	for p := range ep.peers.All() {
		if !ep.inProcess(p.Address, peer.Locate(ep.self, p.Address)) || !closing.isAt(p.Address) {
			continue
		}
		addr, state := Addr(p.Addr), p.Data
		if !ep.closed.Load() {
			ep.endPeer(addr, state, fmt.Errorf("peer %d (of this process): %w", addr, ErrPeerDead))
		}
		ep.dropUnfinished(addr)
		ep.dropOf(state)
		state.paths = slices.DeleteFunc(state.paths, func(p path) bool {
			local := ep.link.Rails[p.rail].NodeLocal
			if local && ep.core.Remove(p.rail, p.addr) != nil {
				ep.stats[p.rail].Error()
			}
			return local
		})
	}
}

// dropUnfinished withdraws the messages whose bytes still lie with a peer that
// shares memory and goes: those above the inject size.
func (ep *Endpoint) dropUnfinished(from Addr) {
	for slot := range ep.suq.From(uint64(from)) {
		op := ep.rx.at(slot)
		if r := int(op.rail); !ep.link.Rails[r].NodeLocal || ep.core.Unexpected(slot).Size <= ep.inject[r] {
			continue
		}
		ep.suq.Remove(slot)
		ep.stats[op.rail].Error()
		op.state = rxAbandoned // the provider keeps it until it closes
	}
}
