package lnx

import (
	"crypto/rand"
	"encoding/binary"
	"time"

	"golnx/internal/doorbell"
	"golnx/peer"
)

// shm has no descriptor to sleep on. An endpoint with such a rail has a bell instead,
// named in its address blob, which its local peers ring after what they put into shm
// while it sleeps. Peers that cannot, as those of C LNX, are the reason why it still
// wakes up by itself: often while there are any, or while a transfer is under way,
// whose steps nobody rings for; rarely otherwise.

// napBelled bounds a sleep while all local peers that the endpoint knows can ring.
const napBelled = 5 * time.Millisecond

type bells struct {
	own *doorbell.Bell // nil without a node-local rail, or if there cannot be one
	// mute counts the local peers that cannot ring.
	mute int
	nap  time.Duration // napBelled
}

// open makes the endpoint's own bell. Without one it polls.
func (b *bells) open() {
	var token [8]byte
	_, _ = rand.Read(token[:]) // never fails
	if own, err := doorbell.New(binary.NativeEndian.Uint64(token[:])); err == nil {
		b.own, b.nap = own, napBelled
	}
}

func (b *bells) close() error {
	if b.own == nil {
		return nil
	}
	return b.own.Close()
}

// name is what the address blob says of the bell.
func (b *bells) name() []byte {
	if b.own == nil {
		return nil
	}
	return b.own.Name().AppendTo(nil)
}

// meetBell finds the bell of a peer that shares memory.
func (ep *Endpoint) meetBell(state *peerState) {
	if !state.sharesMemory(ep) {
		return
	}
	if state.addr.Ext != nil && len(state.addr.Ext.Bell) > 0 {
		if name, err := doorbell.Parse(state.addr.Ext.Bell); err == nil {
			if state.bell, err = doorbell.Open(name); err == nil {
				return
			}
			state.bell = nil
		}
	}
	state.mute = true
	ep.bells.mute++
}

// leaveBell forgets it.
func (ep *Endpoint) leaveBell(state *peerState) {
	if state.bell != nil {
		_ = state.bell.Close() // nothing depends on it
		state.bell = nil
	}
	if state.mute {
		state.mute = false
		ep.bells.mute--
	}
}

func (p *peerState) sharesMemory(ep *Endpoint) bool {
	for i := range p.paths {
		if ep.link.Rails[p.paths[i].rail].NodeLocal {
			return true
		}
	}
	return false
}

// ring wakes a peer that sleeps, after something was put into shm for it.
func (ep *Endpoint) ring(from Addr) {
	if p := ep.peers.Lookup(peer.Addr(from)); p != nil && p.Data.bell != nil {
		p.Data.bell.Ring()
	}
}

// belled says that nothing comes over shm for which nobody rings: no peer is mute, and
// no transfer is under way.
func (ep *Endpoint) belled() bool {
	return ep.bells.own != nil && ep.bells.mute == 0 && ep.sends == 0 && ep.active == 0 && ep.probing == 0
}
