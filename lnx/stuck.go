package lnx

import (
	"fmt"
	"time"

	"golnx/providers"
	"golnx/providers/fierr"
	"golnx/rail"
)

// A process that is killed can leave shm damaged for those who live on, in two
// ways that cannot be repaired from outside (libfabric 2.1):
//
//   - Killed while it wrote into our command queue, it leaves a gap there that
//     nothing passes: we receive nothing over shm any more. A probe to ourselves
//     finds out, and the user is told.
//   - Killed during a transfer above the inject size, it blocks the completions
//     of our later ones, which shm gives in order.

// ErrRailBroken: shm can no longer be used in the way asked for, because a
// process was killed at a bad moment. Opening the endpoint again repairs it.
var ErrRailBroken = fmt.Errorf("rail is broken by the end of a peer's process: reopen the endpoint: %w", fierr.EOwnerDead)

// probeLimit is how long a probe may take. Polls count as well, so that a
// process which was stopped does not blame the rail.
const (
	probeLimit = 2 * time.Second
	probePolls = 1000
)

// shmState is what is known of the state of one node-local rail.
type shmState struct {
	self    uint64 // our own rail address, once inserted
	known   bool   // self is valid
	probing bool
	sent    bool
	begun   time.Time
	polls   int
	deaf    bool // a probe did not arrive: nothing will
	blocked bool // completions of large sends do not come
}

// suspectShm starts a probe of every rail that the dead peer shared memory over.
func (ep *Endpoint) suspectShm(state *peerState) {
	if _, ok := ep.core.(providers.Prober); !ok || ep.direct.core != nil { // a probe would not be heard
		return
	}
	for _, p := range state.paths {
		if s := &ep.shm[p.rail]; ep.link.Rails[p.rail].NodeLocal && !s.deaf {
			*s = shmState{self: s.self, known: s.known, blocked: s.blocked, probing: true, begun: time.Now()}
			ep.probing++
		}
	}
}

// probeShm drives the probes under way, under the lock.
func (ep *Endpoint) probeShm() {
	for r := range ep.shm {
		s := &ep.shm[r]
		if !s.probing {
			continue
		}
		s.polls++
		if !s.sent {
			s.sent = ep.sendProbe(r, s)
		}
		if s.polls > probePolls && time.Since(s.begun) > probeLimit {
			s.probing, s.deaf = false, true
			ep.broken++
			_ = ep.sel.SetHealth(r, rail.Suspect) // shows in Stats
			ep.probing--
			ep.goDeaf(r)
		}
	}
}

func (ep *Endpoint) sendProbe(r int, s *shmState) bool {
	if !s.known {
		name, err := ep.core.Name(r)
		if err != nil {
			return false
		}
		if s.self, err = ep.core.Insert(r, name); err != nil {
			return false
		}
		s.known = true
	}
	return ep.core.(providers.Prober).Probe(r, s.self) == nil
}

// probed hears a probe arrive.
func (ep *Endpoint) probed(r int) {
	if s := &ep.shm[r]; s.probing {
		s.probing = false
		ep.probing--
	}
}

// goDeaf reports that nothing arrives over a rail any more: an entry without
// context in the CQ, and the failure of all posted receives, which might wait
// for what cannot come.
func (ep *Endpoint) goDeaf(r int) {
	ep.stats[r].Error()
	ep.cq.pushErr(ErrEntry{
		Entry: Entry{Flags: FlagTagged | FlagRecv, Src: AddrUnspec},
		Err:   fierr.EOwnerDead,
		Rail:  ep.link.Rails[r].Name(),
	})
	for slot := range ep.posted.All() {
		ep.cancel(slot, fierr.EOwnerDead)
	}
}

// hears answers whether messages from a peer can arrive, an error if not.
func (ep *Endpoint) hears(state *peerState) error {
	for _, p := range state.paths {
		if ep.shm[p.rail].deaf {
			return fmt.Errorf("receive over %s: %w", ep.link.Rails[p.rail].Name(), ErrRailBroken)
		}
	}
	return nil
}

// blockShm fails the sends whose completion comes behind that of one which a dead
// peer left unfinished. They may have arrived.
func (ep *Endpoint) blockShm(r int, after uint64) {
	ep.shm[r].blocked = true
	ep.broken++
	_ = ep.sel.SetHealth(r, rail.Suspect) // shows in Stats; local peers keep it
	for _, chunk := range ep.tx.chunks {
		for j := range chunk {
			if op := &chunk[j]; op.state == txActive && int(op.rail) == r && op.seq > after && op.len > ep.inject[r] {
				ep.abandonSend(op, fierr.EOwnerDead)
			}
		}
	}
}
