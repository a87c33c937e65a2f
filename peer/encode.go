package peer

import (
	"encoding/binary"
	"fmt"
)

// Encode22 writes a in the layout of C LNX 2.2 and later (struct lnx_address of
// its lnx.h, LP64, host byte order), with shm first and the extension, if any,
// as the last entry. C LNX skips that entry, as it does every name that is not
// the fabric of one of its own domains. See [Address.As] for the errors.
func Encode22(a *Address) ([]byte, error) { return encode(a, Layout22) }

// Encode21 writes a in the layout of C LNX 2.1 (struct lnx_addresses of its
// lnx.h). C LNX 2.1 refuses a blob that counts an entry of a provider it has
// not linked, so the extension stands behind the entries and is not counted;
// such blobs must be inserted one at a time, since C LNX would look for the
// next blob where the extension is. See [Address.As] for the errors.
func Encode21(a *Address) ([]byte, error) { return encode(a, Layout21) }

func encode(a *Address, layout Layout) ([]byte, error) {
	a, err := a.As(layout)
	if err != nil {
		return nil, err
	}
	b := appendName(nil, a.Host)
	if layout == Layout21 {
		b = append21(b, a)
	} else {
		b = append22(b, a)
	}
	if len(b) > maxBlob {
		return nil, fmt.Errorf("encode address of %q in layout %v: %d bytes, want at most %d; link fewer domains",
			a.Host, layout, len(b), maxBlob)
	}
	// Without an extension a blob does not say its layout. What would be read
	// back as something else must not leave this process.
	if _, err := Decode(b); err != nil {
		return nil, fmt.Errorf("encode address of %q in layout %v: it would not be read back as written (an extension makes the layout certain): %w",
			a.Host, layout, err)
	}
	return b, nil
}

func append21(b []byte, a *Address) []byte {
	count := len(b)
	b = appendInt(b, 0)
	providers := 0
	for i := 0; i < len(a.Entries); {
		group := sameName(a.Entries[i:])
		b = appendName(b, group[0].Name)
		b = appendInt(b, len(group))
		b = appendInt(b, len(group[0].Addr))
		for _, e := range group {
			b = append(b, e.Addr...)
		}
		providers++
		i += len(group)
	}
	binary.NativeEndian.PutUint32(b[count:], uint32(providers))
	if a.Ext != nil {
		b = appendName(b, extName)
		b = appendInt(b, 1)
		size := len(b)
		b = appendInt(b, 0)
		b = appendExtension(b, a)
		binary.NativeEndian.PutUint32(b[size:], uint32(len(b)-size-4))
		sealExtension(b, size+4)
	}
	return b
}

func append22(b []byte, a *Address) []byte {
	entries := len(a.Entries)
	if a.Ext != nil {
		entries++
	}
	b = appendInt(b, entries)
	b = appendInt(b, 0) // alignment of what follows
	for _, e := range a.Entries {
		b = appendName(b, e.Name)
		b = binary.NativeEndian.AppendUint64(b, uint64(len(e.Addr)))
		b = append(b, e.Addr...)
	}
	if a.Ext != nil {
		b = appendName(b, extName)
		size := len(b)
		b = binary.NativeEndian.AppendUint64(b, 0)
		b = appendExtension(b, a)
		binary.NativeEndian.PutUint64(b[size:], uint64(len(b)-size-8))
		sealExtension(b, size+8)
	}
	return b
}

// sameName returns the leading entries that share a name.
func sameName(entries []Entry) []Entry {
	n := 1
	for n < len(entries) && entries[n].Name == entries[0].Name {
		n++
	}
	return entries[:n]
}

func appendName(b []byte, name string) []byte {
	var field [nameSize]byte
	copy(field[:nameSize-1], name)
	return append(b, field[:]...)
}

func appendInt(b []byte, n int) []byte {
	return binary.NativeEndian.AppendUint32(b, uint32(n))
}
