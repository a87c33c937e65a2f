package sim

import (
	"golnx/providers"
	"golnx/providers/fierr"
)

// Send implements [providers.Core]: EAGAIN with Info.TxSize sends that the owner
// has no completion for, ErrDown on a rail that is down.
func (c *Core) Send(rail int, op *providers.SendOp) error {
	r, err := c.at(rail)
	if err != nil {
		return err
	}
	if int(op.Slot) >= len(c.tx) || c.tx[op.Slot].state != taken {
		c.fabric.breached("Send with send context %d, which was not taken with AllocTx or is in use", op.Slot)
		return fierr.EInval
	}
	size, err := r.accepts(op)
	if err != nil {
		return err
	}
	f := c.fabric
	f.mu.Lock()
	defer f.mu.Unlock()
	if !r.up {
		return ErrDown
	}
	if r.queued >= r.TxSize {
		return fierr.Again
	}
	tx := &c.tx[op.Slot]
	tx.state = held
	r.queued++
	m := f.message()
	m.op = txRef{tag: op.Tag, slot: op.Slot, gen: tx.gen, msg: op.Flags&providers.FlagMsg != 0}
	m.size, m.data, m.flags = size, op.Data, m.op.kind()|op.Flags&providers.FlagRemoteCQData
	m.iov, m.count = op.IOV, op.Count
	if op.Flags&providers.FlagInject != 0 {
		m.capture()
	}
	c.transmit(r, m, op.Dest)
	return nil
}

// Probe implements [providers.Prober].
func (c *Core) Probe(rail int, dest uint64) error {
	r, err := c.at(rail)
	if err != nil {
		return err
	}
	if r.av.addr(dest) == "" {
		return fierr.EInval
	}
	f := c.fabric
	f.mu.Lock()
	defer f.mu.Unlock()
	if !r.up {
		return ErrDown
	}
	m := f.message()
	m.op.msg, m.flags, m.probe = true, providers.FlagMsg, true
	c.transmit(r, m, dest)
	return nil
}

// transmit hands a message to a rail; Fabric.mu is held.
func (c *Core) transmit(r *rail, m *message, dest uint64) {
	f := c.fabric
	if r.out.len() == 0 {
		r.busy = min(r.busy, f.now) // later only if the rail was down since
	}
	leaves := r.send(f.now, m.size)
	m.from, m.to, m.arrives = r, r.av.addr(dest), c.arrival(r, dest, leaves)
	r.out.push(m)
	f.schedule(event{at: leaves, kind: departs, m: m})
}

// arrival answers when a message will be there, not before the one to the same
// address that was sent before it.
func (c *Core) arrival(r *rail, dest uint64, leaves int64) int64 {
	t := leaves + r.Latency
	if r.Jitter > 0 {
		t += c.fabric.jitter.Int64N(r.Jitter + 1)
	}
	to := &r.av.entries[dest]
	to.last = max(to.last, t)
	return to.last
}

// Progress implements [providers.Core].
func (c *Core) Progress(rails uint64) int {
	f := c.fabric
	f.mu.Lock()
	f.runUntil(f.now)
	f.mu.Unlock()
	if c.takeIn(rails) == 0 && c.ring.len() == 0 && f.auto && f.Step() {
		c.takeIn(rails)
	}
	return c.ring.len()
}

// Spin implements [providers.Core].
func (c *Core) Spin(hot, all uint64, rounds int) int {
	for i := range rounds {
		rails := hot
		if i%16 == 0 {
			rails = all
		}
		if n := c.Progress(rails); n > 0 {
			return n
		}
	}
	return 0
}

// takeIn deals with what is due on the rails of the mask, in order, and answers
// how much it was.
func (c *Core) takeIn(rails uint64) (n int) {
	for ; ; n++ {
		r := c.oldest(rails)
		if r == nil {
			return n
		}
		c.fabric.mu.Lock()
		d := r.due.pop()
		c.fabric.mu.Unlock()
		switch d.kind {
		case sent:
			c.sent(r, &d)
		case received:
			c.received(r, d.m)
		case broken:
			c.broken(r)
		}
	}
}

