package sim

import (
	"unsafe"

	"golnx/providers"
	"golnx/providers/fierr"
)

type slotState uint8

const (
	free  slotState = iota
	taken           // the owner's
	held            // a message has it: a send under way, or an unexpected message
	over            // completed, and not yet given back
)

type txEntry struct {
	gen   uint16
	state slotState
}

type rxEntry struct {
	iov   [providers.MaxIOV]providers.IOVec
	small *[providers.SmallRecv]byte // made at the first SetSmall; entries move
	count int
	msg   *message // while held
	src   uint64
	gen   uint16
	rail  uint8
	state slotState
}

// AllocTx implements [providers.Core].
func (c *Core) AllocTx() (providers.Slot, error) {
	slot, ok := takeSlot(&c.freeTx, len(c.tx), c.limits.MaxTx)
	if !ok {
		return 0, fierr.Again
	}
	if int(slot) == len(c.tx) {
		c.tx = append(c.tx, txEntry{})
	}
	c.tx[slot].state = taken
	return slot, nil
}

// FreeTx implements [providers.Core].
func (c *Core) FreeTx(slot providers.Slot) {
	if int(slot) >= len(c.tx) || c.tx[slot].state == free || c.tx[slot].state == held {
		c.fabric.breached("FreeTx of send context %d, which is free or under way", slot)
		return
	}
	tx := &c.tx[slot]
	tx.state = free
	tx.gen++
	c.freeTx = append(c.freeTx, slot)
}

// AllocRx implements [providers.Core].
func (c *Core) AllocRx(overLimit bool) (providers.Slot, error) {
	limit := c.limits.MaxRx
	if overLimit {
		limit = len(c.rx) + 1
	} else if len(c.rx)-len(c.freeRx) >= limit {
		return 0, fierr.Again
	}
	slot, ok := takeSlot(&c.freeRx, len(c.rx), limit)
	if !ok {
		return 0, fierr.Again
	}
	if int(slot) == len(c.rx) {
		c.rx = append(c.rx, rxEntry{})
	}
	c.rx[slot].state = taken
	return slot, nil
}

// takeSlot answers a free slot or the next new one.
func takeSlot(list *[]providers.Slot, used, limit int) (providers.Slot, bool) {
	if n := len(*list); n > 0 {
		slot := (*list)[n-1]
		*list = (*list)[:n-1]
		return slot, true
	}
	return providers.Slot(used), used < limit
}

// ReleaseRx implements [providers.Core]. The message in it, if any, is dropped.
func (c *Core) ReleaseRx(slot providers.Slot) {
	if int(slot) >= len(c.rx) || c.rx[slot].state == free {
		c.fabric.breached("ReleaseRx of receive entry %d, which is free", slot)
		return
	}
	rx := &c.rx[slot]
	if rx.msg != nil {
		c.drop(rx.msg)
	}
	*rx = rxEntry{gen: rx.gen + 1}
	c.freeRx = append(c.freeRx, slot)
}

// drop frees a message.
func (c *Core) drop(m *message) {
	c.fabric.mu.Lock()
	c.fabric.recycle(m)
	c.fabric.mu.Unlock()
}

// SetBuffers implements [providers.Core].
func (c *Core) SetBuffers(slot providers.Slot, iov []providers.IOVec) {
	if len(iov) > providers.MaxIOV || !c.mine(slot) {
		c.fabric.breached("SetBuffers of %d buffers for receive entry %d, which is free or over", len(iov), slot)
		return
	}
	rx := &c.rx[slot]
	rx.count = copy(rx.iov[:], iov)
}

// SetSmall implements [providers.Core].
func (c *Core) SetSmall(slot providers.Slot, size int) {
	if size > providers.SmallRecv || !c.mine(slot) {
		c.fabric.breached("SetSmall of %d bytes for receive entry %d, which is free or over", size, slot)
		return
	}
	rx := &c.rx[slot]
	if rx.small == nil {
		rx.small = new([providers.SmallRecv]byte)
	}
	rx.iov[0], rx.count = providers.IOVec{Base: unsafe.Pointer(rx.small), Len: uintptr(size)}, 1
}

// Small implements [providers.Core].
func (c *Core) Small(slot providers.Slot) []byte { return c.rx[slot].small[:] }

// mine says whether a receive entry can be given buffers.
func (c *Core) mine(slot providers.Slot) bool {
	return int(slot) < len(c.rx) && (c.rx[slot].state == taken || c.rx[slot].state == held)
}

// Slots answers how many send contexts and receive entries are not free.
func (c *Core) Slots() (tx, rx int) {
	return len(c.tx) - len(c.freeTx), len(c.rx) - len(c.freeRx)
}
