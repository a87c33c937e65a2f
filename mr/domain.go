package mr

import (
	"fmt"

	"golnx/providers"
	"golnx/providers/fierr"
	"golnx/providers/fiinfo"
)

// Mode bits of fi_mr(3) beside those of package providers.
const (
	ModeRaw        providers.MRMode = 1 << 3  // FI_MR_RAW: keys of more than 64 bits
	ModeRMAEvent   providers.MRMode = 1 << 8  // FI_MR_RMA_EVENT: concerns memory with a counter, of which there is none here
	ModeCollective providers.MRMode = 1 << 11 // FI_MR_COLLECTIVE: concerns collective operations

	knownModes = providers.MRLocal | ModeRaw | providers.MRVirtAddr | providers.MRAllocated | providers.MRProvKey |
		ModeRMAEvent | providers.MREndpoint | providers.MRHMEM | ModeCollective
)

// KeyNotAvail is the key of memory that has none of 64 bits (FI_KEY_NOTAVAIL).
const KeyNotAvail = ^uint64(0)

// MaxRawKey is the largest raw key in bytes.
const MaxRawKey = 1024

// DomainAttr is what a rail's domain asks for and offers (struct fi_domain_attr).
type DomainAttr struct {
	// Mode has the bits that the domain answered in mr_mode.
	Mode providers.MRMode
	// KeySize is mr_key_size in bytes. Where this side chooses the keys it bounds
	// them; 0 means up to 8 bytes.
	KeySize int
	// HMEM says that the domain has FI_HMEM, DMABuf that it takes FI_MR_DMABUF.
	HMEM, DMABuf bool
}

// Attr is one registration to make. The Registrar must not keep it.
type Attr struct {
	Memory Memory
	Access Access
	// RequestedKey is the key to register with, unless the mode has MRProvKey.
	RequestedKey uint64
}

// Registrar is a rail's domain, as a place to register memory with. It is a pointer
// or another comparable type. The Manager's lock is held around its methods and those
// of its registrations.
type Registrar interface {
	Attr() DomainAttr
	// Register answers fi_mr_regattr(3). Memory of the Go heap stays pinned until
	// the registration is closed. An error that is fierr.ENoKey has the Manager try
	// another key; fierr.ENoMem, ENoSpc and ENoMR have it give up idle registrations
	// and try again.
	Register(attr *Attr) (Registration, error)
}

// Registration is memory registered with one domain.
type Registration interface {
	// Domain answers the Registrar that made it.
	Domain() Registrar
	// Desc answers fi_mr_desc(3). It is not called before the registration is ready.
	Desc() uintptr
	// Key answers fi_mr_key(3).
	Key() uint64
	// RawKey answers fi_mr_raw_attr(3). It is called if the mode has ModeRaw.
	RawKey() (base uint64, key []byte, err error)
	// BindEndpoint answers fi_mr_bind(3) to the rail's endpoint, Enable
	// fi_mr_enable(3). They are called, in this order, if the mode has MREndpoint.
	BindEndpoint() error
	Enable() error
	// Close answers fi_close(3). After an error it may be called again.
	Close() error
}

// RawMapper is implemented by Registrars whose mode has ModeRaw.
type RawMapper interface {
	// MapRaw answers fi_mr_map_raw(3): the key to use for a peer's raw key.
	MapRaw(base uint64, raw []byte) (key uint64, err error)
	// UnmapKey answers fi_mr_unmap_key(3).
	UnmapKey(key uint64) error
}

// Rail is one rail of an endpoint, as far as memory is concerned.
type Rail struct {
	// Name is for messages.
	Name      string
	Registrar Registrar
	// Entry is the index of the rail's address in the endpoint's address blob, by
	// which peers know the rail.
	Entry int
}

// rail is a Rail with what follows from its mode.
type rail struct {
	Rail
	attr  DomainAttr
	keys  keySpace
	local bool // host memory is registered for the endpoint's own operations
}

