package peer

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Limits of a blob. The first three are C LNX's, which checks few of them and
// overruns fixed arrays instead; the others keep a hostile blob small.
const (
	nameSize        = 64 // FI_NAME_MAX, with the terminating NUL
	head21          = 68 // where the entries of layout 2.1 begin
	maxPerName      = 16 // addresses of one provider (2.1) or fabric (2.2)
	maxProviders21  = 15 // provider entries of layout 2.1
	maxEntries      = 64 // addresses of one endpoint
	maxAddrLen      = 4096
	maxBlob         = 64 << 10
	shmName         = "shm" // provider and fabric name of shared memory
	maxShmNameBytes = 256   // libfabric's shm copies names into such a buffer
)

// Layout says whose struct layout a blob has.
type Layout uint8

const (
	// Layout21 is that of C LNX in libfabric 2.1: entries are named after
	// providers and hold several addresses of one size.
	Layout21 Layout = 1
	// Layout22 is that of C LNX in libfabric 2.2 and later: an entry is one
	// address, named after the core fabric it belongs to.
	Layout22 Layout = 2
)

func (l Layout) String() string {
	switch l {
	case Layout21:
		return "2.1"
	case Layout22:
		return "2.2"
	}
	return fmt.Sprintf("Layout(%d)", uint8(l))
}

// Address is the content of one endpoint's blob. A decoded Address owns its
// memory; it is safe for concurrent use as long as nobody changes it.
type Address struct {
	// Host is what gethostname(2) says on the endpoint's machine.
	Host string
	// Entries are the endpoint's core addresses, 1 to 64.
	Entries []Entry
	// Ext is what Go endpoints say besides; nil for a C LNX peer.
	Ext *Extension
	// Layout says what the entries' names mean. Decode fills it in; 0 means
	// the layout that the Address is encoded in.
	Layout Layout
}

// Entry is one core address, as fi_getname(3) of the core endpoint answers it.
type Entry struct {
	// Name is the core provider's name in layout 2.1 (`shm`, `tcp;ofi_rxm`)
	// and the core fabric's name in 2.2 (`shm`, `10.0.1.0/24`). With an
	// extension it need not be filled in: encoding takes it from there.
	Name string
	// Addr is the address in the provider's own format, 1 to 4096 bytes.
	Addr []byte
}

// Flags are properties of an endpoint that its peers must know.
type Flags uint64

// FlagExtended says that the endpoint speaks the extended mode, in which the
// upper tag bits belong to the link layer.
const FlagExtended Flags = 1 << 0

// Extension is what a Go endpoint says beyond C LNX's blob.
type Extension struct {
	Flags Flags
	Node  Node
	// Rails[i] describes Entries[i].
	Rails []Rail
	// Bell says how to wake the endpoint when it sleeps beside shared memory; nil if
	// that is not possible. At most 64 bytes, which mean nothing to this package.
	Bell []byte
}

// Rail describes the core endpoint behind one entry.
type Rail struct {
	Provider string     // core provider, as in fi_info.fabric_attr.prov_name
	Fabric   string     // core fabric, as in fi_info.fabric_attr.name
	Domain   string     // core domain, as in fi_info.domain_attr.name; may be empty
	Format   AddrFormat // fi_info.addr_format
	Speed    uint64     // link speed in bit/s, 0 if unknown
	NUMA     int32      // NUMA node of the NIC, -1 if unknown
}

// Provider returns the core provider's name of entry i, or "" where the blob
// does not tell: C LNX 2.2 and later names fabrics only.
func (a *Address) Provider(i int) string {
	if r := a.rail(i); r != nil {
		return r.Provider
	}
	if a.Layout == Layout21 || a.isShm(i) {
		return a.Entries[i].Name
	}
	return ""
}

// Fabric returns the core fabric's name of entry i, or "" where the blob does
// not tell: C LNX 2.1 names providers only.
func (a *Address) Fabric(i int) string {
	if r := a.rail(i); r != nil {
		return r.Fabric
	}
	if a.Layout == Layout22 || a.isShm(i) {
		return a.Entries[i].Name
	}
	return ""
}

// Format returns the address format of entry i. Without an extension it is
// known for shm, and FormatUnspec otherwise.
func (a *Address) Format(i int) AddrFormat {
	if r := a.rail(i); r != nil {
		return r.Format
	}
	if a.isShm(i) {
		return FormatString
	}
	return FormatUnspec
}

// Shm returns the index of the shared memory entry, or -1.
func (a *Address) Shm() int {
	for i := range a.Entries {
		if a.isShm(i) {
			return i
		}
	}
	return -1
}

// isShm needs no layout: shm's provider and fabric have the same name.
func (a *Address) isShm(i int) bool {
	if r := a.rail(i); r != nil {
		return r.Provider == shmName
	}
	return a.Entries[i].Name == shmName
}

// rail returns what the extension says about entry i, or nil.
func (a *Address) rail(i int) *Rail {
	if a.Ext == nil || i >= len(a.Ext.Rails) {
		return nil
	}
	return &a.Ext.Rails[i]
}