// oldest answers the rail of the mask with what is due first, nil if nothing is.
func (c *Core) oldest(rails uint64) (first *rail) {
	c.fabric.mu.Lock()
	defer c.fabric.mu.Unlock()
	for i, r := range c.rails {
		if rails&(1<<i) != 0 && r.due.len() > 0 && (first == nil || r.due.first().before(first.due.first())) {
			first = r
		}
	}
	return first
}

func (c *Core) sent(r *rail, d *due) {
	r.queued--
	c.tx[d.op.slot].state = over
	c.ring.push(providers.Completion{
		Flags: d.op.kind() | providers.FlagSend,
		Tag:   d.op.tag,
		Src:   providers.NoAddr,
		Slot:  d.op.slot,
		Gen:   d.op.gen,
		Rail:  uint8(r.index),
		Kind:  providers.Transmit,
		Err:   int32(d.err),
	})
}

// received asks the owner for a message's receive.
func (c *Core) received(r *rail, m *message) {
	src := r.av.find(m.from.addr)
	var slot providers.Slot
	var posted bool
	if m.op.msg {
		slot, posted = c.owner.MatchMsg(r.index, src, m.size)
	} else {
		slot, posted = c.owner.Match(r.index, src, m.size, m.op.tag)
	}
	if int(slot) >= len(c.rx) || c.rx[slot].state != taken {
		c.fabric.breached("Match or MatchMsg answered receive entry %d, which was not taken with AllocRx or has a message", slot)
		c.drop(m)
		return
	}
	rx := &c.rx[slot]
	rx.msg, rx.src, rx.rail, rx.state = m, src, uint8(r.index), held
	if posted {
		c.deliver(slot)
	}
}

// deliver copies a message to its receive, and completes that.
func (c *Core) deliver(slot providers.Slot) {
	rx := &c.rx[slot]
	m, rest := rx.msg, rx.msg.buf
	for _, b := range rx.iov[:rx.count] {
		rest = rest[copy(bytesOf(b), rest):]
	}
	done := providers.Completion{
		Flags: providers.FlagRecv | m.flags,
		Len:   m.size - uint64(len(rest)),
		Data:  m.data,
		Tag:   m.op.tag,
		Src:   rx.src,
		Olen:  uint64(len(rest)),
		Slot:  slot,
		Gen:   rx.gen,
		Rail:  rx.rail,
		Kind:  providers.Receive,
	}
	if len(rest) > 0 {
		done.Err = int32(fierr.ETrunc)
	}
	c.ring.push(done)
	rx.msg, rx.state = nil, over
	c.drop(m)
}

// broken withdraws the unexpected messages of a rail.
func (c *Core) broken(r *rail) {
	for i := range c.rx {
		if rx := &c.rx[i]; rx.msg != nil && int(rx.rail) == r.index {
			c.drop(rx.msg)
			rx.msg, rx.state = nil, over
			c.owner.Dropped(providers.Slot(i))
		}
	}
}

// Start implements [providers.Core]. The message is there, so that its completion
// is in the ring when Start returns.
func (c *Core) Start(slot providers.Slot) error {
	if !c.waits(slot) {
		c.fabric.breached("Start of receive entry %d, which holds no unexpected message", slot)
		return fierr.EInval
	}
	c.deliver(slot)
	return nil
}

// waits says whether there is an unexpected message in an entry.
func (c *Core) waits(slot providers.Slot) bool { return int(slot) < len(c.rx) && c.rx[slot].msg != nil }

// Unexpected implements [providers.Core].
func (c *Core) Unexpected(slot providers.Slot) providers.Message {
	if !c.waits(slot) {
		c.fabric.breached("Unexpected for receive entry %d, which holds no unexpected message", slot)
		return providers.Message{}
	}
	rx := &c.rx[slot]
	return providers.Message{
		Size:  rx.msg.size,
		Tag:   rx.msg.op.tag,
		Data:  rx.msg.data,
		Flags: providers.FlagRecv | providers.FlagCompletion | rx.msg.flags,
		Src:   rx.src,
		Rail:  int(rx.rail),
	}
}

// Whose implements [providers.Core].
func (c *Core) Whose(slot providers.Slot) uint64 {
	if !c.waits(slot) {
		return providers.NoAddr
	}
	rx := &c.rx[slot]
	rx.src = c.rails[rx.rail].av.find(rx.msg.from.addr)
	return rx.src
}
