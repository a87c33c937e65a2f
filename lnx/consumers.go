package lnx

import (
	"fmt"
	"os"
	"slices"
	"sync/atomic"

	"golnx/peer"
	"golnx/providers"
	"golnx/providers/fierr"
	"golnx/providers/fiinfo"
	"golnx/providers/ofi"
	"golnx/rail/intercept"
	"golnx/rail/timer"
)

// consumers are those that the environment and Options ask for. Those of
// intercept.Register come and go, and are asked for when they are needed.
type consumers struct {
	trace, flags, own []*intercept.Hooks
	timer             *timer.Config // nil if it is off
}

func newConsumers(o Options) (c consumers, err error) {
	c.own = o.Hooks
	if i := slices.Index(o.Hooks, nil); i >= 0 {
		return c, fmt.Errorf("Options.Hooks: entry %d is nil: %w", i, fierr.EInval)
	}
	switch v, _ := o.Lookup(intercept.TraceEnv); v {
	case "", "0":
	case "1":
		c.trace = []*intercept.Hooks{intercept.Trace(os.Stderr)}
	default:
		return c, fmt.Errorf("%s=%q: 1 traces set-up on standard error, 0 does not", intercept.TraceEnv, v)
	}
	if c.timer, err = timerConfig(o.Lookup); err != nil {
		return c, err
	}
	c.flags, err = flagsHooks(o.Lookup)
	return c, err
}

// ofLinks are the consumers of set-up, in order. The recorder of flags is outermost, where
// it sees what the program asks for.
func (c *consumers) ofLinks() []*intercept.Hooks {
	return slices.Concat(c.trace, c.flags, intercept.Registered(), c.own)
}

// ofEndpoint are those of an endpoint that opens now, and whether users' are among them.
// The timer is innermost, where it sees what the provider takes.
func (c *consumers) ofEndpoint() (hooks []*intercept.Hooks, users bool, err error) {
	hooks = c.ofLinks()
	users = len(hooks) > len(c.trace)+len(c.flags)
	inner, err := timerHooks(c.timer)
	return append(hooks, inner...), users, err
}