// As returns a copy of a as Decode would give it back after encoding in the
// layout: entries named for that layout and in its order. Layout 2.2 has shm
// first, or C LNX would not take the peer for local; layout 2.1 has the
// addresses of one provider side by side. It fails if only an extension could
// tell the names of the other layout and there is none, or if a's parts do not
// fit together or exceed what a blob can hold.
func (a *Address) As(layout Layout) (*Address, error) {
	if layout != Layout21 && layout != Layout22 {
		return nil, fmt.Errorf("encode address: unknown %v, use Layout22 or Layout21", layout)
	}
	if a.Layout != 0 && a.Layout != layout && a.Ext == nil {
		return nil, fmt.Errorf("encode address of %q in layout %v: its entries are named for layout %v and without an extension nothing says the other names; encode it in layout %v",
			a.Host, layout, a.Layout, a.Layout)
	}
	if a.Ext != nil && len(a.Ext.Rails) != len(a.Entries) {
		return nil, fmt.Errorf("encode address of %q: %d rails in the extension for %d entries, want one for each",
			a.Host, len(a.Ext.Rails), len(a.Entries))
	}
	names := make([]string, len(a.Entries))
	for i, e := range a.Entries {
		names[i] = e.Name
		if a.Ext != nil && layout == Layout21 {
			names[i] = a.Ext.Rails[i].Provider
		} else if a.Ext != nil {
			names[i] = a.Ext.Rails[i].Fabric
		}
	}
	out := &Address{Host: a.Host, Layout: layout}
	if a.Ext != nil {
		out.Ext = &Extension{Flags: a.Ext.Flags, Node: a.Ext.Node, Bell: bytes.Clone(a.Ext.Bell)}
	}
	for _, i := range wireOrder(names, layout) {
		out.Entries = append(out.Entries, Entry{Name: names[i], Addr: bytes.Clone(a.Entries[i].Addr)})
		if a.Ext != nil {
			out.Ext.Rails = append(out.Ext.Rails, a.Ext.Rails[i])
		}
	}
	return out, out.validate()
}

// wireOrder returns the indices of names in the order in which the layout
// writes them, and keeps the given order where it can.
func wireOrder(names []string, layout Layout) []int {
	rank := func(i int) int {
		if layout == Layout21 {
			return slices.Index(names, names[i])
		}
		if names[i] == shmName {
			return 0
		}
		return 1
	}
	order := make([]int, len(names))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return rank(i) - rank(j) })
	return order
}

// validate checks what Decode checks, so that nothing is written that could
// not be read back.
func (a *Address) validate() error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("encode address of %q in layout %v: "+format, append([]any{a.Host, a.Layout}, args...)...)
	}
	if err := checkName(a.Host); err != nil {
		return fail("host name: %w", err)
	}
	if n := len(a.Entries); n < 1 || n > maxEntries {
		return fail("%d entries, want 1 to %d", n, maxEntries)
	}
	perName := map[string]int{}
	first := map[string]int{} // size of the name's first address
	for i, e := range a.Entries {
		if err := checkName(e.Name); err != nil {
			return fail("name of entry %d: %w", i, err)
		}
		if e.Name == extName || bytes.HasPrefix(e.Addr, []byte(extMagic)) {
			return fail("entry %d (%s) looks like the extension; fill in Ext instead", i, e.Name)
		}
		if n := len(e.Addr); n < 1 || n > maxAddrLen {
			return fail("entry %d (%s) has %d address bytes, want 1 to %d", i, e.Name, n, maxAddrLen)
		}
		if perName[e.Name] == 0 {
			first[e.Name] = len(e.Addr)
		} else if a.Layout == Layout21 && first[e.Name] != len(e.Addr) {
			return fail("addresses of %d and %d bytes for %s, which needs them of one size", first[e.Name], len(e.Addr), e.Name)
		}
		perName[e.Name]++
		if limit := limitFor(e.Name); perName[e.Name] > limit {
			return fail("more than %d addresses for %s, which is all that C LNX can hold", limit, e.Name)
		}
	}
	if a.Layout == Layout21 && len(perName) > maxProviders21 {
		return fail("%d providers, want at most %d", len(perName), maxProviders21)
	}
	return a.validateExt(fail)
}

func (a *Address) validateExt(fail func(string, ...any) error) error {
	if a.Ext == nil {
		return nil
	}
	if n := len(a.Ext.Bell); n > maxBell {
		return fail("a bell of %d bytes, want at most %d", n, maxBell)
	}
	for i, r := range a.Ext.Rails {
		if err := errors.Join(checkName(r.Provider), checkName(r.Fabric)); err != nil {
			return fail("provider or fabric of rail %d: %w", i, err)
		}
		if err := checkName(r.Domain); r.Domain != "" && err != nil {
			return fail("domain of rail %d: %w", i, err)
		}
		if (r.Provider == shmName) != (r.Fabric == shmName) {
			return fail("rail %d has provider %s on fabric %s; shm is both or neither", i, r.Provider, r.Fabric)
		}
		if r.NUMA < -1 {
			return fail("rail %d has NUMA node %d, want -1 (unknown) to %d", i, r.NUMA, math.MaxInt32)
		}
	}
	return nil
}

// limitFor is the number of addresses that one name may have. A process has
// one shm region per endpoint, and C LNX 2.1 refuses a second.
func limitFor(name string) int {
	if name == shmName {
		return 1
	}
	return maxPerName
}
