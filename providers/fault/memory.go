package fault

import (
	"fmt"

	"golnx/mr"
	"golnx/providers"
	"golnx/providers/fierr"
)

var (
	_ providers.RMAer         = (*Core)(nil)
	_ providers.AtomicCore    = (*Core)(nil)
	_ providers.RemoteCounter = (*Core)(nil)
)

// RMA implements [providers.RMAer], as far as the inner Core does: ENOSYS if not.
func (c *Core) RMA(rail int, op *providers.RMAOp) error {
	inner, ok := c.Core.(providers.RMAer)
	if !ok {
		return fierr.ENoSys
	}
	if err := c.plan.Fail(RMA); err != nil {
		return err
	}
	return inner.RMA(rail, op)
}

// Atomic implements [providers.AtomicCore], as far as the inner Core does: ENOSYS if not.
func (c *Core) Atomic(rail int, call *providers.AtomicCall) error {
	inner, ok := c.Core.(providers.AtomicCore)
	if !ok {
		return fierr.ENoSys
	}
	if err := c.plan.Fail(Atomic); err != nil {
		return err
	}
	return inner.Atomic(rail, call)
}

// QueryAtomic implements [providers.AtomicCore]; it does not fail.
func (c *Core) QueryAtomic(rail int, kind providers.AtomicKind, op providers.AtomicOp, typ providers.Datatype) (int, error) {
	inner, ok := c.Core.(providers.AtomicCore)
	if !ok {
		return 0, fierr.EOpNotSupp
	}
	return inner.QueryAtomic(rail, kind, op, typ)
}

// RemoteEvents implements [providers.RemoteCounter]; it does not fail.
func (c *Core) RemoteEvents(rail int) (providers.RemoteEvents, bool) {
	inner, ok := c.Core.(providers.RemoteCounter)
	if !ok {
		return providers.RemoteEvents{}, false
	}
	return inner.RemoteEvents(rail)
}

// Registrar answers a rail's domain, the same value each time: nil if the inner Core
// registers no memory. A domain of raw keys is the inner Core's, and does not fail.
func (c *Core) Registrar(rail int) mr.Registrar {
	inner, ok := c.Core.(interface{ Registrar(rail int) mr.Registrar })
	if !ok {
		return nil
	}
	if c.registrars == nil {
		c.registrars = make([]mr.Registrar, len(c.Rails()))
	}
	if c.registrars[rail] == nil {
		c.registrars[rail] = inner.Registrar(rail)
		if _, raw := c.registrars[rail].(mr.RawMapper); !raw {
			c.registrars[rail] = &registrar{c.registrars[rail], c.plan}
		}
	}
	return c.registrars[rail]
}

type registrar struct {
	mr.Registrar
	plan *Plan
}

// Register implements [mr.Registrar].
func (r *registrar) Register(attr *mr.Attr) (mr.Registration, error) {
	if err := r.plan.Fail(Register); err != nil {
		return nil, fmt.Errorf("%s failed as planned: %w", Register, err)
	}
	inner, err := r.Registrar.Register(attr)
	if err != nil {
		return nil, err
	}
	return &registration{inner, r}, nil
}

type registration struct {
	mr.Registration
	by *registrar
}

// Domain implements [mr.Registration].
func (r *registration) Domain() mr.Registrar { return r.by }
