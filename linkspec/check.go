package linkspec

import (
	"fmt"
	"slices"
	"strings"
)

// Limits of a spec. They are far beyond any machine, and keep what a spec can ask
// for bounded.
const (
	// MaxSpecBytes is the longest spec, in bytes.
	MaxSpecBytes = 4096
	// MaxNameBytes is the longest provider (with all its layers) or domain, in
	// bytes: FI_NAME_MAX of <rdma/fabric.h>, 64, less the terminating zero.
	MaxNameBytes = 63
	// MaxLinks is the largest number of links of a spec.
	MaxLinks = 64
	// MaxMembers is the largest number of members of a link.
	MaxMembers = 16
	// MaxDomains is the largest number of domains named in one link. C LNX
	// numbers the addresses of a peer in 8 bits.
	MaxDomains = 256
)

// check refuses what the grammar lets through, and converts the rest.
func (n *specNode) check(spec string) (Spec, error) {
	links := make(Spec, 0, len(n.Links))
	for i, l := range n.Links {
		if i == MaxLinks {
			return nil, tooMany(spec, l.Pos.Offset, "link", MaxLinks, "a spec")
		}
		link, err := l.check(spec)
		if err != nil {
			return nil, err
		}
		links = append(links, link)
	}
	return links, nil
}

func (n *linkNode) check(spec string) (Link, error) {
	link := Link{Members: make([]Member, 0, len(n.Members))}
	providers := make(map[string]bool, len(n.Members))
	domains := 0
	for i, m := range n.Members {
		if i == MaxMembers {
			return Link{}, tooMany(spec, m.Pos.Offset, "member", MaxMembers, "a link")
		}
		if err := m.checkProvider(spec, providers); err != nil {
			return Link{}, err
		}
		if room := MaxDomains - domains; len(m.Domains) > room {
			return Link{}, tooMany(spec, m.Domains[room].Pos.Offset, "domain", MaxDomains, "a link")
		}
		domains += len(m.Domains)
		names, err := m.checkDomains(spec)
		if err != nil {
			return Link{}, err
		}
		link.Members = append(link.Members, Member{Provider: m.Provider, Domains: names})
	}
	return link, nil
}

// checkProvider adds the member's provider to seen, those of the link so far.
func (n *memberNode) checkProvider(spec string, seen map[string]bool) error {
	if len(n.Provider) > MaxNameBytes {
		return nameTooLong(spec, n.Pos.Offset, "provider", n.Provider)
	}
	layers := strings.Split(strings.ToLower(n.Provider), ";")
	if slices.Contains(layers, "lnx") {
		return syntaxError(spec, n.Pos.Offset,
			fmt.Sprintf("provider %q", n.Provider),
			"a provider to link: lnx cannot be a member of a link")
	}
	// libfabric takes any order of the layers.
	slices.Sort(layers)
	key := strings.Join(layers, ";")
	if seen[key] {
		return syntaxError(spec, n.Pos.Offset,
			fmt.Sprintf("provider %q for the second time in one link", n.Provider),
			`each provider once, all its domains after one ":"`)
	}
	seen[key] = true
	return nil
}

// checkDomains returns nil if the member names none.
func (n *memberNode) checkDomains(spec string) ([]string, error) {
	var names []string
	seen := make(map[string]bool, len(n.Domains))
	for _, d := range n.Domains {
		if len(d.Name) > MaxNameBytes {
			return nil, nameTooLong(spec, d.Pos.Offset, "domain", d.Name)
		}
		if seen[d.Name] {
			return nil, syntaxError(spec, d.Pos.Offset,
				fmt.Sprintf("domain %q for the second time under provider %q", d.Name, n.Provider),
				"each domain once")
		}
		seen[d.Name] = true
		names = append(names, d.Name)
	}
	return names, nil
}

func nameTooLong(spec string, offset int, kind, name string) *SyntaxError {
	return syntaxError(spec, offset,
		fmt.Sprintf("a %s name of %d bytes", kind, len(name)),
		fmt.Sprintf("at most %d bytes", MaxNameBytes))
}

func tooMany(spec string, offset int, kind string, limit int, per string) *SyntaxError {
	return syntaxError(spec, offset,
		fmt.Sprintf("%s number %d", kind, limit+1),
		fmt.Sprintf("at most %d %ss in %s", limit, kind, per))
}

// tooLong points at the first rune that does not fit.
func tooLong(spec string) *SyntaxError {
	fits := 0
	for offset := range spec {
		if offset > MaxSpecBytes {
			break
		}
		fits = offset
	}
	return syntaxError(spec, fits,
		fmt.Sprintf("%d bytes", len(spec)),
		fmt.Sprintf("at most %d bytes", MaxSpecBytes))
}
