package peer

import (
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var encoders = map[Layout]func(*Address) ([]byte, error){Layout21: Encode21, Layout22: Encode22}

func mustEncode(t testing.TB, a *Address, layout Layout) []byte {
	t.Helper()
	b, err := encoders[layout](a)
	require.NoError(t, err)
	return b
}

func TestRoundTrip(t *testing.T) {
	for layout := range encoders {
		for name, a := range map[string]*Address{"extension": sampleAddress(), "plain": plainAddress(layout)} {
			t.Run(fmt.Sprintf("%s/%v", name, layout), func(t *testing.T) {
				want, err := a.As(layout)
				require.NoError(t, err)
				got, err := Decode(mustEncode(t, a, layout))
				require.NoError(t, err)
				require.Equal(t, want, got)
			})
		}
	}
}

// What a blob says must not depend on the layout it came in, if it has an
// extension.
func TestLayoutsAgree(t *testing.T) {
	from21, err := Decode(mustEncode(t, sampleAddress(), Layout21))
	require.NoError(t, err)
	as22, err := from21.As(Layout22)
	require.NoError(t, err)
	from22, err := Decode(mustEncode(t, sampleAddress(), Layout22))
	require.NoError(t, err)
	require.Equal(t, from22, as22)
}

func TestShmComesFirstIn22(t *testing.T) {
	a, err := Decode(mustEncode(t, sampleAddress(), Layout22))
	require.NoError(t, err)
	require.Equal(t, 0, a.Shm())
	require.Equal(t, "shm", a.Ext.Rails[0].Provider, "rails must follow their entries")
	require.Equal(t, "eth0", a.Ext.Rails[1].Domain)
}

// A rapid generator draws endpoints that both layouts can hold or that must be
// refused; nothing may be written that reads back as something else.
func TestRoundTripProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		layout := rapid.SampledFrom([]Layout{Layout21, Layout22}).Draw(t, "layout")
		a := drawAddress(t)
		b, err := encoders[layout](a)
		if err != nil {
			t.Skip("refused: ", err)
		}
		want, err := a.As(layout)
		if err != nil {
			t.Fatalf("encoded, but: %v", err)
		}
		padded := append(b, make([]byte, rapid.IntRange(0, 100).Draw(t, "padding"))...)
		got, err := Decode(padded)
		if a.Ext == nil && err != nil && strings.Contains(err.Error(), "layouts 2.1 and 2.2") {
			return // padding can make a blob without extension ambiguous
		}
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

func drawAddress(t *rapid.T) *Address {
	name := rapid.StringMatching(`[a-z0-9;./_-]{1,12}`)
	a := &Address{Host: name.Draw(t, "host")}
	n := rapid.IntRange(1, 5).Draw(t, "entries")
	if rapid.Bool().Draw(t, "extension") {
		a.Ext = &Extension{Flags: Flags(rapid.Uint64().Draw(t, "flags")), Node: Node{PID: rapid.Uint32().Draw(t, "pid"), UID: rapid.Uint32().Draw(t, "uid")}}
		if bell := rapid.SliceOfN(rapid.Byte(), 0, 64).Draw(t, "bell"); len(bell) > 0 {
			a.Ext.Bell = bell
		}
	}
	names := rapid.SampledFrom([]string{"tcp;ofi_rxm", "cxi", "10.0.1.0/24", "efa-direct"})
	size := rapid.IntRange(1, 32).Draw(t, "size")
	shm := rapid.IntRange(0, 8).Draw(t, "shm entry")
	for i := range n {
		provider, fabric := names.Draw(t, "provider"), names.Draw(t, "fabric")
		if i == shm {
			provider, fabric = "shm", "shm"
		}
		e := Entry{Addr: rapid.SliceOfN(rapid.Byte(), size, size).Draw(t, "addr")}
		if a.Ext == nil {
			e.Name = provider
		} else {
			a.Ext.Rails = append(a.Ext.Rails, Rail{
				Provider: provider, Fabric: fabric, Domain: rapid.SampledFrom([]string{"", "eth0", "mlx5_0"}).Draw(t, "domain"),
				Format: AddrFormat(rapid.Uint32().Draw(t, "format")), Speed: rapid.Uint64().Draw(t, "speed"), NUMA: rapid.Int32Min(-1).Draw(t, "numa"),
			})
		}
		a.Entries = append(a.Entries, e)
	}
	return a
}

func TestTrailingBytes(t *testing.T) {
	for layout := range encoders {
		for _, a := range []*Address{sampleAddress(), plainAddress(layout)} {
			b := mustEncode(t, a, layout)
			padded := make([]byte, 16384) // what C LNX's fi_getname claims
			copy(padded, b)
			got, err := Decode(padded)
			require.NoError(t, err)
			want, err := a.As(layout)
			require.NoError(t, err)
			require.Equal(t, want, got)

			padded[len(b)+7] = 1
			_, err = Decode(padded)
			var blobErr *BlobError
			require.ErrorAs(t, err, &blobErr)
			require.Equal(t, len(b)+7, blobErr.Offset)
			require.Equal(t, layout, blobErr.Layout)
		}
	}
}

// The checksum and the rules around it must notice any single altered bit,
// wherever it is.
func TestAlteredBlobIsDetected(t *testing.T) {
	for layout := range encoders {
		b := mustEncode(t, sampleAddress(), layout)
		for i := range len(b) * 8 {
			b[i/8] ^= 1 << (i % 8)
			a, err := Decode(b)
			require.Error(t, err, "layout %v byte %d bit %d: %v", layout, i/8, i%8, a)
			b[i/8] ^= 1 << (i % 8)
		}
	}
}

func TestTruncatedBlobIsDetected(t *testing.T) {
	for layout := range encoders {
		b := mustEncode(t, sampleAddress(), layout)
		plain := len(mustEncode(t, plainAddress(layout), layout))
		for n := range b {
			if layout == Layout21 && n == plain {
				continue // a sound blob without extension, which 2.1 does not count
			}
			_, err := Decode(b[:n:n])
			require.Error(t, err, "layout %v cut at %d of %d", layout, n, len(b))
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	ne := binary.NativeEndian
	// Offsets in a plain blob of layout 2.2 whose first entry is shm.
	const count22, name22, size22 = 64, 72, 136
	// The same of layout 2.1, whose first entry is tcp;ofi_rxm with two addresses.
	const count21, name21, naddr21, size21 = 64, 68, 132, 136
	ext22 := strings.Index(string(mustEncode(t, sampleAddress(), Layout22)), extMagic)

	for _, c := range []struct {
		name   string
		layout Layout
		ext    bool
		damage func(b []byte) []byte
		offset int
		want   string
	}{
		{"empty", Layout22, false, func(b []byte) []byte { return nil }, 0, "0 bytes and the end of the blob"},
		{"host without NUL", Layout22, false, func(b []byte) []byte { fill(b[:64], 'a'); return b }, 0, "without a terminating NUL"},
		{"no host", Layout22, false, func(b []byte) []byte { b[0] = 0; return b }, 0, `host name at byte 0 is ""`},
		{"escape in host", Layout22, false, func(b []byte) []byte { b[1] = 0x1b; return b }, 0, `"n\x1bde7"`},
		{"name not UTF-8", Layout22, false, func(b []byte) []byte { b[name22+1] = 0xff; return b }, name22, `"s\xffm"`},
		{"no entries", Layout22, false, func(b []byte) []byte { ne.PutUint32(b[count22:], 0); return b }, count22, "entry count at byte 64 is 0, want 1 to 65"},
		{"too many entries", Layout22, false, func(b []byte) []byte { ne.PutUint32(b[count22:], 1<<30); return b }, count22, "1073741824"},
		{"negative entries", Layout22, false, func(b []byte) []byte { ne.PutUint32(b[count22:], math.MaxUint32); return b }, count22, "is -1"},
		{"more entries than there are", Layout22, false, func(b []byte) []byte { ne.PutUint32(b[count22:], 4); return b }, -1, "end of the blob"},
		{"address of no bytes", Layout22, false, func(b []byte) []byte { ne.PutUint64(b[size22:], 0); return b }, size22, "is 0"},
		{"address of 64 MiB", Layout22, false, func(b []byte) []byte { ne.PutUint64(b[size22:], 64<<20); return b }, size22, "67108864"},
		{"address of 2^63 bytes", Layout22, false, func(b []byte) []byte { ne.PutUint64(b[size22:], 1<<63); return b }, size22, "want 1 to 4096"},
		{"address beyond the end", Layout22, false, func(b []byte) []byte { ne.PutUint64(b[size22:], 4096); return b }, size22 + 8, "want 4096 bytes"},
		{"two shm", Layout22, false, func(b []byte) []byte {
			one := append(cut(b, name22, 18+72), cut(b, name22, 18+72)...)
			ne.PutUint32(b[count22:], 2)
			return append(cut(b, 0, name22), one...)
		}, name22 + 90, `"shm" once more`},
		{"no entries beside the extension", Layout22, true, func(b []byte) []byte {
			ne.PutUint32(b[count22:], 1)
			return append(cut(b, 0, name22), b[ext22-72:]...)
		}, 64, "number of addresses"},
		{"two extensions", Layout22, true, func(b []byte) []byte {
			ne.PutUint32(b[count22:], 5)
			return append(b, b[ext22-72:]...)
		}, -1, `"x-golnx" again`},
		{"extension under another name", Layout22, true, func(b []byte) []byte { b[ext22-72] = 'y'; return b }, ext22, "an extension in an entry named"},
		{"huge extension", Layout22, true, func(b []byte) []byte { ne.PutUint64(b[ext22-8:], maxExt+1); return b }, ext22 - 8, "16385"},

		{"no providers", Layout21, false, func(b []byte) []byte { ne.PutUint32(b[count21:], 0); return b }, count21, "provider count"},
		{"too many providers", Layout21, false, func(b []byte) []byte { ne.PutUint32(b[count21:], 16); return b }, count21, "is 16, want 1 to 15"},
		{"provider without addresses", Layout21, false, func(b []byte) []byte { ne.PutUint32(b[naddr21:], 0); return b }, naddr21, "address count"},
		{"17 addresses", Layout21, false, func(b []byte) []byte { ne.PutUint32(b[naddr21:], 17); return b }, naddr21, "17"},
		{"negative size", Layout21, false, func(b []byte) []byte { ne.PutUint32(b[size21:], 1<<31); return b }, size21, "-2147483648"},
		{"a provider twice", Layout21, false, func(b []byte) []byte {
			ne.PutUint32(b[count21:], 2)
			return append(cut(b, 0, name21+72+32), b[name21:name21+72+32]...)
		}, name21 + 104, `"tcp;ofi_rxm" again`},
		{"counted extension", Layout21, true, func(b []byte) []byte { ne.PutUint32(b[count21:], 3); return b }, -1, "behind the counted entries"},
		{"larger than any blob", Layout22, false, func(b []byte) []byte { return append(b, make([]byte, 64<<10)...) }, 0, "at most 65536"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := plainAddress(c.layout)
			if c.ext {
				a = sampleAddress()
			}
			_, err := Decode(c.damage(mustEncode(t, a, c.layout)))
			var blobErr *BlobError
			require.ErrorAs(t, err, &blobErr)
			require.Contains(t, err.Error(), c.want)
			if c.offset >= 0 {
				require.Equal(t, c.offset, blobErr.Offset, err.Error())
			}
		})
	}
}

func fill(b []byte, c byte) {
	for i := range b {
		b[i] = c
	}
}

func cut(b []byte, from, n int) []byte { return append([]byte(nil), b[from:from+n]...) }

// A blob that could be of either layout must not be taken for one of them by
// chance: 2.1 reads provider tcp;x with two addresses of four bytes, 2.2 a
// fabric ;x with one.
func TestAmbiguousBlob(t *testing.T) {
	a := &Address{Host: "h", Entries: []Entry{{Name: "tcp;x", Addr: []byte{0, 0, 0, 0}}, {Name: "tcp;x", Addr: []byte{1, 2, 3, 4}}}}
	_, err := Encode21(a)
	require.ErrorContains(t, err, "readable in the layouts 2.1 and 2.2")
	require.ErrorContains(t, err, "an extension makes the layout certain")

	a.Ext = &Extension{Rails: []Rail{{Provider: "tcp;x", Fabric: "n"}, {Provider: "tcp;x", Fabric: "n"}}}
	b := mustEncode(t, a, Layout21)
	got, err := Decode(b)
	require.NoError(t, err)
	require.Equal(t, Layout21, got.Layout)
}

// Whatever a blob claims, Decode allocates for what is there.
func TestDecodeAllocatesNothingOnAPeersWord(t *testing.T) {
	for layout := range encoders {
		b := mustEncode(t, plainAddress(layout), layout)[:200]
		for _, claim := range []int{64 << 20, math.MaxInt32} {
			for off := 64; off+4 <= len(b); off += 4 {
				hostile := append([]byte(nil), b...)
				binary.NativeEndian.PutUint32(hostile[off:], uint32(claim))
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				_, err := Decode(hostile)
				runtime.ReadMemStats(&after)
				require.Error(t, err)
				require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<10), "layout %v, %d at %d", layout, claim, off)
			}
		}
	}
}

