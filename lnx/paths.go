package lnx

import (
	"errors"
	"fmt"
	"time"

	"golnx/providers/fierr"
	"golnx/rail"
	"golnx/rail/intercept"
)

// path is one way to a peer: the address that a rail gave to one of its entries.
type path struct {
	rail, entry int
	addr        uint64
	silent      time.Time // since when it does not connect; zero if it does
	dead        bool      // given up: messages take another while there is one
	passed      uint      // messages that would have taken it since
}

// retryDead is after how many messages a path that was given up is tried again.
const retryDead = 8

// pathTo finds the path that a policy chose.
func (p *peerState) pathTo(ch rail.Path) *path {
	return &p.paths[p.byPath[ch.Rail*p.entries+ch.Addr]]
}

// choose answers the path of a message. One that was refused before is tried again
// on the path chosen for it, so that retries do not skew the shares.
func (ep *Endpoint) choose(state *peerState, size uint64) (*path, error) {
	if state.detour != nil {
		return state.detour, nil
	}
	if state.settled != nil && state.settledAt == ep.broken {
		return state.settled, nil
	}
	if p := state.refused; p != nil && ep.sel.Rails().Health(p.rail) != rail.Down {
		return p, nil
	}
	call := rail.Call{Size: size, NUMA: -1}
	if ep.near {
		call.NUMA = ep.nodeOf(size)
	}
	ch, err := ep.pick(state, call)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, fierr.EHostUnreach)
	}
	p := state.pathTo(ch.Path)
	if p.dead {
		if p.passed++; p.passed%retryDead != 0 {
			p = state.alive()
		}
	}
	if s := &ep.shm[p.rail]; s.blocked && size > ep.inject[p.rail] {
		if p = ep.round(state); p == nil {
			return nil, fmt.Errorf("%d bytes over %s: %w", size, ep.link.Rails[ch.Rail].Name(), ErrRailBroken)
		}
	}
	state.refused = p
	if !p.dead && !ep.shm[p.rail].blocked && (ch.Local || ep.ordered) {
		state.settled, state.settledAt = p, ep.broken // the policy would answer the same again
	}
	return p, nil
}

// up notes that the path took a message.
func (p *path) up(state *peerState) {
	if !p.dead && p.silent.IsZero() {
		return
	}
	p.silent, p.passed = time.Time{}, 0
	if p.dead {
		p.dead, state.why = false, nil
	}
}

func (p *peerState) alive() *path {
	for i := range p.paths {
		if !p.paths[i].dead {
			return &p.paths[i]
		}
	}
	return nil
}

// round finds a path for a message that shm would never complete. From then on all
// messages to the peer take it, so that they stay in order.
func (ep *Endpoint) round(state *peerState) *path {
	for i := range state.paths {
		if p := &state.paths[i]; !p.dead && !ep.link.Rails[p.rail].NodeLocal {
			state.detour, state.settled = p, nil
			return p
		}
	}
	return nil
}

// unsent deals with a provider's no to a message that has not left. EAGAIN drives
// the rails, so that a caller who only repeats the call gets there. A path that
// fails, or does not connect within Options.ConnectTimeout, is given up: the answer
// is EAGAIN if there is another one to try, and an error if there is none. A policy
// that keeps order stays with the other one; with the rest a path comes back.
func (ep *Endpoint) unsent(o intercept.Op, state *peerState, p *path, err error) error {
	if err = ep.another(state, p, err); err != fierr.Again {
		err = fmt.Errorf("%s %w", callName(o), err)
	}
	return err
}

func (ep *Endpoint) another(state *peerState, p *path, err error) error {
	name := ep.link.Rails[p.rail].Name()
	if err == fierr.Again {
		ep.poll.busy(p.rail)
		ep.progress(1)
		if state.bell != nil && ep.wait.polled&(1<<p.rail) != 0 {
			state.bell.Ring() // it asked to connect, or its queue is full
		}
		if state.sends > 0 || ep.link.Rails[p.rail].NodeLocal {
			return err // the peer is slow to receive; if it is dead the watcher says so
		}
		now := time.Now()
		if p.silent.IsZero() {
			p.silent = now
		}
		if now.Sub(p.silent) < ep.set.ConnectTimeout {
			return err
		}
		err = fmt.Errorf("no connection within %v: %w", ep.set.ConnectTimeout, fierr.EHostUnreach)
	} else if e, ok := fierr.Of(err); !ok || !lost[e] {
		ep.stats[p.rail].Error()
		state.refused = nil
		return fmt.Errorf("over %s to %v: %w", name, state.addr, err) // the message is at fault
	}
	ep.stats[p.rail].Error()
	err = fmt.Errorf("over %s to %v: %w", name, state.addr, err)
	if !p.dead {
		p.dead = true
		state.why = append(state.why, err)
	}
	state.refused, state.detour, state.settled = nil, nil, nil
	other := state.alive()
	if other == nil { // the next send tries all again
		for i := range state.paths {
			state.paths[i].dead, state.paths[i].silent = false, time.Time{}
		}
		err, state.why = errors.Join(state.why...), nil
		return err
	}
	if ep.ordered {
		state.detour = other
	}
	return fierr.Again
}

// lost are the errors that speak of the way, not of the message.
var lost = map[fierr.Errno]bool{
	fierr.ENoDev: true, fierr.EConnAborted: true, fierr.EConnReset: true, fierr.EConnRefused: true,
	fierr.EShutdown: true, fierr.ETimedOut: true, fierr.EHostDown: true, fierr.EHostUnreach: true,
	fierr.ENetDown: true, fierr.ENetUnreach: true, fierr.ENotConn: true,
}
