package linkspec

import "strings"

// A Spec is a list of links, in the order written: the value of
// FI_LNX_PROV_LINKS. [Parse] never returns one without links.
//
// Spec, [Link] and [Member] are plain values. Their String methods write the text
// form and check nothing; to check one that was not parsed, parse its String.
type Spec []Link

// A Link is one usable combination of providers, in the order written.
type Link struct {
	Members []Member
}

// A Member is one provider of a link.
type Member struct {
	// Provider is the name as fi_getinfo(3) wants it in
	// fi_fabric_attr.prov_name, layers joined by ";": "shm", "tcp;ofi_rxm".
	// Its case and the order of its layers are as written.
	Provider string
	// Domains are names as in fi_domain_attr.name, in the order written. Empty
	// means all domains of the provider.
	Domains []string
}

// String returns the canonical text form: links joined by "|", no spaces.
func (s Spec) String() string {
	links := make([]string, len(s))
	for i, l := range s {
		links[i] = l.String()
	}
	return strings.Join(links, "|")
}

// String returns the canonical text form: members joined by "+", no spaces.
func (l Link) String() string {
	members := make([]string, len(l.Members))
	for i, m := range l.Members {
		members[i] = m.String()
	}
	return strings.Join(members, "+")
}

// String returns the canonical text form: the provider, and after ":" its domains
// if some are named, joined by ",".
func (m Member) String() string {
	if len(m.Domains) == 0 {
		return m.Provider
	}
	return m.Provider + ":" + strings.Join(m.Domains, ",")
}
