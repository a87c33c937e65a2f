package lnx

import (
	"slices"

	"golnx/providers"
	"golnx/providers/fierr"
)

// Unexpected messages whose bytes still lie with their sender are dangerous over
// rxm 2.1: when the connection is gone, asking for them crashes the process, and
// nothing says that it is gone. So the core fetches them as soon as they arrive, into
// memory of its own, and they are copied to the receive that takes them. What waits
// in this way is bounded by Options.MaxUnexpectedBytes.

type fetchState uint8

const (
	notFetched fetchState = iota
	fetching
	fetched
)

// mustFetch notes an unexpected message that the core fetches when its provider has
// queued it.
func (ep *Endpoint) mustFetch(slot providers.Slot, r int, size uint64) {
	if above := ep.link.Rails[r].FetchAbove; above > 0 && size > above {
		ep.fetch = append(ep.fetch, slot)
	}
}

// fetchAll notes which messages are being fetched, and tries again where that could
// not begin.
func (ep *Endpoint) fetchAll() {
	core := ep.core.(providers.Fetcher)
	for n, slot := range ep.fetch {
		op := ep.rx.at(slot)
		switch err := core.Fetch(slot); {
		case err == fierr.Again:
			ep.fetch = append(ep.fetch[:0], ep.fetch[n:]...)
			return
		case err == nil:
			op.fetch = fetching
			ep.fetchedBytes += ep.core.Unexpected(slot).Size
		default:
			ep.lose(slot, op)
		}
	}
	ep.fetch = ep.fetch[:0]
}

// noFetch forgets a message that is no longer there or is received directly.
func (ep *Endpoint) noFetch(slot providers.Slot) {
	if len(ep.fetch) > 0 {
		ep.fetch = slices.DeleteFunc(ep.fetch, func(s providers.Slot) bool { return s == slot })
	}
}

// lose drops an unexpected message that cannot be had.
func (ep *Endpoint) lose(slot providers.Slot, op *rxOp) {
	ep.stats[op.rail].Error()
	ep.queued(op).Remove(slot)
	ep.claims = slices.DeleteFunc(ep.claims, func(s providers.Slot) bool { return s == slot })
	ep.release(slot, op)
}

// release gives a slot back, with what was fetched into it.
func (ep *Endpoint) release(slot providers.Slot, op *rxOp) {
	if op.fetch != notFetched {
		ep.fetchedBytes -= ep.core.Unexpected(slot).Size
	}
	*op = rxOp{}
	ep.core.ReleaseRx(slot)
}

// give has an unexpected message go into the buffers of a receive, whose context
// the op has already.
func (ep *Endpoint) give(slot providers.Slot, op *rxOp, iov [][]byte) {
	if op.fetch == notFetched {
		ep.noFetch(slot)
		ep.setBuffers(slot, op, iov)
		ep.startRecv(slot, op, rxActive)
		return
	}
	if len(iov) == 1 {
		op.buf = iov[0]
	} else {
		op.bufs = slices.Clone(iov)
	}
	op.state = rxActive
	ep.active++
	if op.fetch == fetched {
		ep.active--
		ep.deliver(slot, op)
	}
}

// deliver copies a message that was fetched to the receive that took it.
func (ep *Endpoint) deliver(slot providers.Slot, op *rxOp) {
	msg, data := ep.core.Unexpected(slot), ep.core.(providers.Fetcher).Fetched(slot)
	n := copy(op.buf, data)
	for _, b := range op.bufs {
		n += copy(b, data[n:])
	}
	entry := Entry{
		Context: op.ctx,
		Flags:   op.kind() | FlagRecv | Flags(msg.Flags&providers.FlagRemoteCQData),
		Len:     n,
		Tag:     msg.Tag,
		Data:    msg.Data,
		Src:     op.from,
	}
	r := int(op.rail)
	quiet := ep.endPiece(op, &entry)
	ep.release(slot, op)
	if n < len(data) {
		ep.fail(r, ErrEntry{Entry: entry, Err: fierr.ETrunc, Olen: len(data) - n})
	} else {
		ep.finish(r, &entry, quiet)
	}
}

// wasFetched deals with the end of a fetch.
func (ep *Endpoint) wasFetched(c *providers.Completion, op *rxOp) {
	matched := op.state == rxActive || op.state == rxStray
	if matched {
		ep.active--
	}
	switch {
	case c.Err != 0 && op.state == rxActive:
		ep.stats[c.Rail].Error()
		ctx := op.ctx
		e := ErrEntry{
			Entry: Entry{Context: ctx, Flags: op.kind() | FlagRecv, Tag: c.Tag, Src: op.from},
			Err:   fierr.Errno(c.Err), ProvErrno: int(c.ProvErrno),
		}
		ep.endPiece(op, &e.Entry)
		ep.release(c.Slot, op)
		ep.fail(int(c.Rail), e)
	case c.Err != 0 && !matched:
		ep.lose(c.Slot, op)
	case op.state == rxActive:
		ep.deliver(c.Slot, op)
	case op.state == rxStray:
		ep.release(c.Slot, op)
	default:
		op.fetch = fetched
	}
}
