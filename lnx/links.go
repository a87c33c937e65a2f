package lnx

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golnx/linkspec"
	"golnx/providers"
	"golnx/providers/ofi"
	"golnx/rail"
	"golnx/rail/intercept"
)

// ErrNoLinks says that no link was asked for, or none of those asked for can be
// opened.
var ErrNoLinks = errors.New("no link to open")

// Listing is the answer to what can be linked here.
type Listing struct {
	// Links are the links of the spec that can be opened, in its order.
	Links []*Link
	// LeftOut says what of the spec is not in Links, or is there differently.
	LeftOut []LeftOut
}

// LeftOut is one difference between what the spec says and what is offered.
type LeftOut struct {
	Link   string `json:"link"`   // as the spec has it
	What   string `json:"what"`   // the provider, domain or address, or WholeLink
	Reason string `json:"reason"` // in words
	// Note says that What is there, under another name.
	Note bool `json:"-"`
}

// WholeLink is LeftOut.What of a link that cannot be opened.
const WholeLink = "the whole link"

// String puts it on one line.
func (l LeftOut) String() string { return fmt.Sprintf("%s: %s: %s", l.Link, l.What, l.Reason) }

// Link is one combination of providers that can be opened. It is immutable.
type Link struct {
	// Name is the link as a spec, with the providers' full names and every
	// domain.
	Name string
	// Info is what an application may choose by: the attributes of the first
	// domain of the first provider that is not node-local, as fi_lnx(7) has
	// it, with the provider and domain names of the whole link.
	Info providers.Info
	// Rails are the domains that will be opened, in order.
	Rails []providers.Info
	// LeftOut is the part of the listing that concerns this link.
	LeftOut []LeftOut

	infos []*ofi.Info
	set   settings
}

// Direct says that the link was asked for in direct mode (Options.Direct).
func (l *Link) Direct() bool { return l.set.Direct }

// Links answers every link of the spec that can be opened here, as fi_getinfo(3)
// does for provider lnx, and says what of the spec is missing and why. A link
// is offered whole or not at all. If none can be opened the error wraps
// ErrNoLinks and has the reasons; the listing is valid then too.
func Links(opts Options) (*Listing, error) {
	set, err := opts.resolve()
	if err != nil {
		return &Listing{}, err
	}
	if len(set.spec) == 0 {
		return &Listing{}, fmt.Errorf("%w: set %s, as in %s='shm+tcp', or Options.Links", ErrNoLinks, linkspec.EnvProvLinks, linkspec.EnvProvLinks)
	}
	set.warnAliases()
	if set.Direct {
		ofi.MatchInProvider()
	}
	finder := finder{known: map[string][]*ofi.Info{}, hooks: set.consumers.ofLinks(), caps: set.Caps, direct: set.Direct}
	listing := &Listing{}
	var errs []error
	for _, spec := range set.spec {
		link, left, err := finder.link(spec, set)
		listing.LeftOut = append(listing.LeftOut, left...)
		if err != nil {
			listing.LeftOut = append(listing.LeftOut, LeftOut{Link: spec.String(), What: WholeLink, Reason: err.Error()})
			errs = append(errs, fmt.Errorf("link %s: %w", spec, err))
			continue
		}
		listing.Links = append(listing.Links, link)
	}
	if len(listing.Links) == 0 {
		return listing, fmt.Errorf("%w: %w", ErrNoLinks, errors.Join(errs...))
	}
	return listing, nil
}

// finder asks libfabric once for each provider.
type finder struct {
	known  map[string][]*ofi.Info
	hooks  []*intercept.Hooks
	caps   Caps
	direct bool
}

func (f *finder) discover(traits providers.Traits) ([]*ofi.Info, error) {
	if infos, ok := f.known[traits.Name]; ok {
		return infos, nil
	}
	infos, err := getinfo(f.hooks, traits, f.caps, f.direct)
	if err == nil {
		f.known[traits.Name] = infos
	}
	return infos, err
}

// link resolves one link of the spec.
func (f *finder) link(spec linkspec.Link, set settings) (*Link, []LeftOut, error) {
	var left []LeftOut
	leave := func(what, reason string, args ...any) {
		left = append(left, LeftOut{Link: spec.String(), What: what, Reason: fmt.Sprintf(reason, args...)})
	}
	note := func(what, reason string, args ...any) {
		leave(what, reason, args...)
		left[len(left)-1].Note = true
	}
	link := &Link{set: set}
	var full linkspec.Link
	for _, m := range spec.Members {
		traits, err := f.provider(alias(set.ProviderAlias, m.Provider))
		if err != nil {
			return nil, left, err
		}
		if slices.ContainsFunc(full.Members, func(o linkspec.Member) bool { return o.Provider == traits.Name }) {
			return nil, left, fmt.Errorf("%s is named twice: %s is another name for it", traits.Name, m.Provider)
		}
		switch _, aliased := set.ProviderAlias[m.Provider]; {
		case aliased:
			note(m.Provider, "is an alias of %s", traits.Name)
		case traits.Name != m.Provider:
			note(m.Provider, "became %s, which has the peer interface", traits.Name)
		}
		if traits.NodeLocal && set.DisableShm {
			leave(m.Provider, "disabled by %s or Options.DisableShm", linkspec.EnvDisableShm)
			continue
		}
		domains := slices.Clone(m.Domains)
		for i, d := range domains {
			domains[i] = alias(set.DomainAlias, d)
		}
		named := func(info *ofi.Info) string {
			r := info.Info
			r.Alias = set.aliasOf(m, max(0, slices.Index(domains, info.Domain)))
			return r.Name()
		}
		infos, err := f.member(traits, domains, named, leave)
		if err != nil {
			return nil, left, err
		}
		for i, info := range infos {
			r := info.Info
			r.Alias = set.aliasOf(m, i)
			link.Rails = append(link.Rails, r)
		}
		full.Members = append(full.Members, canonical(traits.Name, domainsOf(infos)))
		link.infos = append(link.infos, infos...)
	}
	if len(link.infos) == 0 {
		return nil, left, nothingLeft(left)
	}
	if err := set.checkDirect(link.Rails); err != nil {
		return nil, left, err
	}
	if len(link.infos) > providers.MaxRails {
		return nil, left, fmt.Errorf("it has %d domains: at most %d can be linked, so name those you want", len(link.infos), providers.MaxRails)
	}
	link.Name, link.LeftOut = full.String(), left
	link.Info = representative(link.Rails)
	// A policy that has a peer's messages take several rails cannot keep their order,
	// whatever each rail does. (What a policy refuses, Open reports.)
	if sel, err := rail.NewSelector(railInfos(link.Rails), rail.Options{Policy: set.Policy, Seed: set.Seed}); err == nil && !sel.Ordered() {
		link.Info.MsgOrder = 0
	}
	return link, left, nil
}

