package peer

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// Decode reads an address blob in any layout and with or without extension.
// Zero bytes behind its end are accepted, since C LNX's fi_getname claims the
// size of the caller's buffer; anything else there is an error. What C LNX
// leaves unwritten (behind a name's NUL, alignment) is not looked at.
//
// The blob is not trusted: what is allocated is bounded by len(b), whatever the
// blob claims, and an extension's checksum covers all of the blob. The result
// shares no memory with b. Errors are *[BlobError].
func Decode(b []byte) (*Address, error) {
	b22 := decoder{b: b, layout: Layout22}
	b21 := decoder{b: b, layout: Layout21}
	a22, err22 := b22.decode()
	a21, err21 := b21.decode()

	// An extension, sound or damaged, settles what the layout is.
	if b22.ext != b21.ext {
		if b22.ext {
			return a22, err22
		}
		return a21, err21
	}
	switch {
	case err21 != nil && err22 == nil:
		return a22, nil
	case err22 != nil && err21 == nil:
		return a21, nil
	case err22 == nil:
		return nil, &BlobError{Layout22, 0, "blob", "readable in the layouts 2.1 and 2.2", "one of them"}
	}
	// Neither fits. In layout 2.1 a name begins where 2.2 has its alignment.
	first := decoder{b: b, layout: Layout21, off: min(head21, len(b))}
	if _, err := first.name(""); err == nil {
		return nil, err21
	}
	return nil, err22
}

// decoder reads one blob in one layout.
type decoder struct {
	b      []byte
	layout Layout
	off    int
	ext    bool // an extension was seen
}

func (d *decoder) decode() (*Address, error) {
	if len(d.b) > maxBlob {
		return nil, d.fail(0, "blob", fmt.Sprintf("%d bytes long", len(d.b)), fmt.Sprintf("at most %d", maxBlob))
	}
	a := &Address{Layout: d.layout}
	var err error
	if a.Host, err = d.name("host name"); err != nil {
		return nil, err
	}
	if d.layout == Layout21 {
		err = d.entries21(a)
	} else {
		err = d.entries22(a)
	}
	if err != nil {
		return nil, err
	}
	for i, c := range d.b[d.off:] {
		if c != 0 {
			return nil, d.fail(d.off+i, "byte behind the end", fmt.Sprintf("%#02x", c), "0 or nothing")
		}
	}
	return a, nil
}

func (d *decoder) entries21(a *Address) error {
	providers, err := d.count("provider count", maxProviders21)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for range providers {
		start := d.off
		name, err := d.name("provider name")
		if err != nil {
			return err
		}
		if name == extName {
			return d.fail(start, "provider name", fmt.Sprintf("%q", name), "the extension behind the counted entries")
		}
		if seen[name] {
			return d.fail(start, "provider name", fmt.Sprintf("%q again", name), "each provider once")
		}
		seen[name] = true
		n, err := d.count("address count", limitFor(name))
		if err != nil {
			return err
		}
		size, err := d.count("address size", maxAddrLen)
		if err != nil {
			return err
		}
		for range n {
			at := d.off
			addr, err := d.take("address", size)
			if err != nil {
				return err
			}
			if err := d.append(a, name, at, addr); err != nil {
				return err
			}
		}
	}
	if !d.nameIs(extName) {
		return nil
	}
	d.ext = true
	d.off += nameSize
	if _, err := d.count("extension count", 1); err != nil {
		return err
	}
	size, err := d.count("extension size", maxExt)
	if err != nil {
		return err
	}
	return d.extension(a, size, d.off+size)
}

func (d *decoder) entries22(a *Address) error {
	entries, err := d.count("entry count", maxEntries+1)
	if err != nil {
		return err
	}
	if _, err := d.take("alignment", 4); err != nil {
		return err
	}
	perName := map[string]int{}
	extAt, extSize := -1, 0
	for range entries {
		start := d.off
		name, err := d.name("entry name")
		if err != nil {
			return err
		}
		at := d.off
		field, err := d.take("address size", 8)
		if err != nil {
			return err
		}
		limit := uint64(maxAddrLen)
		if name == extName {
			limit = maxExt
		}
		size := binary.NativeEndian.Uint64(field)
		if size < 1 || size > limit {
			return d.fail(at, "address size", fmt.Sprint(size), fmt.Sprintf("1 to %d", limit))
		}
		at = d.off
		addr, err := d.take("address", int(size))
		if err != nil {
			return err
		}
		if name == extName {
			if extAt >= 0 {
				return d.fail(start, "entry name", fmt.Sprintf("%q again", name), "one extension")
			}
			d.ext = true
			extAt, extSize = at, int(size)
			continue
		}
		if perName[name]++; perName[name] > limitFor(name) {
			return d.fail(start, "entry name", fmt.Sprintf("%q once more", name), fmt.Sprintf("at most %d of it", limitFor(name)))
		}
		if err := d.append(a, name, at, addr); err != nil {
			return err
		}
	}
	if len(a.Entries) == 0 || len(a.Entries) > maxEntries {
		return d.fail(nameSize, "number of addresses", fmt.Sprint(len(a.Entries)), fmt.Sprintf("1 to %d", maxEntries))
	}
	if extAt < 0 {
		return nil
	}
	end := d.off
	d.off = extAt
	return d.extension(a, extSize, end)
}

// append adds an entry. An address that begins like an extension is one whose
// entry's name was altered.
func (d *decoder) append(a *Address, name string, at int, addr []byte) error {
	if bytes.HasPrefix(addr, []byte(extMagic)) {
		d.ext = true
		return d.fail(at, "address", "an extension in an entry named "+name, "an extension in an entry named "+extName)
	}
	a.Entries = append(a.Entries, Entry{Name: name, Addr: bytes.Clone(addr)})
	return nil
}

// take returns the next n bytes of the blob.
func (d *decoder) take(field string, n int) ([]byte, error) {
	if left := len(d.b) - d.off; n > left {
		return nil, d.fail(d.off, field, fmt.Sprintf("%d bytes and the end of the blob", left), fmt.Sprintf("%d bytes", n))
	}
	b := d.b[d.off : d.off+n]
	d.off += n
	return b, nil
}

// count reads a C int that must be between 1 and limit.
func (d *decoder) count(field string, limit int) (int, error) {
	at := d.off
	b, err := d.take(field, 4)
	if err != nil {
		return 0, err
	}
	n := int32(binary.NativeEndian.Uint32(b))
	if n < 1 || int(n) > limit {
		return 0, d.fail(at, field, fmt.Sprint(n), fmt.Sprintf("1 to %d", limit))
	}
	return int(n), nil
}

// name reads a NUL-terminated name in its field of fixed size.
func (d *decoder) name(field string) (string, error) {
	at := d.off
	b, err := d.take(field, nameSize)
	if err != nil {
		return "", err
	}
	end := bytes.IndexByte(b, 0)
	if end < 0 {
		return "", d.fail(at, field, fmt.Sprintf("%d bytes without a terminating NUL", nameSize), "a NUL-terminated name")
	}
	name := string(b[:end])
	if checkName(name) != nil {
		return "", d.fail(at, field, fmt.Sprintf("%q", name), "a name of printable characters")
	}
	return name, nil
}

// nameIs says whether a field with this name comes next.
func (d *decoder) nameIs(name string) bool {
	return bytes.HasPrefix(d.b[d.off:], []byte(name+"\x00")) && len(d.b)-d.off >= nameSize
}

func (d *decoder) fail(at int, field, found, want string) error {
	return &BlobError{Layout: d.layout, Offset: at, Field: field, Found: found, Want: want}
}