func newRail(r Rail, firstKey uint64) (rail, error) {
	if r.Registrar == nil {
		return rail{}, invalid("rail %s has no Registrar", r.Name)
	}
	attr := r.Registrar.Attr()
	if unknown := attr.Mode &^ knownModes; unknown != 0 {
		return rail{}, fmt.Errorf("mr: rail %s asks for mr_mode %v of fi_mr(3): %w", r.Name, fiinfo.MRMode(unknown), ErrNotSupported)
	}
	if _, ok := r.Registrar.(RawMapper); attr.Mode&ModeRaw != 0 && !ok {
		return rail{}, fmt.Errorf("mr: rail %s has raw keys (FI_MR_RAW) and cannot map them: %w", r.Name, ErrNotSupported)
	}
	return rail{Rail: r, attr: attr, keys: newKeySpace(attr.KeySize, firstKey), local: attr.Mode&providers.MRLocal != 0}, nil
}

// needs says whether memory has to be registered for that access. Where it need not,
// operations pass a descriptor of 0 (NULL).
func (r *rail) needs(mem *Memory, access Access) bool {
	switch {
	case access&RemoteAccess != 0:
		return true
	case mem.Iface == System && mem.DMABuf == nil:
		return r.local
	default:
		return r.attr.Mode&providers.MRHMEM != 0
	}
}

// supports answers ErrNotSupported for memory that the rail cannot reach.
func (r *rail) supports(mem *Memory) error {
	switch {
	case (mem.Iface != System || mem.DMABuf != nil) && !r.attr.HMEM:
		return fmt.Errorf("mr: rail %s: %v: its domain is without FI_HMEM: %w", r.Name, mem, ErrNotSupported)
	case mem.DMABuf != nil && !r.attr.DMABuf:
		return fmt.Errorf("mr: rail %s: %v: its domain does not take FI_MR_DMABUF: %w", r.Name, mem, ErrNotSupported)
	}
	return nil
}

// remoteAddr is the address by which peers target the first byte of a registration.
func (r *rail) remoteAddr(mem *Memory) uint64 {
	switch {
	case r.attr.Mode&providers.MRVirtAddr == 0:
		return 0
	case mem.Base == nil: // of a DMA-BUF; fi_mr(3) adds the offset to the address, here none
		return mem.DMABuf.Offset
	}
	return uint64(mem.start())
}

// maxKeyTries bounds the search for a key that nobody else uses in the domain.
const maxKeyTries = 1024

// register makes a registration with a key of its own. If it answers a registration
// together with an error, that could not be closed and stays the caller's.
func (r *rail) register(attr *Attr) (reg Registration, key uint64, err error) {
	if r.attr.Mode&providers.MRProvKey != 0 {
		reg, err = r.Registrar.Register(attr)
	} else {
		reg, key, err = r.registerWithKey(attr)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("mr: rail %s: register %v for %v: %w", r.Name, &attr.Memory, attr.Access, err)
	}
	if err = r.enable(reg); err == nil {
		return reg, key, nil
	}
	err = fmt.Errorf("mr: rail %s: %w", r.Name, err)
	if cerr := reg.Close(); cerr != nil {
		return reg, key, fmt.Errorf("%w; and it could not be closed: %w", err, cerr)
	}
	r.keys.put(key)
	return nil, 0, err
}

func (r *rail) registerWithKey(attr *Attr) (Registration, uint64, error) {
	for range maxKeyTries {
		key, ok := r.keys.take()
		if !ok {
			return nil, 0, fmt.Errorf("all keys of %d bytes are in use: %w", r.attr.KeySize, fierr.ENoKey)
		}
		attr.RequestedKey = key
		reg, err := r.Registrar.Register(attr)
		if err == nil {
			return reg, key, nil
		}
		r.keys.put(key)
		if no, _ := fierr.Of(err); no != fierr.ENoKey {
			return nil, 0, err
		}
	}
	return nil, 0, fmt.Errorf("%d keys in a row are in use by others: %w", maxKeyTries, fierr.ENoKey)
}

// enable has a new registration do what the domain's mode asks for.
func (r *rail) enable(reg Registration) error {
	if reg.Domain() != r.Registrar {
		return fmt.Errorf("the registration made: %w", ErrForeign)
	}
	if r.attr.Mode&providers.MREndpoint == 0 {
		return nil
	}
	if err := reg.BindEndpoint(); err != nil {
		return fmt.Errorf("bind the registration to the endpoint: %w", err)
	}
	if err := reg.Enable(); err != nil {
		return fmt.Errorf("enable the registration: %w", err)
	}
	return nil
}

func railError(r *rail, what string, err error) error {
	return fmt.Errorf("mr: rail %s: %s: %w", r.Name, what, err)
}
