package lnx

import (
	"fmt"
	"strings"

	"golnx/linkspec"
	"golnx/peer"
	"golnx/providers"
	"golnx/providers/fierr"
	"golnx/rail/intercept"
)

// Direct mode (Options.Direct): the provider of the only rail has the receives, and
// matches. The queues of package srq and suq stay empty; the state of a receive is
// rxPosted until it completes, whether a message has met it or not.

// EnvDirect turns Options.Direct on.
const EnvDirect = "LNX_DIRECT"

// ErrNotSupported: the provider of a rail cannot do what was asked for, or the link was not
// asked for it. It is mr.ErrNotSupported, and fierr.EOpNotSupp as well; an ENOSYS or
// EOPNOTSUPP of libfabric is it, too.
var ErrNotSupported = fierr.ErrNotSupported

// directMode is what an endpoint in direct mode has besides.
type directMode struct {
	core   providers.Matcher // nil in every other endpoint
	posted int               // receives that the provider has
	age    uint64            // of the newest
	drops  []providers.Slot  // claimed messages that could not be dropped yet
}

// setDirect takes the option from the environment.
func (s *settings) setDirect() error {
	text, ok := s.Lookup(EnvDirect)
	if s.Direct || !ok {
		return nil
	}
	on, err := linkspec.ParseBool(text)
	if err != nil {
		return fmt.Errorf("%s: %w", EnvDirect, err)
	}
	s.Direct = on
	return nil
}

// checkDirect refuses a link that direct mode cannot have.
func (s *settings) checkDirect(rails []providers.Info) error {
	if !s.Direct || len(rails) == 1 {
		return nil
	}
	return fmt.Errorf("it has %d rails (%s): in direct mode (Options.Direct, %s) one provider matches all messages, so name one domain of one provider: %w",
		len(rails), railNames(rails), EnvDirect, fierr.EInval)
}

func railNames(rails []providers.Info) string {
	s := ""
	for i, r := range rails {
		if i > 0 {
			s += ", "
		}
		s += r.Name()
	}
	return s
}

// openDirect finds out whether the core matches.
func (ep *Endpoint) openDirect() error {
	if !ep.set.Direct {
		return nil
	}
	core, ok := ep.core.(providers.Matcher)
	if !ok || !core.Matches() {
		return fmt.Errorf("direct mode over %s: %w", ep.link.Name, ErrNotSupported)
	}
	ep.direct.core = core
	return nil
}

// onePath refuses a peer that reaches us from several addresses, of which a receive
// can only name one.
func (ep *Endpoint) onePath(common []peer.Path) error {
	if ep.direct.core == nil || len(common) == 1 {
		return nil
	}
	return fmt.Errorf("rail %s reaches it at %d addresses, and in direct mode a peer has one: %w",
		ep.link.Rails[0].Name(), len(common), ErrNotSupported)
}

// directTraits answers the traits of a provider in direct mode.
func directTraits(traits providers.Traits, name string) (providers.Traits, error) {
	if traits.Direct != nil && traits.Name != name {
		return *traits.Direct, nil
	}
	if traits.Unsafe != "" {
		return traits, fmt.Errorf("%s in direct mode: %s: %w", traits.Name, traits.Unsafe, ErrNotSupported)
	}
	return traits, nil
}

// dropWaiting drops all that waits before the rail closes. shm 2.1 would free it twice, and
// write into the regions of the senders. Those of this process have to hear of it before
// they forget this endpoint: they look into its region then.
func (ep *Endpoint) dropWaiting() {
	if ep.direct.core != nil && ep.link.Rails[0].NodeLocal {
		ep.direct.core.DropUnexpected(providers.NoAddr)
	}
}

// dropOf drops what waits of a peer of this process that closes, for its region goes.
func (ep *Endpoint) dropOf(r int, addr uint64) {
	if ep.direct.core != nil && ep.link.Rails[r].NodeLocal {
		ep.direct.core.DropUnexpected(addr)
	}
}

// noUntagged is why there are no untagged messages: tcp 2.1 keeps none that nobody has
// posted a receive for, and reads nothing that comes behind it.
func (ep *Endpoint) noUntagged(o intercept.Op) error {
	return fmt.Errorf("%s: rail %s has no untagged messages (FI_MSG) in direct mode (Options.Direct): %w", callName(o), ep.link.Rails[0].Name(), ErrNotSupported)
}

// otherMode says so if one end has a provider and the other has it below a layer that
// direct mode leaves out.
func (ep *Endpoint) otherMode(remote *peer.Address) string {
	if remote.Ext == nil {
		return ""
	}
	for _, l := range ep.local {
		for _, r := range remote.Ext.Rails {
			own, _, _ := strings.Cut(l.Provider, ";")
			other, _, _ := strings.Cut(r.Provider, ";")
			if own == other && l.Provider != r.Provider {
				return fmt.Sprintf(" (one end has Options.Direct, or %s, and the other has not: over %s both need it)", EnvDirect, own)
			}
		}
	}
	return ""
}