// getinfo asks a provider for what it has, through the hooks.
func getinfo(hooks []*intercept.Hooks, traits providers.Traits, caps Caps, direct bool) ([]*ofi.Info, error) {
	hints := ofi.Hints(traits)
	if direct {
		hints = ofi.DirectHints(traits)
	}
	hints.Caps |= fiinfo.Caps(caps)
	if len(hooks) == 0 {
		return ofi.Discover(traits, hints)
	}
	known := map[*fiinfo.Info]*ofi.Info{}
	ask := intercept.GetInfo{Provider: traits.Name, Hints: hints}
	err := intercept.Getinfo(hooks, &ask, func(c *intercept.GetInfo) error {
		if c.Hints == nil {
			c.Hints = hints
		}
		infos, err := ofi.Discover(traits, c.Hints)
		c.Results = nil
		for _, info := range infos {
			a := ofi.Attr(info)
			known[a] = info
			c.Results = append(c.Results, a)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var infos []*ofi.Info
	for _, a := range ask.Results {
		if info := known[a]; info != nil { // what a hook made up cannot be opened
			infos = append(infos, info)
		}
	}
	return infos, nil
}

var endpoints atomic.Uint64

// newHooked describes an endpoint to its consumers; nil if there are none.
func newHooked(ep *Endpoint) (*hooked, error) {
	hooks, users, err := ep.set.consumers.ofEndpoint()
	if len(hooks) == 0 || err != nil {
		return nil, err
	}
	h := &hooked{ep: ep, hooks: hooks, users: users, view: &intercept.Endpoint{ID: endpoints.Add(1), Link: ep.link.Name}}
	infos := railInfos(ep.link.Rails)
	for i, info := range infos {
		r := &intercept.Rail{Endpoint: h.view, Index: i, Info: info, Device: ep.link.Rails[i].NIC.Device}
		if r.Device == "" {
			r.Device = info.Domain
		}
		h.view.Rails = append(h.view.Rails, r)
		h.rails = append(h.rails, intercept.NewChain(hooks, r, intercept.Base{Send: h.sendBase, RMA: h.rmaBase, Atomic: h.atomicBase}))
	}
	whole := railInfos([]providers.Info{ep.link.Info})[0]
	whole.Index, whole.Name = -1, ep.link.Name
	h.link = intercept.NewChain(hooks, &intercept.Rail{Endpoint: h.view, Index: -1, Info: whole}, intercept.Base{Recv: h.recvBase})
	h.cqRead = intercept.Reads(hooks, h.view, "cq_read", func(h *intercept.Hooks) intercept.ReadFunc { return h.CQRead },
		func(e []intercept.Entry) (int, error) { return ep.cq.read(entriesOf(e)) })
	h.waits = slices.ContainsFunc(hooks, func(h *intercept.Hooks) bool { return h.CQWait != nil })
	return h, nil
}

// openCQ opens a rail's CQ through the hooks.
func (h *hooked) openCQ(r, size int, open func(int) error) error {
	c := intercept.CQOpen{Size: size}
	return intercept.OpenCQ(h.hooks, h.view.Rails[r], &c, func(c *intercept.CQOpen) error {
		if c.Size < 0 || c.Size > 1<<20 {
			return fmt.Errorf("CQ of rail %s: a size of %d was asked for: 0 to %d are possible: %w", h.view.Rails[r].Info.Name, c.Size, 1<<20, fierr.EInval)
		}
		return open(c.Size)
	})
}

// created tells the consumers what was opened. One that panics fails the opening.
func (h *hooked) created() error {
	if h == nil {
		return nil
	}
	for i, info := range h.ep.link.infos {
		r := h.view.Rails[i]
		for _, step := range []struct {
			name string
			of   func(*intercept.Hooks) func(*intercept.Rail, *fiinfo.Info, *fiinfo.Info)
		}{
			{"domain_info", func(h *intercept.Hooks) func(*intercept.Rail, *fiinfo.Info, *fiinfo.Info) { return h.DomainInfo }},
			{"endpoint_info", func(h *intercept.Hooks) func(*intercept.Rail, *fiinfo.Info, *fiinfo.Info) { return h.EndpointInfo }},
		} {
			err := intercept.Tell(h.hooks, step.name, func(hooks *intercept.Hooks) {
				if f := step.of(hooks); f != nil {
					f(r, info.Hints, ofi.Attr(info))
				}
			})
			if err != nil {
				return err
			}
		}
	}
	if err := h.tell("endpoint_created", func(h *intercept.Hooks) func(*intercept.Endpoint) { return h.EndpointCreated }); err != nil {
		return err
	}
	return h.tell("cq_created", func(h *intercept.Hooks) func(*intercept.Endpoint) { return h.CQCreated })
}

// closing tells the consumers that the endpoint is about to close.
func (h *hooked) closing() error {
	if h == nil {
		return nil
	}
	err := h.tell("cq_closing", func(h *intercept.Hooks) func(*intercept.Endpoint) { return h.CQClosing })
	if e := h.tell("endpoint_closing", func(h *intercept.Hooks) func(*intercept.Endpoint) { return h.EndpointClosing }); err == nil {
		err = e
	}
	return err
}

func (h *hooked) tell(what string, slot func(*intercept.Hooks) func(*intercept.Endpoint)) error {
	return intercept.Tell(h.hooks, what, func(hooks *intercept.Hooks) {
		if f := slot(hooks); f != nil {
			f(h.view)
		}
	})
}

// deviceOf names a peer's NIC, or its address if the blob does not say.
func deviceOf(a *peer.Address, entry int) string {
	if a.Ext != nil && a.Ext.Rails[entry].Domain != "" {
		return a.Ext.Rails[entry].Domain
	}
	return a.EntryString(entry)
}

// remotes describes the other ends of a peer's paths to the consumers.
func (h *hooked) remotes(addr Addr, state *peerState) {
	if h == nil {
		return
	}
	state.remotes = make([]*intercept.Remote, len(state.byPath))
	for i := range state.paths {
		p := &state.paths[i]
		state.remotes[p.rail*state.entries+p.entry] = &intercept.Remote{Peer: uint64(addr), Address: state.addr.String(), Device: deviceOf(state.addr, p.entry)}
	}
}
