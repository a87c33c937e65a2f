package lnx

import (
	"fmt"
	"slices"

	"golnx/providers"
	"golnx/providers/fierr"
	"golnx/providers/ofi"
)

// Caps are capabilities of links, with the bits of fi_getinfo(3). A link can what all its
// rails can: Link.Info.Caps.
type Caps = providers.Caps

// The capabilities that Options.Caps can ask for.
const (
	CapTagged Caps = providers.CapTagged // tagged messages, which every link has
	CapRMA    Caps = providers.CapRMA    // reads and writes of peers' memory
	CapAtomic Caps = providers.CapAtomic // atomic operations on peers' memory, and CapRMA
	// CapRMAEvent: what peers do with memory is counted (EventRemoteRead and
	// EventRemoteWrite), and CapRMA.
	CapRMAEvent Caps = providers.CapRMAEvent
)

func (s *settings) setCaps() error {
	if unknown := s.Caps &^ (CapTagged | CapRMA | CapAtomic | CapRMAEvent); unknown != 0 {
		return fmt.Errorf("Options.Caps has %v: CapTagged, CapRMA, CapAtomic and CapRMAEvent are possible: %w", unknown, fierr.EInval)
	}
	s.Caps |= CapTagged
	if s.Caps&(CapAtomic|CapRMAEvent) != 0 {
		s.Caps |= CapRMA // which no provider has them without
	}
	return nil
}

// lacking says what a provider cannot do of what is asked for, by the rail and the bit,
// if it offers nothing or a hook took the bit out. The rail is one of the domains, if
// those are named.
func (f *finder) lacking(traits providers.Traits, infos []*ofi.Info, domains []string, named func(*ofi.Info) string) error {
	wanted := func(info *ofi.Info) bool { return len(domains) == 0 || slices.Contains(domains, info.Domain) }
	for _, info := range infos {
		if missing := f.caps &^ info.Caps; missing != 0 && wanted(info) {
			return cannot(named(info), missing)
		}
	}
	more := f.caps &^ CapTagged
	if len(infos) > 0 || more == 0 {
		return nil
	}
	all, err := getinfo(nil, traits, 0, f.direct)
	if err != nil || len(all) == 0 {
		return err // it has no device
	}
	missing := more // together, unless one alone is at fault
	for bit := Caps(1); bit != 0; bit <<= 1 {
		if more&bit == 0 {
			continue
		}
		some, err := getinfo(nil, traits, bit, f.direct)
		if err != nil {
			return err
		}
		if len(some) == 0 {
			missing = bit
			break
		}
	}
	return cannot(named(all[max(0, slices.IndexFunc(all, wanted))]), missing)
}

func cannot(rail string, missing Caps) error {
	return fmt.Errorf("rail %s cannot do %v, which Options.Caps asks for: leave the rail or the capability out: %w", rail, missing, fierr.EOpNotSupp)
}

// withoutCap is the error of a call that the link was not asked for.
func (ep *Endpoint) withoutCap(call string, why error) error {
	return fmt.Errorf("%s over %s: %w", call, ep.link.Name, why)
}

// what describes an operation by the flags of its completion, for errors.
func (f Flags) what(tag uint64) string {
	switch {
	case f&FlagAtomic != 0:
		return "atomic operation"
	case f&FlagRead != 0:
		return "read"
	case f&FlagWrite != 0:
		return "write"
	case f&FlagRemoteWrite != 0:
		return "write by a peer"
	}
	op := "send"
	if f&FlagRecv != 0 {
		op = "receive"
	}
	if f&FlagMsg != 0 {
		return "untagged " + op
	}
	return fmt.Sprintf("%s with tag %#x", op, tag)
}
