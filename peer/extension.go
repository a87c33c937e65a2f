package peer

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// The extension, little-endian whatever the machine's byte order:
//
//	 0  magic, 8 bytes
//	 8  version of the writer
//	 9  oldest version whose reader understands this
//	10  layout of the blob around it
//	11  zero
//	12  CRC-32C of the blob's bytes from its first to its last, these four left out
//	16  fields: tag uint16, length uint16, value
//
// Readers skip fields with tags they do not know and what a newer writer added
// at the end of a field. A field of a known tag may grow, never shrink.
const (
	extName    = "x-golnx"
	extMagic   = "\x89golnx\r\n"
	extVersion = 1
	extHeader  = 16
	extCRC     = 12 // offset of the checksum
	maxExt     = 16 << 10

	tagFlags = 1 // uint64
	tagNode  = 2 // see appendNode
	tagRail  = 3 // one for each entry, see appendRail
	tagBell  = 4 // 1 to maxBell bytes, if there is one

	maxBell = 64

	nodeSize = 16 + 5*8 + 2*4
	railSize = 2 + 4 + 8 + 4 // before the three strings
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func appendExtension(b []byte, a *Address) []byte {
	b = append(b, extMagic...)
	b = append(b, extVersion, extVersion, byte(a.Layout), 0)
	b = append(b, 0, 0, 0, 0) // checksum, see sealExtension
	b = appendField(b, tagFlags, binary.LittleEndian.AppendUint64(nil, uint64(a.Ext.Flags)))
	b = appendField(b, tagNode, appendNode(nil, &a.Ext.Node))
	for i := range a.Ext.Rails {
		b = appendField(b, tagRail, appendRail(nil, i, &a.Ext.Rails[i]))
	}
	if len(a.Ext.Bell) > 0 {
		b = appendField(b, tagBell, a.Ext.Bell)
	}
	return b
}

func appendField(b []byte, tag uint16, value []byte) []byte {
	b = binary.LittleEndian.AppendUint16(b, tag)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(value)))
	return append(b, value...)
}

func appendNode(b []byte, n *Node) []byte {
	b = append(b, n.BootID[:]...)
	for _, v := range [...]uint64{n.ShmDev, n.ShmIno, n.PIDNS, n.NetNS, n.StartTime} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	b = binary.LittleEndian.AppendUint32(b, n.PID)
	return binary.LittleEndian.AppendUint32(b, n.UID)
}

func appendRail(b []byte, entry int, r *Rail) []byte {
	b = binary.LittleEndian.AppendUint16(b, uint16(entry))
	b = binary.LittleEndian.AppendUint32(b, uint32(r.Format))
	b = binary.LittleEndian.AppendUint64(b, r.Speed)
	b = binary.LittleEndian.AppendUint32(b, uint32(r.NUMA))
	for _, s := range [...]string{r.Provider, r.Fabric, r.Domain} {
		b = append(b, byte(len(s)))
		b = append(b, s...)
	}
	return b
}

// sealExtension writes the checksum of the finished blob b into the extension
// that begins at ext.
func sealExtension(b []byte, ext int) {
	binary.LittleEndian.PutUint32(b[ext+extCRC:], blobChecksum(b, ext))
}

// blobChecksum leaves out the four bytes that hold it.
func blobChecksum(b []byte, ext int) uint32 {
	sum := crc32.Update(0, castagnoli, b[:ext+extCRC])
	return crc32.Update(sum, castagnoli, b[ext+extCRC+4:])
}

// extension reads the extension of size bytes that comes next; the blob ends at
// end, and that is where reading goes on.
func (d *decoder) extension(a *Address, size, end int) error {
	start := d.off
	e, err := d.take("extension", size)
	if err != nil {
		return err
	}
	d.off = end
	switch {
	case size < extHeader:
		return d.fail(start, "extension", fmt.Sprintf("%d bytes", size), fmt.Sprintf("at least %d", extHeader))
	case string(e[:8]) != extMagic:
		return d.fail(start, "extension", fmt.Sprintf("%q", e[:8]), fmt.Sprintf("%q", extMagic))
	case e[9] > extVersion:
		return d.fail(start+9, "extension", fmt.Sprintf("of version %d for readers of version %d or newer", e[8], e[9]),
			fmt.Sprintf("one for readers of version %d", extVersion))
	case Layout(e[10]) != d.layout:
		return d.fail(start+10, "layout in the extension", Layout(e[10]).String(), d.layout.String())
	}
	if got, want := binary.LittleEndian.Uint32(e[extCRC:]), blobChecksum(d.b[:end], start); got != want {
		return d.fail(start+extCRC, "checksum", fmt.Sprintf("%#08x", got), fmt.Sprintf("%#08x: the blob was altered", want))
	}
	r := fieldReader{d: d, a: a, rails: make([]Rail, len(a.Entries)), seen: make([]bool, len(a.Entries))}
	return r.read(e[extHeader:], start+extHeader)
}