func TestDecodeSharesNoMemory(t *testing.T) {
	b := mustEncode(t, sampleAddress(), Layout22)
	a, err := Decode(b)
	require.NoError(t, err)
	want := a.String()
	fill(b, 0xff)
	require.Equal(t, want, a.String())
}

func TestEncodeRefuses(t *testing.T) {
	many := func(n int, name string) []Entry {
		var out []Entry
		for range n {
			out = append(out, Entry{Name: name, Addr: []byte{1}})
		}
		return out
	}
	manyNames := func(n int) (out []Entry) {
		for i := range n {
			out = append(out, Entry{Name: fmt.Sprintf("net%d", i), Addr: []byte{1}})
		}
		return out
	}
	for _, c := range []struct {
		name   string
		layout Layout
		change func(a *Address)
		want   string
	}{
		{"no entries", Layout22, func(a *Address) { a.Entries = nil }, "0 entries, want 1 to 64"},
		{"long host", Layout22, func(a *Address) { a.Host = strings.Repeat("h", 64) }, "has 64 bytes, at most 63 fit"},
		{"no host", Layout21, func(a *Address) { a.Host = "" }, "host name: is empty"},
		{"NUL in a name", Layout22, func(a *Address) { a.Entries[0].Name = "a\x00b" }, "cannot be printed"},
		{"empty address", Layout22, func(a *Address) { a.Entries[0].Addr = nil }, "has 0 address bytes"},
		{"two shm", Layout22, func(a *Address) { a.Entries = many(2, "shm") }, "more than 1 addresses for shm"},
		{"17 of a fabric", Layout22, func(a *Address) { a.Entries = many(17, "10.0.1.0/24") }, "more than 16 addresses for 10.0.1.0/24"},
		{"65 entries", Layout22, func(a *Address) { a.Entries = manyNames(65) }, "65 entries, want 1 to 64"},
		{"16 providers", Layout21, func(a *Address) { a.Entries = manyNames(16) }, "16 providers, want at most 15"},
		{"mixed sizes", Layout21, func(a *Address) { a.Entries = append(many(1, "tcp"), Entry{"tcp", []byte{1, 2}}) }, "addresses of 1 and 2 bytes for tcp"},
		{"our name", Layout22, func(a *Address) { a.Entries[0].Name = extName }, "fill in Ext instead"},
		{"our magic", Layout22, func(a *Address) { a.Entries[0].Addr = []byte(extMagic) }, "fill in Ext instead"},
		{"too large", Layout22, func(a *Address) {
			a.Entries = manyNames(17)
			for i := range a.Entries {
				a.Entries[i].Addr = make([]byte, maxAddrLen)
			}
		}, "want at most 65536"},
		{"other layout without extension", Layout21, func(a *Address) { a.Layout = Layout22 }, "encode it in layout 2.2"},
		{"rails missing", Layout22, func(a *Address) { a.Ext = &Extension{} }, "0 rails in the extension for 3 entries"},
		{"rail without provider", Layout22, func(a *Address) { a.Ext = &sampleExt; a.Ext.Rails = make([]Rail, 3) }, "name of entry 0: is empty"},
		{"half shm", Layout22, func(a *Address) { *a = *sampleAddress(); a.Ext.Rails[1].Provider = "tcp" }, "shm is both or neither"},
		{"NUMA node -2", Layout22, func(a *Address) { *a = *sampleAddress(); a.Ext.Rails[0].NUMA = -2 }, "NUMA node -2"},
		{"tab in a domain", Layout22, func(a *Address) { *a = *sampleAddress(); a.Ext.Rails[0].Domain = "a\tb" }, "domain of rail"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := plainAddress(c.layout)
			c.change(a)
			_, err := encoders[c.layout](a)
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err := sampleAddress().As(0)
	require.ErrorContains(t, err, "unknown Layout(0)")
}

var sampleExt = Extension{Node: sampleNode}

func TestEncodeKeepsItsArgument(t *testing.T) {
	a := sampleAddress()
	for layout := range encoders {
		mustEncode(t, a, layout)
		require.Equal(t, sampleAddress(), a)
	}
}
