package fault

import (
	"fmt"

	"golnx/mr"
	"golnx/providers"
	"golnx/providers/fierr"
)

// Core is a Core whose operations fail as planned. What cannot fail is the inner
// Core's.
type Core struct {
	providers.Core
	plan *Plan
	// Completions are looked at once: that many were given back, and seen.
	consumed, seen uint64
	// The one that comes late, and how often Ready still leaves it out.
	late uint64
	left int

	registrars []mr.Registrar // per rail, once asked for
}

var (
	_ providers.Core   = (*Core)(nil)
	_ providers.Prober = (*Core)(nil)
)

// Wrap puts a plan around a Core.
func Wrap(core providers.Core, plan *Plan) *Core { return &Core{Core: core, plan: plan} }

// Unwrap answers the inner Core.
func (c *Core) Unwrap() providers.Core { return c.Core }

// control is Fail with words, for calls outside the data path.
func (c *Core) control(op Op) error {
	err := c.plan.Fail(op)
	if err != nil {
		err = fmt.Errorf("%s failed as planned: %w", op, err)
	}
	return err
}

// Name implements [providers.Core].
func (c *Core) Name(rail int) ([]byte, error) {
	if err := c.control(Name); err != nil {
		return nil, err
	}
	return c.Core.Name(rail)
}

// Insert implements [providers.Core].
func (c *Core) Insert(rail int, addr []byte) (uint64, error) {
	if err := c.control(Insert); err != nil {
		return providers.NoAddr, err
	}
	return c.Core.Insert(rail, addr)
}

// Remove implements [providers.Core].
func (c *Core) Remove(rail int, addr uint64) error {
	if err := c.control(Remove); err != nil {
		return err
	}
	return c.Core.Remove(rail, addr)
}

// AllocTx implements [providers.Core].
func (c *Core) AllocTx() (providers.Slot, error) {
	if err := c.plan.Fail(AllocTx); err != nil {
		return 0, err
	}
	return c.Core.AllocTx()
}

// Send implements [providers.Core].
func (c *Core) Send(rail int, op *providers.SendOp) error {
	if err := c.plan.Fail(Send); err != nil {
		return err
	}
	return c.Core.Send(rail, op)
}

// Probe implements [providers.Prober], as far as the inner Core does: ENOSYS if not.
func (c *Core) Probe(rail int, dest uint64) error {
	prober, ok := c.Core.(providers.Prober)
	if !ok {
		return fierr.ENoSys
	}
	if err := c.plan.Fail(Probe); err != nil {
		return err
	}
	return prober.Probe(rail, dest)
}

// AllocRx implements [providers.Core].
func (c *Core) AllocRx(overLimit bool) (providers.Slot, error) {
	if !overLimit {
		if err := c.plan.Fail(AllocRx); err != nil {
			return 0, err
		}
	}
	return c.Core.AllocRx(overLimit)
}

// Start implements [providers.Core].
func (c *Core) Start(slot providers.Slot) error {
	if err := c.plan.Fail(Start); err != nil {
		return err
	}
	return c.Core.Start(slot)
}

// Ready implements [providers.Core]. A completion that is to fail is changed in
// place; a receive then has no bytes. One that comes late holds up those behind it.
func (c *Core) Ready() []providers.Completion {
	ready := c.Core.Ready()
	for i := c.seen - c.consumed; i < uint64(len(ready)); i++ {
		if d := &ready[i]; c.hits(d) {
			if c.plan.Late > 0 {
				c.late, c.left = c.seen, c.plan.Late
			} else {
				d.Err, d.Len, d.Olen = int32(c.plan.err()), 0, 0
			}
		}
		c.seen++
	}
	if c.left > 0 {
		c.left--
		return ready[:min(c.late-c.consumed, uint64(len(ready)))]
	}
	return ready
}

// hits counts a completion. What peers write has none that could fail.
func (c *Core) hits(d *providers.Completion) bool {
	switch d.Kind {
	case providers.Transmit:
		return c.plan.hit(Transmit)
	case providers.Receive:
		return c.plan.hit(Receive)
	}
	return false
}

// Consume implements [providers.Core].
func (c *Core) Consume(n int) {
	c.consumed += uint64(n)
	c.Core.Consume(n)
}

// Close implements [providers.Core].
func (c *Core) Close() error {
	if err := c.control(Close); err != nil {
		return err
	}
	return c.Core.Close()
}
