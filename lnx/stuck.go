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
	self  uint64 // our own rail address, while inserted
	known bool   // self is valid
	// emptied and heard count the empty untagged messages to ourselves that were sent
	// and that arrived. They arrive in the order sent, so that a number tells a probe
	// from the user's.
	emptied, heard uint64
	probes         []uint64 // numbers of the probes under way
	probing        bool
	sent           bool // the last probe
	begun          time.Time
	polls          int
	deaf           bool // a probe did not arrive: nothing will
	blocked        bool // completions of large sends do not come
}

// suspectShm starts a probe of every rail that the dead peer shared memory over.
func (ep *Endpoint) suspectShm(state *peerState) {
	if _, ok := ep.core.(providers.Prober); !ok || ep.direct.core != nil { // a probe would not be heard
		return
	}
	for _, p := range state.paths {
		if s := &ep.shm[p.rail]; ep.link.Rails[p.rail].NodeLocal && !s.deaf {
			if !s.probing {
				ep.probing++
			}
			s.probing, s.sent, s.begun, s.polls = true, false, time.Now(), 0
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
	if ep.core.(providers.Prober).Probe(r, s.self) != nil {
		return false
	}
	s.emptied++
	s.probes = append(s.probes, s.emptied)
	return true
}

// meetSelf notes that the user has inserted our own address: what is sent to it counts.
func (s *shmState) meetSelf(addr uint64) { s.self, s.known = addr, true }

// leaveSelf notes that a rail forgets an address. If it is ours, a probe under way is
// sent again, to the address that we then have.
func (s *shmState) leaveSelf(addr uint64) {
	if s.known && addr == s.self {
		s.known, s.sent, s.emptied, s.heard, s.probes = false, false, 0, 0, nil
	}
}

// isProbe counts an empty untagged message, and answers whether it is a probe.
func (ep *Endpoint) isProbe(r int, src uint64) bool {
	s := &ep.shm[r]
	if !s.known || src != s.self {
		return false
	}
	s.heard++
	if len(s.probes) == 0 || s.probes[0] != s.heard {
		return false
	}
	s.probes = s.probes[1:]
	if s.probing && s.sent && len(s.probes) == 0 {
		s.probing = false
		ep.probing--
	}
	return true
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
	for slot := range ep.allPosted() {
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
			if op := &chunk[j]; op.state == txActive && int(op.rail) == r && op.seq > after && (op.len > ep.inject[r] || op.rma != 0) {
				ep.abandonSend(op, fierr.EOwnerDead)
			}
		}
	}
}
