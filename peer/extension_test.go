package peer

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

// field is one field of an extension, taken apart.
type field struct {
	tag   uint16
	value []byte
}

// rebuild takes the sample's extension apart, lets change have its fields and
// header, and puts the blob together again with a right checksum.
func rebuild(t *testing.T, layout Layout, change func(header []byte, fields []field) []field) []byte {
	t.Helper()
	b := mustEncode(t, sampleAddress(), layout)
	start := bytes.Index(b, []byte(extMagic))
	ext := b[start:]
	header, rest := bytes.Clone(ext[:extHeader]), ext[extHeader:]
	var fields []field
	for len(rest) > 0 {
		n := int(binary.LittleEndian.Uint16(rest[2:]))
		fields = append(fields, field{binary.LittleEndian.Uint16(rest), bytes.Clone(rest[4 : 4+n])})
		rest = rest[4+n:]
	}
	fields = change(header, fields)
	out := append(bytes.Clone(b[:start]), header...)
	for _, f := range fields {
		out = appendField(out, f.tag, f.value)
	}
	if layout == Layout21 {
		binary.NativeEndian.PutUint32(out[start-4:], uint32(len(out)-start))
	} else {
		binary.NativeEndian.PutUint64(out[start-8:], uint64(len(out)-start))
	}
	sealExtension(out, start)
	return out
}

func TestReadsNewerExtension(t *testing.T) {
	for layout := range encoders {
		b := rebuild(t, layout, func(header []byte, fields []field) []field {
			header[8] = extVersion + 1 // but readable for version 1
			for i := range fields {
				fields[i].value = append(fields[i].value, 1, 2, 3)
			}
			return append([]field{{tag: 77, value: []byte("from the future")}, {tag: 78}}, fields...)
		})
		got, err := Decode(b)
		require.NoError(t, err)
		want, err := sampleAddress().As(layout)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestExtensionRefuses(t *testing.T) {
	// Fields of the sample: flags, node, then the rails of entries 0, 1, 2.
	for _, c := range []struct {
		name   string
		change func(header []byte, fields []field) []field
		want   string
	}{
		{"readers too old", func(h []byte, f []field) []field { h[8], h[9] = 9, 5; return f }, "of version 9 for readers of version 5 or newer"},
		{"other layout", func(h []byte, f []field) []field { h[10] = byte(Layout21); return f }, "layout in the extension at byte"},
		{"magic", func(h []byte, f []field) []field { h[0] = 'x'; return f }, `want "\x89golnx\r\n"`},
		{"no flags", func(h []byte, f []field) []field { return f[1:] }, "no flags or no node identity"},
		{"no node", func(h []byte, f []field) []field { return append(f[:1], f[2:]...) }, "no flags or no node identity"},
		{"flags twice", func(h []byte, f []field) []field { return append(f, f[0]) }, "seen before: true"},
		{"node twice", func(h []byte, f []field) []field { return append(f, f[1]) }, "seen before: true"},
		{"short flags", func(h []byte, f []field) []field { f[0].value = f[0].value[:7]; return f }, "7 bytes"},
		{"short node", func(h []byte, f []field) []field { f[1].value = f[1].value[:nodeSize-1]; return f }, "63 bytes"},
		{"short rail", func(h []byte, f []field) []field { f[2].value = f[2].value[:railSize-1]; return f }, "17 bytes"},
		{"rail missing", func(h []byte, f []field) []field { return f[:4] }, "no rail for entry 2"},
		{"rail twice", func(h []byte, f []field) []field { return append(f, f[2]) }, "0, out of range or taken"},
		{"rail of no entry", func(h []byte, f []field) []field { f[2].value[0] = 3; return f }, "3, out of range or taken"},
		{"rails exchanged", func(h []byte, f []field) []field { f[2].value[0], f[3].value[0] = 1, 0; return f }, "names that agree"},
		{"NUMA node -2", func(h []byte, f []field) []field { f[2].value[14] = 0xfe; return f }, "NUMA node"},
		{"string beyond the field", func(h []byte, f []field) []field { f[2].value[railSize] = 200; return f }, "a length and as many bytes"},
		{"strings missing", func(h []byte, f []field) []field { f[2].value = f[2].value[:railSize]; return f }, "provider at byte"},
		{"escape in a string", func(h []byte, f []field) []field { f[2].value[railSize+1] = 0x1b; return f }, `"\x1bhm"`},
		{"empty provider", func(h []byte, f []field) []field {
			f[2].value = append(f[2].value[:railSize:railSize], 0, 3, 's', 'h', 'm', 0)
			return f
		}, "provider at byte"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Decode(rebuild(t, Layout22, c.change))
			var blobErr *BlobError
			require.ErrorAs(t, err, &blobErr)
			require.Contains(t, err.Error(), c.want)
		})
	}
}

func TestFieldBeyondTheExtension(t *testing.T) {
	b := mustEncode(t, sampleAddress(), Layout22)
	start := bytes.Index(b, []byte(extMagic))
	binary.LittleEndian.PutUint16(b[start+extHeader+2:], 60000)
	sealExtension(b, start)
	_, err := Decode(b)
	require.ErrorContains(t, err, "field length")
	require.ErrorContains(t, err, "60000")
}

// A blob made so that it reads as layout 2.1 without extension, too: the
// extension decides, and damage to it must not turn the blob into the other.
func TestExtensionSettlesTheLayout(t *testing.T) {
	a := &Address{
		Host:    "node7",
		Entries: []Entry{{Addr: []byte("fi_shm://1:0:0\x00abcd")}},
		Ext:     &Extension{Rails: []Rail{{Provider: "shm", Fabric: "shm", Format: FormatString, NUMA: -1}}},
	}
	b := mustEncode(t, a, Layout22)
	start := bytes.Index(b, []byte(extMagic))
	b = appendField(b, 77, make([]byte, 8)) // 2.1 ends four bytes earlier
	binary.NativeEndian.PutUint64(b[start-8:], uint64(len(b)-start))
	copy(b[head21:], "efgh")                       // alignment: 2.1 has a name there
	binary.NativeEndian.PutUint32(b[132:], 1)      // behind the NUL of shm: 2.1's count
	binary.NativeEndian.PutUint32(b[start-12:], 1) // the same of the extension's entry

	_, err := (&decoder{b: b, layout: Layout21}).decode()
	require.NoError(t, err, "else this tests nothing")
	_, err = Decode(b)
	require.ErrorContains(t, err, "checksum")

	sealExtension(b, start)
	got, err := Decode(b)
	require.NoError(t, err)
	require.Equal(t, Layout22, got.Layout)
}

func TestShortExtension(t *testing.T) {
	b := mustEncode(t, plainAddress(Layout22), Layout22)
	binary.NativeEndian.PutUint32(b[nameSize:], 4)
	b = appendName(b, extName)
	b = binary.NativeEndian.AppendUint64(b, 8)
	b = append(b, extMagic...)
	_, err := Decode(b)
	require.ErrorContains(t, err, "8 bytes, want at least 16")

	b = rebuild(t, Layout22, func(_ []byte, f []field) []field { return f })
	start := bytes.Index(b, []byte(extMagic))
	b = append(b, 1, 0, 0)
	binary.NativeEndian.PutUint64(b[start-8:], uint64(len(b)-start))
	sealExtension(b, start)
	_, err = Decode(b)
	require.ErrorContains(t, err, "a header of 4 bytes")
}
