package lnx

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"time"

	"golnx/peer"
	"golnx/providers"
	"golnx/suq"
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
	return slices.ContainsFunc(remote.Entries, func(e peer.Entry) bool { return ep.has(e.Addr) })
}

// has says that one of the endpoint's rails is at an address.
func (ep *Endpoint) has(addr []byte) bool {
	addr = bytes.TrimRight(addr, "\x00") // the null byte of a string may be there or not
	return slices.ContainsFunc(ep.local, func(l peer.LocalRail) bool { return bytes.Equal(bytes.TrimRight(l.Addr, "\x00"), addr) })
}

// endNear drives this endpoint, which is about to close, and another one of the process
// until what they do with each other over node-local rails has ended, or for leaveLimit. In
// one process shm 2.1 moves large messages, reads and writes in pieces, for which either
// side looks into the other's region, and would do so after that has gone.
func (ep *Endpoint) endNear(other *Endpoint) {
	turn := func(x, y *Endpoint) (near int) {
		x.lock()
		defer x.mu.Unlock()
		defer x.hooks.standAside()()
		if x != ep && x.closed.Load() {
			return 0
		}
		x.takeLocal()
		x.drain()
		return x.nearTo(y)
	}
	end := time.Now().Add(leaveLimit)
	for turn(ep, other)+turn(other, ep) > 0 && time.Now().Before(end) {
	}
}

// nearTo counts the operations under way that may move in pieces between this endpoint and
// another one of the process.
func (ep *Endpoint) nearTo(other *Endpoint) (n int) {
	if ep.rma != nil {
		n = ep.rma.near
	}
	ep.tx.all(func(_ providers.Slot, op *txOp) {
		if op.state == txActive && op.rma == 0 && op.len > ep.inject[op.rail] &&
			ep.link.Rails[op.rail].NodeLocal && other.isAt(op.peer.addr) {
			n++
		}
	})
	return n
}

// forget ends the acquaintance with an endpoint of this process that is about to
// close, under the lock of the one that forgets.
func (ep *Endpoint) forget(closing *Endpoint) {
	ep.dropRetired(func(r *retired) bool {
		if !closing.has(r.name) {
			return false
		}
		ep.dropUnfinished(r.rail, r.addr)
		return true
	})
	known := false
	defer func() {
		if !known && !ep.closed.Load() {
			ep.forgetStranger(closing)
		}
	}()
	for p := range ep.peers.All() {
		if !ep.inProcess(p.Address, peer.Locate(ep.self, p.Address)) || !closing.isAt(p.Address) {
			continue
		}
		known = true
		addr, state := Addr(p.Addr), p.Data
		if !ep.closed.Load() {
			ep.endPeer(addr, state, fmt.Errorf("peer %d (of this process): %w", addr, ErrPeerDead))
		}
		state.paths = slices.DeleteFunc(state.paths, func(p path) bool {
			local := ep.link.Rails[p.rail].NodeLocal
			if local {
				ep.dropUnfinished(p.rail, p.addr)
				ep.dropOf(p.rail, p.addr)
			}
			if local && ep.core.Remove(p.rail, p.addr) != nil {
				ep.stats[p.rail].Error()
			}
			return local
		})
	}
}

// forgetStranger has node-local rails forget an endpoint that is in no AV here: they came
// to know it by what it sent. What they know goes with the removal of its address.
func (ep *Endpoint) forgetStranger(closing *Endpoint) {
	for r, info := range ep.link.Rails {
		if !info.NodeLocal {
			continue
		}
		ep.core.Progress(1 << r) // what it asked for is done while it is there
		for _, l := range closing.local {
			if l.Provider != info.Provider {
				continue
			}
			addr, err := ep.core.Insert(r, l.Addr)
			if err == nil {
				ep.dropOf(r, addr)
				err = ep.core.Remove(r, addr)
			}
			if err != nil {
				ep.stats[r].Error()
			}
		}
	}
}

// dropUnfinished withdraws the messages whose bytes still lie with a peer that
// shares memory and goes: those above the inject size.
func (ep *Endpoint) dropUnfinished(r int, addr uint64) {
	ep.dropIn(ep.suq, r, addr)
	ep.dropIn(ep.msgs.suq, r, addr)
}

func (ep *Endpoint) dropIn(q *suq.Queue, r int, addr uint64) {
	for slot := range q.All() {
		op := ep.rx.at(slot)
		if int(op.rail) != r || ep.core.Unexpected(slot).Size <= ep.inject[r] || ep.core.Whose(slot) != addr {
			continue
		}
		q.Remove(slot)
		ep.stats[op.rail].Error()
		op.state = rxAbandoned // the provider keeps it until it closes
	}
}
