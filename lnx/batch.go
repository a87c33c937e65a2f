package lnx

import (
	"fmt"

	"golnx/providers"
	"golnx/providers/fierr"
	"golnx/rail/intercept"
)

// TSendBatch sends messages, in order, with the flags of TSendMsg. It is TSendMsg for
// each of them, but costs one call into the provider for many. It answers how many were
// accepted, and if not all, why not the next one: after EAGAIN, go on with msgs[n:].
//
// Messages of several buffers, hooks, and a policy that takes another rail for each
// message make it a loop.
func (ep *Endpoint) TSendBatch(msgs []Msg, flags Flags) (n int, err error) {
	if bad := flags &^ (FlagCompletion | FlagRemoteCQData | FlagInject); bad != 0 {
		return 0, fmt.Errorf("TSendBatch: %v is not for sends: %w", bad, fierr.EBadFlags)
	}
	ep.lock()
	defer ep.unlock()
	quiet := flags&FlagCompletion == 0
	core, ok := ep.core.(providers.Batcher)
	if !ok || ep.hooks != nil {
		for i := range msgs {
			m := &msgs[i]
			if err := ep.send(intercept.OpTSendMsg, m.IOV, m.Addr, m.Tag, m.Data, flags, m.Context, quiet); err != nil {
				return i, inBatch("TSendBatch", i, err)
			}
		}
		return len(msgs), nil
	}
	b := batch{ep: ep, core: core, flags: flags}
	for i := range msgs {
		m := &msgs[i]
		if p, state := ep.arrives(intercept.OpTSendMsg, m.IOV, m.Addr, flags, m.Context); p != nil {
			if err := b.addAtOnce(p, state, m); err != nil {
				return b.sent, err
			}
			continue
		}
		if ep.sends+b.n >= ep.set.MaxSends {
			if err := b.flush(); err != nil {
				return b.sent, err
			}
		}
		path, op, err := ep.prepare(intercept.OpTSendMsg, m.IOV, m.Addr, m.Tag, m.Data, flags, m.Context, quiet)
		if err != nil {
			if flushed := b.flush(); flushed != nil {
				err = flushed
			}
			return b.sent, inBatch("TSendBatch", b.sent, err)
		}
		if err := b.add(path, op, m.IOV); err != nil {
			return b.sent, err
		}
	}
	err = b.flush()
	return b.sent, err
}

// TRecvBatch posts receives, in order, as TRecvMsg with flags does: with FlagCompletion,
// or without any. It answers how many were posted, and if not all, why not the next one:
// after EAGAIN, go on with msgs[n:].
func (ep *Endpoint) TRecvBatch(msgs []Msg, flags Flags) (n int, err error) {
	if bad := flags &^ FlagCompletion; bad != 0 {
		return 0, fmt.Errorf("TRecvBatch: %v is not for batches of receives: %w", bad, fierr.EBadFlags)
	}
	ep.lock()
	defer ep.unlock()
	for i := range msgs {
		if err := ep.hookedReceive(intercept.OpTRecvMsg, &msgs[i], flags); err != nil {
			return i, inBatch("TRecvBatch", i, err)
		}
	}
	return len(msgs), nil
}

// inBatch says which message of a batch an error is about.
func inBatch(call string, i int, err error) error {
	if err == fierr.Again {
		return err
	}
	return fmt.Errorf("%s: message %d: %w", call, i, err)
}

// batch is messages to one rail that are handed over together.
type batch struct {
	ep     *Endpoint
	core   providers.Batcher
	flags  Flags
	n      int // staged
	sent   int
	staged [providers.BatchSize]staged
}

type staged struct {
	path *path
	slot providers.Slot
	// msg is set of a message without a slot, which is over when it is taken.
	msg   *Msg
	state *peerState
}

// add takes the message that stands in ep.op.
func (b *batch) add(p *path, op *txOp, iov [][]byte) error {
	ep := b.ep
	if b.n == len(b.staged) || b.n > 0 && b.staged[0].path.rail != p.rail || ep.op.Count > 1 {
		next := ep.op
		if err := b.flush(); err != nil {
			ep.dropTx(next.Slot, op)
			return err
		}
		ep.op = next
	}
	if ep.op.Count > 1 {
		if err := ep.handOver(p.rail, op, iov, b.flags); err != nil {
			return ep.refused(intercept.OpTSendMsg, p, op, err)
		}
		ep.accepted(p, op, b.flags)
		b.sent++
		return nil
	}
	op.peer.refused = nil // the next message has a choice of its own
	ep.pin(p.rail, op, iov, b.flags)
	b.core.Stage(b.n, &ep.op)
	b.staged[b.n] = staged{path: p, slot: ep.op.Slot}
	b.n++
	return nil
}

// addAtOnce takes a message that arrives.
func (b *batch) addAtOnce(p *path, state *peerState, m *Msg) error {
	ep := b.ep
	if b.n == len(b.staged) || b.n > 0 && b.staged[0].path.rail != p.rail || ep.cq.len()+b.n >= ep.set.CQSize {
		if err := b.flush(); err != nil {
			return err
		}
	}
	if ep.cq.full() {
		return fierr.Again
	}
	ep.setAtOnce(p, m.IOV[0], m.Tag, m.Data, b.flags)
	b.core.Stage(b.n, &ep.op)
	b.staged[b.n] = staged{path: p, msg: m, state: state}
	b.n++
	return nil
}

// flush hands over what is staged. What a rail does not take is taken back.
func (b *batch) flush() error {
	ep, n := b.ep, b.n
	if n == 0 {
		return nil
	}
	b.n = 0
	taken, err := b.core.SendStaged(b.staged[0].path.rail, n)
	for i := range b.staged[:taken] {
		if s := &b.staged[i]; s.msg != nil {
			ep.sentAtOnce(s.path, s.state, len(s.msg.IOV[0]), s.msg.Tag, b.flags, s.msg.Context, b.flags&FlagCompletion == 0)
		} else {
			ep.accepted(s.path, ep.tx.at(s.slot), b.flags)
		}
	}
	b.sent += taken
	if taken == n {
		ep.driveAtTimes()
		return nil
	}
	for i := n - 1; i > taken; i-- {
		if s := &b.staged[i]; s.msg == nil {
			ep.dropTx(s.slot, ep.tx.at(s.slot))
		}
	}
	s := &b.staged[taken]
	if s.msg != nil {
		return ep.unsent(intercept.OpTSendMsg, s.state, s.path, err)
	}
	ep.tx.at(s.slot).peer.refused = s.path
	ep.op.Slot = s.slot
	return ep.refused(intercept.OpTSendMsg, s.path, ep.tx.at(s.slot), err)
}
