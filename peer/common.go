package peer

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// LocalRail is one of this endpoint's rails, as far as reaching peers goes.
type LocalRail struct {
	Index    int    // the caller's number of the rail
	Provider string // as in fi_info.fabric_attr.prov_name
	Fabric   string // as in fi_info.fabric_attr.name
	Domain   string // as in fi_info.domain_attr.name
	Format   AddrFormat
	// Addr is the rail's own address (fi_getname(3)). Peer addresses must
	// look like it: fi_av_insert(3) is not told a length and would read past
	// the end of a shorter one.
	Addr []byte
}

// Path is one way to a peer.
type Path struct {
	Rail  int // LocalRail.Index
	Entry int // index into Address.Entries
}

// Common returns the ways from this endpoint to a peer, in the order of the
// local rails and, for each, of the peer's entries.
//
// shm reaches shm if loc.Memory and unless disableSHM. For other rails it
// depends on what the blob tells:
//   - a Go peer names provider and fabric: rails pair if both are equal. Where a
//     provider has no such pair at all, all its rails pair whose address formats
//     are equal, since IP networks with different names may be routed;
//   - C LNX 2.2 names fabrics: rails pair if these are equal. C LNX inserts our
//     addresses by the same rule, so it could not answer on others;
//   - C LNX 2.1 names providers: rails pair if these are equal.
//
// A loopback address pairs only with another, and if loc.Loopback: on another
// machine it would name a process of that machine. The error is a
// *[NoCommonRailError].
func Common(local []LocalRail, remote *Address, loc Locality, disableSHM bool) ([]Path, error) {
	m := matcher{remote: remote, loc: loc, disableSHM: disableSHM}
	direct := map[string]bool{} // providers that have a pair on one fabric
	for i := range local {
		for e := range remote.Entries {
			if m.match(&local[i], e) == sameFabric {
				direct[local[i].Provider] = true
			}
		}
	}
	var paths []Path
	for i := range local {
		l := &local[i]
		for e := range remote.Entries {
			kind := m.match(l, e)
			if kind == sameFabric || kind == sameProvider && !direct[l.Provider] {
				paths = append(paths, Path{Rail: l.Index, Entry: e})
			}
		}
	}
	if len(paths) == 0 {
		return nil, m.nothing(local)
	}
	return paths, nil
}

type matchKind int

const (
	noMatch      matchKind = iota
	sameProvider           // perhaps routed
	sameFabric             // or all that the peer tells is equal
)

type matcher struct {
	remote     *Address
	loc        Locality
	disableSHM bool
}

func (m *matcher) match(l *LocalRail, e int) matchKind {
	provider, fabric := m.remote.Provider(e), m.remote.Fabric(e)
	if (l.Provider == shmName) != m.remote.isShm(e) {
		return noMatch
	}
	if l.Provider == shmName && (!m.loc.Memory || m.disableSHM) {
		return noMatch
	}
	if provider != "" && provider != l.Provider {
		return noMatch
	}
	if !m.fits(l, e) {
		return noMatch
	}
	switch {
	case fabric == "" || fabric == l.Fabric:
		return sameFabric
	case provider != "":
		return sameProvider
	}
	return noMatch
}

// fits says whether the rail's provider can take the entry's address.
func (m *matcher) fits(l *LocalRail, e int) bool {
	addr := m.remote.Entries[e].Addr
	if f := m.remote.Format(e); f != FormatUnspec && f != l.Format {
		return false
	}
	switch l.Format {
	case FormatString:
		return bytes.IndexByte(addr, 0) > 0 && len(addr) <= maxShmNameBytes
	case FormatSockaddr, FormatSockaddrIn, FormatSockaddrIn6:
		own, ok1 := sockaddr(l.Format, l.Addr)
		other, ok2 := sockaddr(l.Format, addr)
		return ok1 && ok2 && len(l.Addr) == len(addr) && m.reaches(own.Addr(), other.Addr())
	}
	return len(addr) == len(l.Addr)
}

func (m *matcher) reaches(own, other netip.Addr) bool {
	if own.IsLoopback() || other.IsLoopback() {
		return own.IsLoopback() && other.IsLoopback() && m.loc.Loopback
	}
	return true
}

// NoCommonRailError says that no rail of this endpoint reaches a peer.
type NoCommonRailError struct {
	Host   string   // of the peer
	Local  []string // this endpoint's rails in words
	Remote []string // the peer's entries in words
	Hint   string   // what stood in the way of shm, if both sides have it
}

func (e *NoCommonRailError) Error() string {
	s := fmt.Sprintf("no rail in common with the peer on host %s: this side has %s; the peer has %s",
		safe(e.Host), list(e.Local), list(e.Remote))
	if e.Hint != "" {
		s += "; shm cannot be used: " + e.Hint
	}
	return s + "; link a provider and network that both sides have (FI_LNX_PROV_LINKS)"
}

func list(words []string) string {
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}

func (m *matcher) nothing(local []LocalRail) error {
	err := &NoCommonRailError{Host: m.remote.Host}
	hasShm := false
	for _, l := range local {
		hasShm = hasShm || l.Provider == shmName
		err.Local = append(err.Local, describe(l.Provider, l.Fabric, l.Domain, formatAddr(l.Format, l.Addr)))
	}
	for i, e := range m.remote.Entries {
		domain := ""
		if r := m.remote.rail(i); r != nil {
			domain = r.Domain
		}
		err.Remote = append(err.Remote, describe(m.remote.Provider(i), m.remote.Fabric(i), domain, formatAddr(m.remote.Format(i), e.Addr)))
	}
	if hasShm && m.remote.Shm() >= 0 {
		switch {
		case !m.loc.Memory:
			err.Hint = m.loc.Reason
		case m.disableSHM:
			err.Hint = "it is disabled here (FI_LNX_DISABLE_SHM)"
		default:
			err.Hint = "the peer's shm address is malformed"
		}
	}
	err.Local, err.Remote = slices.Compact(err.Local), slices.Compact(err.Remote)
	return err
}

// describe names a rail as `tcp;ofi_rxm on 10.0.1.0/24 (eth0, 10.0.1.7:4711)`.
func describe(provider, fabric, domain, addr string) string {
	if provider == "" {
		provider = "an unnamed provider"
	}
	s := safe(provider)
	if fabric != "" && fabric != provider {
		s += " on " + safe(fabric)
	}
	if domain != "" && domain != provider {
		addr = safe(domain) + ", " + addr
	}
	return s + " (" + addr + ")"
}
