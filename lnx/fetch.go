package lnx

import (
	"slices"

	"golnx/providers"
	"golnx/providers/fierr"
)

// Unexpected messages whose bytes still lie with their sender are dangerous over
// rxm 2.1: when the connection is gone, asking for them crashes the process, and
// nothing says that it is gone. Others are kept in buffers that are far larger. So the
// core fetches those of the sizes in Info.Fetch as soon as they arrive, into memory of its
// own, and they are copied to the receive that takes them. What waits in this way is
// bounded by Options.MaxUnexpectedBytes.

type fetchState uint8

const (
	notFetched fetchState = iota
	fetching
	fetched
)

// mustFetch notes an unexpected message that the core fetches when its provider has
// queued it.
func (ep *Endpoint) mustFetch(slot providers.Slot, r int, size uint64) {
	if ep.link.Rails[r].Fetch.Has(size) {
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
	switch op.fetch {
	case notFetched:
		ep.noFetch(slot)
		ep.setBuffers(slot, op, iov)
		ep.startRecv(slot, op, rxActive)
		return
	case fetching:
		if len(iov) == 1 {
			op.buf = iov[0]
		} else {
			op.bufs = slices.Clone(iov)
		}
	case fetched: // it completes in its turn
		core := ep.core.(providers.Fetcher)
		data := core.Fetched(slot)
		ep.fetchedBytes -= uint64(len(data))
		op.fetch = notFetched
		core.Deliver(slot, scatter(iov, data))
	}
	op.state = rxActive
	ep.active++
	ep.wait.kick()
	ep.poll.busy(int(op.rail))
}

// scatter copies data into buffers, one after the other, and answers how much fit.
func scatter(iov [][]byte, data []byte) (n int) {
	for _, b := range iov {
		n += copy(b, data[n:])
	}
	return n
}

// wasFetched deals with the end of a fetch, and answers whether that is the end of a
// receive, too.
func (ep *Endpoint) wasFetched(c *providers.Completion, op *rxOp) bool {
	if op.state == rxUnexpected || op.state == rxClaimed { // no receive has met it
		if c.Err != 0 {
			ep.lose(c.Slot, op)
		} else {
			op.fetch = fetched
		}
		return false
	}
	ep.fetchedBytes -= ep.core.Unexpected(c.Slot).Size
	if c.Err == 0 && op.state == rxActive {
		data := ep.core.(providers.Fetcher).Fetched(c.Slot)
		n := copy(op.buf, data)
		n += scatter(op.bufs, data[n:])
		if c.Len, c.Olen = uint64(n), uint64(len(data)-n); c.Olen > 0 {
			c.Err = int32(fierr.ETrunc)
		}
	}
	op.buf, op.bufs, op.fetch = nil, nil, notFetched
	return true
}
