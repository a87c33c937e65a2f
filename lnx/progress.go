package lnx

import (
	"slices"

	"golnx/peer"
	"golnx/providers"
	"golnx/providers/fierr"
)

// poller decides which rails to drive. A rail with traffic is driven in every
// round, the others once in a while, so that a slow provider in the link does
// not tax the fast one.
type poller struct {
	all, hot uint64
	tick     uint32
	used     [providers.MaxRails]uint32 // tick of a rail's last traffic
}

// cold is after how many calls without traffic a rail is driven less often.
const cold = 4096

func (p *poller) init(core providers.Core) {
	p.all = ^uint64(0) >> (64 - len(core.Rails()))
	p.hot = p.all
}

func (p *poller) busy(r int) {
	p.hot |= 1 << r
	p.used[r] = p.tick
}

// next answers the rails with traffic, or all if there are none.
func (p *poller) next() uint64 {
	if p.tick++; p.tick%cold == 0 {
		for r := range p.used {
			if p.hot&(1<<r) != 0 && p.tick-p.used[r] > cold {
				p.hot &^= 1 << r
			}
		}
	}
	if p.hot == 0 {
		return p.all
	}
	return p.hot
}

// spin is how many rounds a read of an empty CQ drives the rails, in one call into
// C. A round over shm takes some 100 ns, most of which is a rest.
const spin = 4

// rounds is how often a read of an empty CQ drives the rails. Who has no room for
// entries, or nothing under way, looks for what peers do to memory, which ends no rounds
// early: a round over tcp takes as long as the rest of a small write.
func (ep *Endpoint) rounds(room int) int {
	if room == 0 || ep.rma != nil && ep.sends+ep.active+ep.posted.Len()+ep.msgs.srq.Len() == 0 {
		return 1
	}
	return spin
}

// progress drives the rails for some rounds, until something completes, and deals
// with that, under the lock.
func (ep *Endpoint) progress(rounds int) {
	// Too many unexpected messages: more would only take memory. Messages for
	// posted receives wait as well, until receives make room.
	// What ended while it was started is in the ring already.
	if !ep.flooded() && len(ep.core.Ready()) == 0 {
		ep.core.Spin(ep.poll.next(), ep.poll.all, rounds)
	}
	ep.arriving.since = 0
	ep.drain()
	ep.upkeep()
}

// upkeep does what has to be done now and then.
func (ep *Endpoint) upkeep() {
	if ep.poll.tick%1024 == 0 {
		ep.buryDead()
	}
	if len(ep.starting) > 0 {
		ep.restart()
	}
	if len(ep.direct.drops) > 0 {
		ep.dropRest()
	}
	if ep.probing > 0 {
		ep.probeShm()
	}
}

// takeAll is progress that leaves no rail out.
func (ep *Endpoint) takeAll() {
	if !ep.flooded() {
		ep.core.Progress(ep.poll.all)
	}
	ep.drain()
}

// flooded is when too many unexpected messages wait.
// Messages on their way into buffers have to arrive all the same.
func (ep *Endpoint) flooded() bool {
	return (ep.suq.Len()+ep.msgs.suq.Len() >= ep.set.MaxUnexpected || ep.fetchedBytes >= ep.set.MaxUnexpectedBytes) && ep.active == 0
}

// drain deals with all completions in the core's ring. Nothing that it calls may
// go into the core's data path, which can move the ring.
func (ep *Endpoint) drain() {
	ep.settle()
	for ready := ep.core.Ready(); len(ready) > 0; ready = ep.core.Ready() {
		for i := range ready {
			switch c := &ready[i]; c.Kind {
			case providers.Transmit:
				ep.sent(c)
			case providers.Remote:
				ep.written(c)
			default:
				ep.received(c)
			}
		}
		ep.core.Consume(len(ready))
	}
	if ep.counters != nil && ep.counters.remotely != nil {
		ep.takeRemote()
	}
	ep.farewell()
}

// farewell takes removed peers out of the rails, which may call back.
func (ep *Endpoint) farewell() {
	for len(ep.left) > 0 {
		state := ep.left[0]
		ep.left = ep.left[1:]
		ep.removePaths(state)
	}
}

// settle deals with the messages that met receives in the Core, and with those that it
// has begun to fetch. It comes before anything that asks for the state of a receive.
func (ep *Endpoint) settle() {
	if len(ep.fetch) > 0 {
		ep.fetchAll()
	}
	if len(ep.msgs.released) > 0 {
		ep.releaseMultis()
	}
	if ep.posted.lane != nil {
		ep.noteTaken()
	}
}

// noteTaken deals with the messages that met receives in the Core.
func (ep *Endpoint) noteTaken() {
	lane := ep.posted.lane
	for _, t := range lane.Taken[:lane.TakenN] {
		ep.met(t.Slot, int(t.Rail), ep.arrived(int(t.Rail), t.Src), t.Size)
	}
	lane.TakenN = 0
}

func (ep *Endpoint) sent(c *providers.Completion) {
	op := ep.tx.at(c.Slot)
	if op.state == txFree {
		ep.stats[c.Rail].Error() // completed twice
		return
	}
	ep.sends--
	ep.peers.Release(peer.Addr(op.to)).Data.sends--
	if op.atomic != nil && op.state == txActive && c.Err == 0 {
		op.atomic.deliver()
	}
	ctx, to, tag, quiet, abandoned, flags := op.ctx, op.to, op.tag, op.quiet, op.state == txAbandoned, op.flags()
	ep.dropTx(c.Slot, op)
	switch {
	case abandoned:
	case c.Err != 0:
		ep.stats[c.Rail].Error()
		if flags&FlagAtomic == 0 {
			ep.failForgotten(int(c.Rail), to, fierr.Errno(c.Err))
		}
		ep.fail(int(c.Rail), ErrEntry{
			Entry:     Entry{Context: ctx, Flags: flags, Tag: tag, Src: AddrUnspec},
			Err:       fierr.Errno(c.Err),
			ProvErrno: int(c.ProvErrno),
		})
	default:
		ep.finish(int(c.Rail), &Entry{Context: ctx, Flags: flags, Tag: tag, Src: AddrUnspec}, quiet)
	}
}