// fieldReader collects the fields of one extension.
type fieldReader struct {
	d           *decoder
	a           *Address
	flags, node bool
	ext         Extension
	rails       []Rail
	seen        []bool
}

func (r *fieldReader) read(b []byte, at int) error {
	for len(b) > 0 {
		if len(b) < 4 {
			return r.d.fail(at, "field", fmt.Sprintf("%d bytes", len(b)), "a header of 4 bytes")
		}
		tag, size := binary.LittleEndian.Uint16(b), int(binary.LittleEndian.Uint16(b[2:]))
		if size > len(b)-4 {
			return r.d.fail(at+2, "field length", fmt.Sprint(size), fmt.Sprintf("at most the %d bytes left", len(b)-4))
		}
		if err := r.field(tag, b[4:4+size], at+4); err != nil {
			return err
		}
		b, at = b[4+size:], at+4+size
	}
	for i, ok := range r.seen {
		if !ok {
			return r.d.fail(at, "end of the extension", fmt.Sprintf("no rail for entry %d", i), "a rail for each entry")
		}
	}
	if !r.flags || !r.node {
		return r.d.fail(at, "end of the extension", "no flags or no node identity", "both")
	}
	r.ext.Rails = r.rails
	r.a.Ext = &r.ext
	return nil
}

func (r *fieldReader) field(tag uint16, v []byte, at int) error {
	switch tag {
	case tagFlags:
		if r.flags || len(v) < 8 {
			return r.d.fail(at, "flags", fmt.Sprintf("%d bytes, seen before: %t", len(v), r.flags), "8 bytes, once")
		}
		r.flags = true
		r.ext.Flags = Flags(binary.LittleEndian.Uint64(v))
	case tagNode:
		if r.node || len(v) < nodeSize {
			return r.d.fail(at, "node identity", fmt.Sprintf("%d bytes, seen before: %t", len(v), r.node), fmt.Sprintf("%d bytes, once", nodeSize))
		}
		r.node = true
		n := &r.ext.Node
		copy(n.BootID[:], v)
		for i, p := range [...]*uint64{&n.ShmDev, &n.ShmIno, &n.PIDNS, &n.NetNS, &n.StartTime} {
			*p = binary.LittleEndian.Uint64(v[16+8*i:])
		}
		n.PID = binary.LittleEndian.Uint32(v[56:])
		n.UID = binary.LittleEndian.Uint32(v[60:])
	case tagRail:
		return r.rail(v, at)
	case tagBell:
		if r.ext.Bell != nil || len(v) < 1 || len(v) > maxBell {
			return r.d.fail(at, "bell", fmt.Sprintf("%d bytes, seen before: %t", len(v), r.ext.Bell != nil), fmt.Sprintf("1 to %d bytes, once", maxBell))
		}
		r.ext.Bell = bytes.Clone(v)
	}
	return nil
}

func (r *fieldReader) rail(v []byte, at int) error {
	if len(v) < railSize {
		return r.d.fail(at, "rail", fmt.Sprintf("%d bytes", len(v)), fmt.Sprintf("at least %d", railSize))
	}
	entry := int(binary.LittleEndian.Uint16(v))
	if entry >= len(r.seen) || r.seen[entry] {
		return r.d.fail(at, "entry of a rail", fmt.Sprintf("%d, out of range or taken", entry), fmt.Sprintf("each of 0 to %d once", len(r.seen)-1))
	}
	rail := Rail{
		Format: AddrFormat(binary.LittleEndian.Uint32(v[2:])),
		Speed:  binary.LittleEndian.Uint64(v[6:]),
		NUMA:   int32(binary.LittleEndian.Uint32(v[14:])),
	}
	if rail.NUMA < -1 {
		return r.d.fail(at+14, "NUMA node", fmt.Sprint(rail.NUMA), "-1 or more")
	}
	rest := v[railSize:]
	for _, f := range [...]struct {
		what string
		dst  *string
	}{{"provider", &rail.Provider}, {"fabric", &rail.Fabric}, {"domain", &rail.Domain}} {
		pos := at + len(v) - len(rest)
		if len(rest) < 1 || int(rest[0]) > len(rest)-1 {
			return r.d.fail(pos, f.what, fmt.Sprintf("%d bytes left", len(rest)), "a length and as many bytes")
		}
		s := string(rest[1 : 1+rest[0]])
		rest = rest[1+rest[0]:]
		if checkName(s) != nil && (s != "" || f.what != "domain") {
			return r.d.fail(pos, f.what, fmt.Sprintf("%q", s), fmt.Sprintf("a name of at most %d printable characters", nameSize-1))
		}
		*f.dst = s
	}
	name := rail.Fabric
	if r.d.layout == Layout21 {
		name = rail.Provider
	}
	if have := r.a.Entries[entry].Name; have != name || (rail.Provider == shmName) != (rail.Fabric == shmName) {
		return r.d.fail(at, "rail", fmt.Sprintf("provider %s on fabric %s for an entry named %s", rail.Provider, rail.Fabric, have), "names that agree")
	}
	r.rails[entry], r.seen[entry] = rail, true
	return nil
}
