package lnx

import (
	"golnx/providers"
	"golnx/providers/fierr"
	"golnx/rail/intercept"
)

// arriving is for sends that are over when they begin: small messages over rails on
// which an injected message is with its peer when the call returns. They take no slot,
// no context and no way through the provider's completions.
type arriving struct {
	core  providers.Injector
	rails uint64 // 0 if there are none
	since int    // sends since rails were driven
}

// driveAfter is after how many sends the rails are driven: a CQ that always has a
// completion for its reader would never be a reason to.
const driveAfter = 32

func (a *arriving) init(core providers.Core) {
	var ok bool
	if a.core, ok = core.(providers.Injector); !ok {
		return
	}
	for i, info := range core.Rails() {
		if info.InjectArrives {
			a.rails |= 1 << i
		}
	}
}

// arrives answers the path of a message that can be sent so, or nil: then it takes the
// way of all others, which also says what is wrong with it. Calls that wait take that way,
// too: they drive the rails, and do not run far ahead of their receiver.
func (ep *Endpoint) arrives(o intercept.Op, iov [][]byte, to Addr, flags Flags, opContext any) (*path, *peerState) {
	if ep.arriving.rails == 0 || ep.hooks != nil || len(iov) != 1 || untagged(o) || ep.closed.Load() {
		return nil, nil
	}
	if _, waits := opContext.(*call); waits {
		return nil, nil
	}
	state := ep.peerOf(to)
	if state == nil || state.err != nil || state.detour != nil {
		return nil, nil
	}
	p := state.settled
	if p == nil || state.settledAt != ep.broken || ep.arriving.rails&(1<<p.rail) == 0 {
		return nil, nil
	}
	limit := ep.inject[p.rail]
	if flags&FlagInject != 0 {
		limit = ep.link.Info.InjectSize
	}
	if uint64(len(iov[0])) > limit {
		return nil, nil
	}
	return p, state
}

// sendAtOnce sends and completes a message that arrives.
func (ep *Endpoint) sendAtOnce(o intercept.Op, p *path, state *peerState, buf []byte, tag, data uint64, flags Flags, opContext any, quiet bool) error {
	if ep.cq.full() {
		return fierr.Again
	}
	ep.setAtOnce(p, buf, tag, data, flags)
	if err := ep.arriving.core.Inject(p.rail, &ep.op); err != nil {
		return ep.unsent(o, state, p, err)
	}
	ep.sentAtOnce(p, state, len(buf), tag, flags, opContext, quiet)
	ep.driveAtTimes()
	return nil
}

// setAtOnce describes a message that arrives in ep.op.
func (ep *Endpoint) setAtOnce(p *path, buf []byte, tag, data uint64, flags Flags) {
	op := &ep.op
	op.IOV[0], op.Count, op.Dest, op.Tag, op.Data = iovOf(buf), 1, p.addr, tag, data
	op.Flags, op.Slot = uint64(flags&FlagRemoteCQData), providers.NoSlot
}

// sentAtOnce notes that a rail has taken a message that arrives, which so is over.
func (ep *Endpoint) sentAtOnce(p *path, state *peerState, size int, tag uint64, flags Flags, opContext any, quiet bool) {
	state.refused = nil
	p.up(state)
	ep.countSend(p.rail, uint64(size), flags)
	ep.poll.busy(p.rail)
	if state.bell != nil {
		state.bell.Ring()
	}
	ep.finish(p.rail, &Entry{Context: opContext, Flags: FlagTagged | FlagSend, Tag: tag, Src: AddrUnspec}, quiet)
	ep.arriving.since++
}

// driveAtTimes drives the rails after many sends that arrive. It comes when a call has
// noted all that its rail has taken: what completes meanwhile has to be known.
func (ep *Endpoint) driveAtTimes() {
	if ep.arriving.since >= driveAfter {
		ep.progress(1)
	}
}

// countSend counts a tagged message that a rail took.
func (ep *Endpoint) countSend(r int, size uint64, flags Flags) {
	if flags&FlagInject != 0 {
		ep.stats[r].TInject(size)
	} else {
		ep.stats[r].TSend(size)
	}
}