func (ep *Endpoint) received(c *providers.Completion) {
	op := ep.rx.at(c.Slot)
	if ep.direct.core != nil {
		ep.matched(c, op)
		return
	}
	if op.fetch == fetching && !ep.wasFetched(c, op) {
		return
	}
	if op.small() && op.state == rxActive && c.Err == 0 && len(ep.starting) == 0 {
		ep.receivedSmall(c, op)
		return
	}
	state, quiet, ctx, from := op.state, op.quiet, op.ctx, op.from
	if state != rxActive && state != rxStray && state != rxAbandoned {
		ep.stats[c.Rail].Error() // completed twice
		return
	}
	if len(op.buf) > 0 && state == rxActive && (c.Err == 0 || fierr.Errno(c.Err) == fierr.ETrunc) {
		copy(op.buf, ep.core.Small(c.Slot)[:min(c.Len, providers.SmallRecv)])
	}
	op.buf = nil
	op.pin.Unpin()
	if state != rxAbandoned {
		ep.active--
	}
	if len(ep.starting) > 0 { // given up by the provider before it could start
		ep.starting = slices.DeleteFunc(ep.starting, func(s providers.Slot) bool { return s == c.Slot })
	}
	if c.Len > ep.inject[c.Rail] && ep.wait.polled&(1<<c.Rail) != 0 {
		ep.ring(from) // its sender waits to hear that it has arrived
	}
	if state != rxActive {
		ep.freeRx(c.Slot, op)
		return
	}
	entry := asEntry(c, ctx, from)
	if op.msg {
		entry.Flags ^= FlagTagged | FlagMsg
		entry.Tag = 0
		quiet = ep.endPiece(op, &entry)
	}
	ep.freeRx(c.Slot, op)
	if c.Err == 0 {
		ep.finish(int(c.Rail), &entry, quiet)
		return
	}
	if fierr.Errno(c.Err) != fierr.ETrunc {
		ep.stats[c.Rail].Error()
	}
	ep.fail(int(c.Rail), ErrEntry{
		Entry: entry, Err: fierr.Errno(c.Err), Olen: int(c.Olen), ProvErrno: int(c.ProvErrno),
	})
}

// asEntry is the completion of a tagged receive as the user sees it.
func asEntry(c *providers.Completion, opContext any, from Addr) Entry {
	return Entry{
		Context: opContext,
		Flags:   FlagTagged | FlagRecv | Flags(c.Flags&providers.FlagRemoteCQData),
		Len:     int(c.Len),
		Tag:     c.Tag,
		Data:    c.Data,
		Src:     from,
	}
}

// receivedSmall is received for what most messages are: tagged, small, whole.
func (ep *Endpoint) receivedSmall(c *providers.Completion, op *rxOp) {
	copy(op.buf, ep.core.Small(c.Slot)[:min(c.Len, providers.SmallRecv)])
	e := asEntry(c, op.ctx, op.from)
	op.buf, op.ctx, op.state = nil, nil, rxFree
	ep.active--
	ep.core.ReleaseRx(c.Slot)
	ep.finish(int(c.Rail), &e, op.quiet)
}

// freeRx gives the slot of a receive back that its provider has completed.
func (ep *Endpoint) freeRx(slot providers.Slot, op *rxOp) {
	op.ctx, op.state, op.msg = nil, rxFree, false
	ep.core.ReleaseRx(slot)
}

// finish passes a success on: to the future that it belongs to, or to the CQ unless it
// is quiet. The rail is -1 if it was none's.
func (ep *Endpoint) finish(r int, e *Entry, quiet bool) {
	if ep.hooks != nil {
		if code, why := ep.hooks.ended(r, e, 0); code != 0 {
			ep.report(r, ErrEntry{Entry: *e, Err: code, Hook: why})
			return
		}
	}
	if ep.counters != nil {
		ep.counters.count(e.Flags, false)
	}
	if quiet {
		return
	}
	if f, ok := e.Context.(*call); ok {
		f.finish(*e, nil)
		return
	}
	ep.cq.push(e)
}

// fail passes a failure on; quiet operations fail aloud.
func (ep *Endpoint) fail(r int, e ErrEntry) {
	if ep.hooks != nil {
		t, _ := e.Context.(*tracked)
		quiet := t != nil && t.quiet
		if e.Err, e.Hook = ep.hooks.ended(r, &e.Entry, e.Err); e.Err == 0 { // a hook made a success of it
			if ep.counters != nil {
				ep.counters.count(e.Flags, false)
			}
			if f, ok := e.Context.(*call); ok {
				f.finish(e.Entry, nil)
			} else if !quiet {
				ep.cq.push(&e.Entry)
			}
			return
		}
	}
	ep.report(r, e)
}

func (ep *Endpoint) report(r int, e ErrEntry) {
	if ep.counters != nil {
		ep.counters.count(e.Flags, true)
	}
	if r >= 0 {
		e.Rail = ep.link.Rails[r].Name()
	}
	if f, ok := e.Context.(*call); ok {
		f.finish(e.Entry, &e)
		return
	}
	ep.cq.pushErr(e)
}
