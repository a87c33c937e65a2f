package sim

import (
	"fmt"

	"golnx/providers"
	"golnx/providers/fierr"
)

// Limits of a Core. Zero values mean the defaults that are named.
type Limits struct {
	MaxRx int // receive entries, posted and unexpected together; 2,097,152
	MaxTx int // sends under way; 65,536
}

// Core is one endpoint of a Fabric. It implements [providers.Core]; besides, Down
// and Up can be called by anyone at any time.
type Core struct {
	fabric *Fabric
	owner  providers.Owner
	limits Limits
	rails  []*rail
	infos  []providers.Info
	closed bool

	tx             []txEntry
	rx             []rxEntry
	freeTx, freeRx []providers.Slot
	ring           queue[providers.Completion]
}

var (
	_ providers.Core   = (*Core)(nil)
	_ providers.Prober = (*Core)(nil)
)

// Open opens an endpoint with one rail per description, in that order, or
// nothing. Its addresses are of 8 bytes, and no other endpoint of the fabric
// ever has them.
func (f *Fabric) Open(rails []Rail, owner providers.Owner, limits Limits) (*Core, error) {
	if len(rails) == 0 || len(rails) > providers.MaxRails {
		return nil, fmt.Errorf("sim: %d rails asked for: 1 to %d are possible: %w", len(rails), providers.MaxRails, fierr.EInval)
	}
	if limits.MaxRx == 0 {
		limits.MaxRx = 1 << 21
	}
	if limits.MaxTx == 0 {
		limits.MaxTx = 1 << 16
	}
	c := &Core{fabric: f, owner: owner, limits: limits}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, desc := range rails {
		r := &rail{Rail: desc.withDefaults(i), core: c, index: i, up: true, addr: fmt.Sprintf("%05x.%02x", f.opened, i)}
		if err := r.validate(); err != nil {
			return nil, fmt.Errorf("sim: rail %s: %w", r.Name(), err)
		}
		r.Addr = []byte(r.addr)
		c.rails, c.infos = append(c.rails, r), append(c.infos, r.Info)
	}
	f.opened++
	for _, r := range c.rails {
		f.byAddr[r.addr] = r
	}
	return c, nil
}

// Close implements [providers.Core]. Messages that have left arrive; others do
// not, and complete nowhere. Closing twice does nothing.
func (c *Core) Close() error {
	if c.closed {
		return nil
	}
	c.closed = true
	f := c.fabric
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range c.rails {
		f.close(r)
	}
	for i := range c.rx {
		if m := c.rx[i].msg; m != nil {
			f.recycle(m)
		}
	}
	c.tx, c.rx, c.freeTx, c.freeRx, c.ring = nil, nil, nil, nil, queue[providers.Completion]{}
	return nil
}

// Down takes a rail away at a time, or now if that has passed: Send answers
// ErrDown, and nothing arrives over it.
func (c *Core) Down(rail int, at int64, loss Loss) {
	c.change(event{at: at, kind: goesDown, rail: c.rails[rail], loss: loss})
}

// Up brings a rail back at a time, or now if that has passed.
func (c *Core) Up(rail int, at int64) {
	c.change(event{at: at, kind: comesUp, rail: c.rails[rail]})
}

func (c *Core) change(e event) {
	f := c.fabric
	f.mu.Lock()
	defer f.mu.Unlock()
	f.schedule(e)
	f.runUntil(f.now)
}

// at finds an open rail.
func (c *Core) at(rail int) (*rail, error) {
	if c.closed {
		return nil, fierr.Closed
	}
	if rail < 0 || rail >= len(c.rails) {
		return nil, fierr.EInval
	}
	return c.rails[rail], nil
}

// Rails implements [providers.Core].
func (c *Core) Rails() []providers.Info { return c.infos }

// Name implements [providers.Core].
func (c *Core) Name(rail int) ([]byte, error) {
	r, err := c.at(rail)
	if err != nil {
		return nil, err
	}
	return []byte(r.addr), nil
}

// Insert implements [providers.Core]. An address need not belong to an endpoint
// yet.
func (c *Core) Insert(rail int, addr []byte) (uint64, error) {
	r, err := c.at(rail)
	if err != nil {
		return providers.NoAddr, err
	}
	return r.av.insert(addr, r.MaxPeers)
}

// Remove implements [providers.Core].
func (c *Core) Remove(rail int, addr uint64) error {
	r, err := c.at(rail)
	if err != nil {
		return err
	}
	return r.av.remove(addr)
}

// Ready implements [providers.Core].
func (c *Core) Ready() []providers.Completion { return c.ring.side() }

// Consume implements [providers.Core].
func (c *Core) Consume(n int) { c.ring.head += uint(n) }

// WaitFDs implements [providers.Core]: virtual time has no descriptors.
func (c *Core) WaitFDs() (fds []int, without uint64) {
	return nil, ^uint64(0) >> (64 - len(c.rails))
}

// TryWait implements [providers.Core]: with Options.Auto there is work as long as
// anything is to happen.
func (c *Core) TryWait() bool {
	f := c.fabric
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.events) > 0 && (f.auto || f.events[0].at <= f.now) {
		return false
	}
	for _, r := range c.rails {
		if r.due.len() > 0 {
			return false
		}
	}
	return true
}
