package intercept

import (
	"fmt"
	"io"

	"golnx/providers/fiinfo"
)

// TraceEnv is the environment variable that turns set-up tracing on, with 1.
const TraceEnv = "LFI_TRACE"

// Trace answers a consumer that writes a line for each step of set-up: what was asked
// of which provider, what was opened, what closes. It sees nothing of the data path.
func Trace(w io.Writer) *Hooks {
	say := func(format string, args ...any) {
		_, _ = fmt.Fprintf(w, "lnx trace: "+format+"\n", args...) // a trace is no reason to fail
	}
	info := func(step string) func(*Rail, *fiinfo.Info, *fiinfo.Info) {
		return func(r *Rail, asked, granted *fiinfo.Info) {
			say("endpoint %d: %s of rail %d (%s): asked caps %v, got %v, mode %v, msg_order %v",
				r.Endpoint.ID, step, r.Index, r.Info.Name, asked.Caps, granted.Caps, granted.Mode, granted.TX.MsgOrder)
		}
	}
	event := func(step string) func(*Endpoint) {
		return func(e *Endpoint) { say("endpoint %d: %s: %s, %s", e.ID, step, e.Link, e.Address) }
	}
	return &Hooks{
		Name: "trace",
		GetInfo: func(c *GetInfo, next func(*GetInfo) error) error {
			asked := "no hints"
			if c.Hints != nil {
				asked = fmt.Sprintf("caps %v", c.Hints.Caps)
			}
			err := next(c)
			say("getinfo of %s with %s: %d answers, error %v", c.Provider, asked, len(c.Results), err)
			for _, r := range c.Results {
				say("  %s, domain %s, fabric %s", r.Fabric.Provider, r.Domain.Name, r.Fabric.Name)
			}
			return err
		},
		CQOpen: func(r *Rail, c *CQOpen, next func(*CQOpen) error) error {
			err := next(c)
			say("endpoint %d: cq of rail %d (%s) with %d entries: error %v", r.Endpoint.ID, r.Index, r.Info.Name, c.Size, err)
			return err
		},
		DomainInfo:      info("domain"),
		EndpointInfo:    info("endpoint"),
		EndpointCreated: event("opened"),
		EndpointClosing: event("closing"),
	}
}
