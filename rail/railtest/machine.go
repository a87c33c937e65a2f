package railtest

import (
	"fmt"
	"slices"
	"strings"

	"golnx/linkspec"
	"golnx/rail"
)

// Machine describes a node as far as choosing rails goes, with the peers it talks
// to.
type Machine struct {
	// Domains can be rails. Rails fills in Name and Index.
	Domains []rail.Info
	// Distances is the NUMA distance table, see rail.Options.
	Distances [][]int
	Peers     []Peer
}

// Peer is a peer by what it can be reached at.
type Peer struct {
	Name string
	// Local says that the peer is on this node and shares its memory.
	Local bool
	Addrs []Addr
}

// Addr is one address of a peer, named by the peer's domain it belongs to.
type Addr struct{ Provider, Domain, Fabric string }

// String writes the address as case files do, without the fabric.
func (a Addr) String() string { return domainName(a.Provider, a.Domain) }

func domainName(provider, domain string) string {
	if domain == "" {
		return provider
	}
	return provider + ":" + domain
}

// Rails answers the rails of a link on this machine, in the order of the spec and,
// where it names no domains, of the machine. shmOff leaves out shared memory
// (FI_LNX_DISABLE_SHM). What the machine lacks is an error that names what it has.
func (m *Machine) Rails(link linkspec.Link, shmOff bool) ([]rail.Info, error) {
	var rails []rail.Info
	for _, member := range link.Members {
		provided := m.provided(member.Provider)
		if len(provided) == 0 {
			return nil, fmt.Errorf("railtest: link %v: no domain of provider %s: the machine has %s", link, member.Provider, m.names())
		}
		chosen := provided
		if len(member.Domains) > 0 {
			chosen = nil
			for _, name := range member.Domains {
				i := slices.IndexFunc(provided, func(d rail.Info) bool { return d.Domain == name })
				if i < 0 {
					return nil, fmt.Errorf("railtest: link %v: no domain %s of provider %s: the machine has %s", link, name, member.Provider, m.names())
				}
				chosen = append(chosen, provided[i])
			}
		}
		for _, d := range chosen {
			if shmOff && d.NodeLocal {
				continue
			}
			d.Name = domainName(d.Provider, d.Domain)
			d.Index = len(rails)
			rails = append(rails, d)
		}
	}
	if len(rails) == 0 {
		return nil, fmt.Errorf("railtest: link %v: no rail is left without shared memory: add another provider", link)
	}
	return rails, nil
}

// provided answers the domains of the provider by that name, or else of the first
// that layers utility providers over it, as libfabric finds tcp;ofi_rxm for tcp.
func (m *Machine) provided(name string) []rail.Info {
	of := func(match func(layers []string) bool) (found []rail.Info) {
		for _, d := range m.Domains {
			if match(layers(d.Provider)) && (found == nil || slices.Equal(layers(found[0].Provider), layers(d.Provider))) {
				found = append(found, d)
			}
		}
		return found
	}
	want := layers(name)
	if found := of(func(have []string) bool { return slices.Equal(have, want) }); found != nil {
		return found
	}
	return of(func(have []string) bool {
		core := slices.DeleteFunc(have, func(l string) bool { return strings.HasPrefix(l, "ofi_") })
		return slices.Equal(core, want)
	})
}

// layers takes a provider name apart; neither case nor order distinguishes names.
func layers(provider string) []string {
	l := strings.Split(strings.ToLower(provider), ";")
	slices.Sort(l)
	return l
}

func (m *Machine) names() string {
	var names []string
	for _, d := range m.Domains {
		names = append(names, domainName(d.Provider, d.Domain))
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, ", ")
}

// Paths joins rails with the addresses of a peer that they reach: those of their
// provider and fabric (either side not saying the fabric, any), for a node-local
// rail of local peers only.
func Paths(rails []rail.Info, p Peer) []rail.Path {
	var paths []rail.Path
	for i, r := range rails {
		if r.NodeLocal && !p.Local {
			continue
		}
		for j, a := range p.Addrs {
			sameFabric := r.Fabric == "" || a.Fabric == "" || r.Fabric == a.Fabric
			if sameFabric && slices.Equal(layers(r.Provider), layers(a.Provider)) {
				paths = append(paths, rail.Path{Rail: i, Addr: j})
			}
		}
	}
	return paths
}
