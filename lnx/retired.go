package lnx

import (
	"bytes"
	"sync"

	"golnx/peer"
	"golnx/providers"
)

// shm 2.1 takes a peer's region away when it is removed from the AV, also from under
// messages of the peer that are on their way: they are lost, or the process ends with
// them. So a rail goes on knowing a removed peer that shares memory, without an Addr,
// as long as its process lives; if it is inserted again it has its place back.

// retired is a rail address of a peer that is not in the AV any more.
type retired struct {
	rail  int
	addr  uint64
	name  []byte
	pid   int
	start uint64 // of the process
	ended bool
}

// fewRetired is how many may be there without a look at which of their processes live.
const fewRetired = 8

// mostRetired is how many there may be; shm has room for 256 peers in all. Beyond that
// the oldest of which nothing waits are removed, though they live.
const mostRetired = 128

// retire keeps the rail addresses of a removed peer that shares memory, and answers
// false for one that can be removed at once.
func (ep *Endpoint) retire(state *peerState, p *path) bool {
	waits := sync.OnceValue(ep.waitingOf) // it looks at all operations
	if !ep.link.Rails[p.rail].NodeLocal || state.err != nil && !waits().of(p.rail, p.addr) {
		return false
	}
	r := retired{rail: p.rail, addr: p.addr, name: state.addr.Entries[p.entry].Addr, ended: state.err != nil}
	r.pid, _ = processOf(state.addr, peer.Locality{Memory: true, PIDs: true})
	r.start = startTime(r.pid)
	ep.retired = append(ep.retired, r)
	if len(ep.retired) > fewRetired {
		ep.dropRetired(func(r *retired) bool {
			return (r.ended || startTime(r.pid) != r.start) && !waits().of(r.rail, r.addr)
		})
	}
	if over := len(ep.retired) - mostRetired; over > 0 {
		ep.dropRetired(func(r *retired) bool {
			if over == 0 || waits().of(r.rail, r.addr) {
				return false
			}
			over--
			return true
		})
	}
	return true
}

// waiting is the rail addresses of which messages wait, and the rails over which messages
// of removed peers are on their way into buffers: shm looks into the region of the peer
// for them, and does not tell whose the latter are.
type waiting struct {
	addrs map[railAddr]bool
	rails uint64
}

type railAddr struct {
	rail int8
	addr uint64
}

func (ep *Endpoint) waitingOf() waiting {
	w := waiting{addrs: map[railAddr]bool{}}
	ep.rx.all(func(slot providers.Slot, op *rxOp) {
		switch op.state {
		case rxUnexpected, rxClaimed:
			switch op.fetch {
			case notFetched:
				w.addrs[railAddr{op.rail, ep.core.Whose(slot)}] = true
			case fetching:
				w.rails |= 1 << op.rail
			}
		case rxActive, rxStray, rxAbandoned:
			if ep.peerOf(op.from) == nil {
				w.rails |= 1 << op.rail
			}
		}
	})
	return w
}

func (w waiting) of(r int, addr uint64) bool {
	return w.rails&(1<<r) != 0 || w.addrs[railAddr{int8(r), addr}]
}

// reinstate answers the rail address of a peer that is inserted again.
func (ep *Endpoint) reinstate(rail int, name []byte) (uint64, bool) {
	for i := range ep.retired {
		if r := &ep.retired[i]; r.rail == rail && bytes.Equal(r.name, name) {
			addr := r.addr
			ep.retired = append(ep.retired[:i], ep.retired[i+1:]...)
			return addr, true
		}
	}
	return 0, false
}

// dropRetired takes those that are to go out of their rails, which may call back.
func (ep *Endpoint) dropRetired(goes func(*retired) bool) {
	kept := ep.retired[:0]
	for i := range ep.retired {
		r := &ep.retired[i]
		if !goes(r) {
			kept = append(kept, *r)
		} else if ep.core.Remove(r.rail, r.addr) != nil {
			ep.stats[r.rail].Error()
		}
	}
	ep.retired = kept
}
