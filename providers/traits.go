package providers

import (
	"fmt"
	"slices"
	"strings"
)

// Sizes are the sizes in bytes from one to another; the zero value has none.
type Sizes struct{ From, UpTo uint64 }

// Has says whether a size is among them.
func (s Sizes) Has(size uint64) bool { return s.UpTo > 0 && size >= s.From && size <= s.UpTo }

// Traits are the peculiarities of one provider that the layer has to respect.
// The zero value of a field means that nothing is peculiar.
type Traits struct {
	// Name is libfabric's own name, utility layers included: "tcp;ofi_rxm".
	Name string
	// Aliases are further names that a spec may use ("tcp").
	Aliases []string
	// NodeLocal says that the provider reaches processes of this node only.
	// Such a provider takes all local traffic of a link.
	NodeLocal bool
	// InjectArrives says that an injected message (FI_INJECT) is in its peer's memory
	// when the call returns: nothing can happen to it any more.
	InjectArrives bool
	// Env lists variables that must be in the environment before libfabric is
	// first called in the process. What the user has set is left alone.
	Env []EnvDefault
	// MRMode has the FI_MR_* bits (fi_mr(3)) that the layer offers in its hints.
	MRMode MRMode
	// NICAtomics says that NICs do the atomic operations, which are atomic with those
	// of the same NIC only. Otherwise the target's process does them, whatever rail
	// they came over.
	NICAtomics bool
	// FetchToConfirm says that atomics must not be asked to complete when the target has
	// them (FI_DELIVERY_COMPLETE), and those that fetch can take their place.
	FetchToConfirm bool
	// ForgetsFetches says that atomics which wait for the target's answer never complete
	// when the connection breaks, while all else that is under way on it fails.
	ForgetsFetches bool
	// Fetch has the sizes of unexpected messages that are better taken from the provider
	// at once: it keeps them in buffers that are far larger, or they stay with their
	// sender, where it is not safe to leave them.
	Fetch Sizes
	// Direct are the traits of the provider that takes its place in direct mode (see
	// [Matcher]), nil if it is the same one. Unsafe says why it cannot be opened in
	// direct mode.
	Direct *Traits
	Unsafe string
	// Sink is for providers that do harm when a message is longer than the receive
	// that it meets: in direct mode (see [Matcher]) every receive has so many bytes of
	// address space behind its buffers, and no message may be longer.
	Sink uint64
	// PreferAddrFormats orders the address formats of a domain that has several
	// (IPv4 and IPv6 on one NIC); the first one found is used. Empty takes the
	// provider's own order.
	PreferAddrFormats []AddrFormat
}

// EnvDefault is one environment variable with the value that a provider needs.
type EnvDefault struct {
	Name, Value string
	// Why is printed by lnx doctor and helps to judge an override.
	Why string
	// Peer says that only the peer interface needs it, not direct mode.
	Peer bool
}

// MRMode has the mr_mode bits of fi_domain(3) and fi_mr(3).
type MRMode uint64

// Bits of mr_mode (rdma/fi_domain.h).
const (
	MRLocal     MRMode = 1 << 2
	MRVirtAddr  MRMode = 1 << 4
	MRAllocated MRMode = 1 << 5
	MRProvKey   MRMode = 1 << 6
	MREndpoint  MRMode = 1 << 9
	MRHMEM      MRMode = 1 << 10
)

// AddrFormat is an address format of fi_getinfo(3) (FI_SOCKADDR_IN, …).
type AddrFormat uint32

// Address formats that the layer knows by name (rdma/fabric.h).
const (
	AddrUnspec      AddrFormat = 0
	AddrSockaddr    AddrFormat = 1
	AddrSockaddrIn  AddrFormat = 2
	AddrSockaddrIn6 AddrFormat = 3
	AddrSockaddrIB  AddrFormat = 4
	AddrStr         AddrFormat = 9
)

// String gives libfabric's name of the format.
func (f AddrFormat) String() string {
	switch f {
	case AddrUnspec:
		return "FI_FORMAT_UNSPEC"
	case AddrSockaddr:
		return "FI_SOCKADDR"
	case AddrSockaddrIn:
		return "FI_SOCKADDR_IN"
	case AddrSockaddrIn6:
		return "FI_SOCKADDR_IN6"
	case AddrSockaddrIB:
		return "FI_SOCKADDR_IB"
	case AddrStr:
		return "FI_ADDR_STR"
	}
	return fmt.Sprintf("FI_ADDR(%d)", uint32(f))
}

var registry []Traits

// Register makes a provider known. It is called from init functions; a name or
// alias registered twice is a programming error and panics.
func Register(t Traits) {
	for _, name := range append([]string{t.Name}, t.Aliases...) {
		if other, ok := Lookup(name); ok {
			panic(fmt.Sprintf("providers: %q registered twice (by %q and %q)", name, other.Name, t.Name))
		}
	}
	registry = append(registry, t)
	slices.SortFunc(registry, func(a, b Traits) int { return strings.Compare(a.Name, b.Name) })
}

// Lookup finds the traits of a provider by its name or an alias.
func Lookup(name string) (Traits, bool) {
	for _, t := range registry {
		if t.Name == name || slices.Contains(t.Aliases, name) {
			return t, true
		}
	}
	return Traits{}, false
}

// All answers every registered provider, ordered by name.
func All() []Traits { return slices.Clone(registry) }
