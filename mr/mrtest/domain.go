// Package mrtest has a rail's domain that needs no hardware and no libfabric, for tests
// of what registers memory. It keeps to fi_mr(3) in every mode, and writes down what its
// user does wrong.
package mrtest

import (
	"encoding/binary"
	"fmt"
	"sync"
	"unsafe"

	"golnx/mr"
	"golnx/providers"
	"golnx/providers/fierr"
)

// Domain implements mr.Registrar and mr.RawMapper. Its fields are set before it is used.
type Domain struct {
	DomainAttr mr.DomainAttr
	// Fail, if not nil, is asked before each call that can fail, by its name as in
	// libfabric ("fi_mr_regattr"); its error is the call's.
	Fail func(call string) error
	// Limit is the number of registrations that there can be, 0 for any.
	Limit int

	mu       sync.Mutex
	calling  bool
	made     int // registrations ever
	live     map[uint64]*Registration
	mapped   map[uint64]bool
	misuse   []string
	lastDesc uintptr
}

var (
	_ mr.Registrar = (*Domain)(nil)
	_ mr.RawMapper = (*Domain)(nil)
)

// New makes a domain with the given mode bits and keys of 8 bytes.
func New(mode providers.MRMode) *Domain {
	return &Domain{DomainAttr: mr.DomainAttr{Mode: mode, KeySize: 8}}
}

// Live is the number of registrations that there are.
func (d *Domain) Live() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.live)
}

// Made is the number of registrations that there ever were.
func (d *Domain) Made() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.made
}

// Mapped is the number of raw keys that are mapped.
func (d *Domain) Mapped() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.mapped)
}

// Misuse lists what was done against fi_mr(3).
func (d *Domain) Misuse() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.misuse
}

// Ranges answers start and end of what is registered.
func (d *Domain) Ranges() [][2]uintptr {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out [][2]uintptr
	for _, r := range d.live {
		start := uintptr(r.attr.Memory.Base)
		out = append(out, [2]uintptr{start, start + uintptr(r.attr.Memory.Len)})
	}
	return out
}

// call is the beginning of a call that can fail. Calls of one domain must not meet, as
// under FI_THREAD_DOMAIN.
func (d *Domain) call(name string) (end func(), err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.calling {
		d.misuse = append(d.misuse, name+" while another call was under way")
	}
	d.calling = true
	end = func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.calling = false
	}
	if d.Fail != nil {
		err = d.Fail(name)
	}
	return end, err
}

func (d *Domain) wrong(format string, args ...any) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := fmt.Errorf(format+": %w", append(args, fierr.EInval)...)
	d.misuse = append(d.misuse, err.Error())
	return err
}

// Attr answers DomainAttr.
func (d *Domain) Attr() mr.DomainAttr { return d.DomainAttr }

func (d *Domain) has(mode providers.MRMode) bool { return d.DomainAttr.Mode&mode != 0 }

// Register answers fi_mr_regattr(3).
func (d *Domain) Register(attr *mr.Attr) (mr.Registration, error) {
	end, err := d.call("fi_mr_regattr")
	defer end()
	if err != nil {
		return nil, err
	}
	mem := attr.Memory
	if mem.Len <= 0 || mem.Base == nil && mem.DMABuf == nil || attr.Access == 0 {
		return nil, d.wrong("register %+v for %v", mem, attr.Access)
	}
	if mem.Iface != mr.System && !d.DomainAttr.HMEM || mem.DMABuf != nil && !d.DomainAttr.DMABuf {
		return nil, d.wrong("register %+v without the capability", mem)
	}
	r := &Registration{domain: d, attr: *attr, ready: !d.has(providers.MREndpoint)}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.Limit > 0 && len(d.live) >= d.Limit {
		return nil, fierr.ENoMR
	}
	r.key = attr.RequestedKey
	if d.has(providers.MRProvKey) {
		r.key = uint64(d.made)*8 + 7
	} else if size := d.DomainAttr.KeySize; size > 0 && size < 8 && r.key>>(8*size) != 0 {
		d.misuse = append(d.misuse, fmt.Sprintf("key %#x is longer than %d bytes", r.key, size))
		return nil, fierr.EInval
	}
	if _, taken := d.live[r.key]; taken {
		return nil, fierr.ENoKey
	}
	if d.live == nil {
		d.live = map[uint64]*Registration{}
	}
	d.live[r.key] = r
	d.made++
	d.lastDesc += 64
	r.desc = d.lastDesc
	return r, nil
}

// Claim registers a byte of its own with a key, as others do that use the same domain.
func (d *Domain) Claim(key uint64) error {
	b := new(byte)
	_, err := d.Register(&mr.Attr{Memory: mr.Memory{Base: unsafe.Pointer(b), Len: 1}, Access: mr.Send, RequestedKey: key})
	return err
}

// Reach answers the memory that an RMA operation of a peer with this key and address
// meets, or what is wrong with it: fierr.ENoKey or fierr.EFault.
func (d *Domain) Reach(addr, key uint64, n int, access mr.Access) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.live[key]
	if r == nil || !r.ready || r.attr.Access&access != access {
		return nil, fmt.Errorf("no memory with key %#x for %v: %w", key, access, fierr.ENoKey)
	}
	if d.has(providers.MRVirtAddr) {
		addr -= uint64(uintptr(r.attr.Memory.Base))
	}
	if size := uint64(r.attr.Memory.Len); addr > size || uint64(n) > size-addr {
		return nil, fmt.Errorf("%d bytes at %d of %d: %w", n, addr, size, fierr.EFault)
	}
	return unsafe.Slice((*byte)(unsafe.Add(r.attr.Memory.Base, addr)), n), nil
}

// MapRaw answers fi_mr_map_raw(3).
func (d *Domain) MapRaw(base uint64, raw []byte) (uint64, error) {
	end, err := d.call("fi_mr_map_raw")
	defer end()
	if err != nil {
		return 0, err
	}
	if len(raw) != rawSize || base != rawBase {
		return 0, d.wrong("map the raw key %x with base %#x", raw, base)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mapped == nil {
		d.mapped = map[uint64]bool{}
	}
	key := binary.LittleEndian.Uint64(raw)
	d.mapped[key] = true
	return key, nil
}

// UnmapKey answers fi_mr_unmap_key(3).
func (d *Domain) UnmapKey(key uint64) error {
	end, err := d.call("fi_mr_unmap_key")
	defer end()
	if err != nil {
		return err
	}
	d.mu.Lock()
	known := d.mapped[key]
	delete(d.mapped, key)
	d.mu.Unlock()
	if !known {
		return d.wrong("unmap %#x", key)
	}
	return nil
}