// nothingLeft says why a link has no rail.
func nothingLeft(left []LeftOut) error {
	s := "nothing of it is left"
	for _, l := range left {
		if !l.Note {
			s += fmt.Sprintf("; %s: %s", l.What, l.Reason)
		}
	}
	return errors.New(s)
}

// canonical leaves out a domain that only repeats the provider's name, as shm's.
func canonical(provider string, domains []string) linkspec.Member {
	if len(domains) == 1 && domains[0] == provider {
		domains = nil
	}
	return linkspec.Member{Provider: provider, Domains: domains}
}

// provider finds the traits of a name in a spec.
func (f *finder) provider(name string) (providers.Traits, error) {
	traits, ok := providers.Lookup(name)
	if ok && f.direct {
		return directTraits(traits, name)
	}
	if ok {
		return traits, nil
	}
	var known []string
	for _, t := range providers.All() {
		known = append(known, strings.Join(append([]string{t.Name}, t.Aliases...), " or "))
	}
	return traits, fmt.Errorf("provider %q is unknown: known are %s", name, strings.Join(known, ", "))
}

// available names the providers that libfabric offers here.
func (f *finder) available() string {
	var names []string
	for _, t := range providers.All() {
		if infos, err := f.discover(t); err == nil && len(infos) > 0 {
			names = append(names, t.Name)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// member finds one info for each domain that a member of a spec asks for. Errors have the
// rails as named.
func (f *finder) member(traits providers.Traits, domains []string, named func(*ofi.Info) string, leave func(what, reason string, args ...any)) ([]*ofi.Info, error) {
	all, err := f.discover(traits)
	if err == nil {
		err = f.lacking(traits, all, domains, named)
	}
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("provider %s offers nothing: libfabric has it not built in, or finds no device for it; available here: %s", traits.Name, f.available())
	}
	if len(domains) == 0 {
		domains = domainsOf(all)
		slices.Sort(domains)
		domains = slices.Compact(domains)
	}
	var chosen []*ofi.Info
	for _, domain := range domains {
		var here []*ofi.Info
		for _, info := range all {
			if info.Domain == domain {
				here = append(here, info)
			}
		}
		if len(here) == 0 {
			known := domainsOf(all)
			slices.Sort(known)
			return nil, fmt.Errorf("provider %s has no domain %q: known are %s", traits.Name, domain, strings.Join(slices.Compact(known), ", "))
		}
		best := prefer(here, traits.PreferAddrFormats)
		chosen = append(chosen, best)
		for _, info := range here {
			if info != best && info.Fabric != best.Fabric {
				leave(domain, "its network %s: a domain is one rail, over %s", info.Fabric, best.Fabric)
			}
		}
	}
	return chosen, nil
}

// prefer takes the first info with the most wanted address format.
func prefer(infos []*ofi.Info, order []providers.AddrFormat) *ofi.Info {
	for _, format := range order {
		for _, info := range infos {
			if info.AddrFormat == format && !linkLocal(info.Fabric) {
				return info
			}
		}
	}
	return infos[0]
}

// linkLocal networks need a scope that no peer can know.
func linkLocal(fabric string) bool { return strings.HasPrefix(fabric, "fe80:") }

func domainsOf(infos []*ofi.Info) []string {
	var names []string
	for _, info := range infos {
		names = append(names, info.Domain)
	}
	return names
}

// representative follows fi_lnx(7): the first domain of the first provider that
// is not shm stands for the link, because applications choose by its PCI address.
func representative(rails []providers.Info) providers.Info {
	info := rails[0]
	for _, r := range rails {
		if !r.NodeLocal {
			info = r
			break
		}
	}
	var provs, doms []string
	for _, r := range rails {
		if len(provs) == 0 || provs[len(provs)-1] != r.Provider {
			provs = append(provs, r.Provider)
		}
		doms = append(doms, r.Domain)
		info.InjectSize = min(info.InjectSize, r.InjectSize)
		info.MaxMsgSize = min(info.MaxMsgSize, r.MaxMsgSize)
		info.IOVLimit = min(info.IOVLimit, r.IOVLimit)
		info.CQDataSize = min(info.CQDataSize, r.CQDataSize)
		info.RMAIOVLimit = min(info.RMAIOVLimit, r.RMAIOVLimit)
		info.Levels &= r.Levels
		info.Caps &= r.Caps
		info.MsgOrder &= r.MsgOrder
	}
	info.Provider, info.Domain = strings.Join(provs, "+"), strings.Join(doms, "+")
	info.NodeLocal = !slices.ContainsFunc(rails, func(r providers.Info) bool { return !r.NodeLocal })
	return info
}
