package mr

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"

	"golnx/providers"
	"golnx/providers/fierr"
)

// A RemoteKey's bytes, little-endian:
//
//	 0  magic, 8 bytes
//	 8  version of the writer
//	 9  oldest version whose reader understands this
//	10  number of rails
//	11  zero
//	12  CRC-32C of all bytes but these four
//	16  length of the memory, 8 bytes
//	24  access, 4 bytes
//	28  for each rail: size of the rest of the record, 2 bytes; entry; flags; address,
//	    8 bytes; then the key, 8 bytes, or with flag 1 the base, 8 bytes, and the raw key
//
// Readers skip what a newer writer adds behind the last rail.
const (
	keyMagic   = "\x89golmr\r\n"
	keyVersion = 1
	keyHeader  = 28
	keyCRC     = 12 // offset of the checksum

	recordSize = 1 + 1 + 8 + 8 // of a rail, without size and raw key
	flagRaw    = 1

	maxKeyBytes = keyHeader + providers.MaxRails*(2+recordSize+MaxRawKey) + 4096
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// KeyError says where and why the bytes of a RemoteKey were refused. It is fierr.EProto.
type KeyError struct {
	Offset int    // in bytes
	Field  string // what stands there
	Found  string
	Want   string
}

func (e *KeyError) Error() string {
	return fmt.Sprintf("mr: remote key: %s at byte %d is %s, want %s", e.Field, e.Offset, e.Found, e.Want)
}

func (e *KeyError) Unwrap() error { return fierr.EProto }

// MarshalBinary writes the key for UnmarshalBinary, in the same form on every machine.
func (k RemoteKey) MarshalBinary() ([]byte, error) { return k.AppendBinary(nil) }

// AppendBinary is MarshalBinary behind what is in b.
func (k RemoteKey) AppendBinary(b []byte) ([]byte, error) {
	if len(k.rails) == 0 {
		return b, invalid("the zero remote key has no bytes")
	}
	start := len(b)
	b = append(b, keyMagic...)
	b = append(b, keyVersion, keyVersion, byte(len(k.rails)), 0)
	b = append(b, 0, 0, 0, 0) // checksum
	b = binary.LittleEndian.AppendUint64(b, k.n)
	b = binary.LittleEndian.AppendUint32(b, uint32(k.access))
	for _, r := range k.rails {
		var flags byte
		last := r.Key
		if len(r.Raw) > 0 {
			flags, last = flagRaw, r.RawBase
		}
		b = binary.LittleEndian.AppendUint16(b, uint16(recordSize+len(r.Raw)))
		b = append(b, byte(r.Entry), flags)
		b = binary.LittleEndian.AppendUint64(b, r.Addr+k.off)
		b = binary.LittleEndian.AppendUint64(b, last)
		b = append(b, r.Raw...)
	}
	binary.LittleEndian.PutUint32(b[start+keyCRC:], keyChecksum(b[start:]))
	return b, nil
}

func keyChecksum(b []byte) uint32 {
	sum := crc32.Update(0, castagnoli, b[:keyCRC])
	return crc32.Update(sum, castagnoli, b[keyCRC+4:])
}

// UnmarshalBinary reads what MarshalBinary wrote. The bytes are not trusted: their form,
// numbers and checksum are looked at, and no more is allocated than they hold. What it
// cannot tell is whether the keys are good. k is changed on success only, and shares no
// memory with b. Errors are *[KeyError].
func (k *RemoteKey) UnmarshalBinary(b []byte) error {
	switch {
	case len(b) < keyHeader || len(b) > maxKeyBytes:
		return &KeyError{0, "key", fmt.Sprintf("%d bytes long", len(b)), fmt.Sprintf("%d to %d", keyHeader, maxKeyBytes)}
	case string(b[:8]) != keyMagic:
		return &KeyError{0, "magic", fmt.Sprintf("%q", b[:8]), fmt.Sprintf("%q", keyMagic)}
	case b[9] > keyVersion:
		return &KeyError{9, "version", fmt.Sprintf("%d, for readers of %d or newer", b[8], b[9]), fmt.Sprintf("one for readers of %d", keyVersion)}
	}
	if got, want := binary.LittleEndian.Uint32(b[keyCRC:]), keyChecksum(b); got != want {
		return &KeyError{keyCRC, "checksum", fmt.Sprintf("%#08x", got), fmt.Sprintf("%#08x: the key was altered", want)}
	}
	out := RemoteKey{
		n:      binary.LittleEndian.Uint64(b[16:]),
		access: Access(binary.LittleEndian.Uint32(b[24:])),
	}
	at := keyHeader
	for range b[10] {
		r, size, err := readRail(b[at:], at)
		if err != nil {
			return err
		}
		out.rails = append(out.rails, r)
		at += size
	}
	if at < len(b) && b[8] <= keyVersion {
		return &KeyError{at, "end", fmt.Sprintf("%d bytes more", len(b)-at), "nothing"}
	}
	if err := out.check(); err != nil {
		return &KeyError{16, "content", strings.TrimPrefix(err.Error(), "mr: "), "what a region has"}
	}
	*k = out
	return nil
}

// readRail reads the record that b begins with, at offset at of the key.
func readRail(b []byte, at int) (r RemoteRail, size int, err error) {
	if len(b) < 2+recordSize {
		return r, 0, &KeyError{at, "rail", fmt.Sprintf("%d bytes", len(b)), fmt.Sprintf("at least %d", 2+recordSize)}
	}
	size = int(binary.LittleEndian.Uint16(b))
	if size < recordSize || size > len(b)-2 {
		return r, 0, &KeyError{at, "size of a rail", fmt.Sprint(size), fmt.Sprintf("%d to %d", recordSize, len(b)-2)}
	}
	b = b[2 : 2+size]
	r = RemoteRail{Entry: int(b[0]), Addr: binary.LittleEndian.Uint64(b[2:])}
	last, raw := binary.LittleEndian.Uint64(b[10:]), b[recordSize:]
	switch {
	case b[1] == flagRaw && len(raw) > 0:
		r.Key, r.RawBase, r.Raw = KeyNotAvail, last, bytes.Clone(raw)
	case b[1] == 0 && len(raw) == 0:
		r.Key = last
	default:
		return r, 0, &KeyError{at + 3, "flags", fmt.Sprintf("%#x with a raw key of %d bytes", b[1], len(raw)), "0 without, 1 with"}
	}
	return r, 2 + size, nil
}
