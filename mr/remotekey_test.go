package mr_test

import (
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"golnx/mr"
	"golnx/mr/mrtest"
	"golnx/providers/fierr"
)

// A peer takes a key across, and meets the memory at each rail by what that rail's
// domain asks for.
func TestRemoteKeyEndToEnd(t *testing.T) {
	target := newWorld(t, mr.Options{FirstKey: 1000}, shmMode, tcpMode, verbsMode, rawMode)
	peer := newWorld(t, mr.Options{}, shmMode, tcpMode, verbsMode, rawMode)
	buf := alloc(t, 4096)
	r := target.register(t, buf, mr.RemoteRead|mr.RemoteWrite)
	key, err := r.RemoteKey()
	require.NoError(t, err)
	b, err := key.MarshalBinary()
	require.NoError(t, err)
	var got mr.RemoteKey
	require.NoError(t, got.UnmarshalBinary(b))
	require.Equal(t, key, got)

	remote := peer.Import(got)
	require.Equal(t, got, remote.Key())
	for rail, d := range target.domains {
		addr, k, err := remote.At(rail, rail, 100, 50, mr.RemoteWrite)
		require.NoError(t, err)
		again, k2, err := remote.At(rail, rail, 100, 50, mr.RemoteWrite)
		require.NoError(t, err)
		require.Equal(t, [2]uint64{addr, k}, [2]uint64{again, k2})
		mem, err := d.Reach(addr, k, 50, mr.RemoteWrite)
		require.NoError(t, err)
		require.Equal(t, addrOf(buf[100:]), addrOf(mem), "rail %d", rail)
	}
	require.Equal(t, 1, peer.domains[3].Mapped(), "a raw key is mapped once")
	_, _, err = remote.At(0, 4, 0, 1, mr.RemoteRead)
	require.ErrorIs(t, err, fierr.ENoKey)
	_, _, err = remote.At(4, 0, 0, 1, mr.RemoteRead)
	require.ErrorIs(t, err, fierr.EInval)
	_, _, err = remote.At(0, 0, 4096, 1, mr.RemoteRead)
	require.ErrorIs(t, err, fierr.EInval)
	_, _, err = remote.At(0, 0, 0, 1, mr.Read)
	require.ErrorIs(t, err, fierr.EPerm)
	require.NoError(t, remote.Close())
	require.Zero(t, peer.domains[3].Mapped())
	require.ErrorIs(t, remote.Close(), mr.ErrClosed)
	_, _, err = remote.At(0, 0, 0, 1, mr.RemoteRead)
	require.ErrorIs(t, err, mr.ErrClosed)
	require.NoError(t, r.Close())
}

// A rail that has no raw keys of its own cannot map those of others.
func TestRawKeyElsewhere(t *testing.T) {
	target := newWorld(t, mr.Options{}, rawMode)
	r := target.register(t, alloc(t, 4096), mr.RemoteRead)
	defer r.Close()
	key, err := r.RemoteKey()
	require.NoError(t, err)
	plain, err := mr.New(mr.Options{Rails: []mr.Rail{{Name: "plain", Registrar: struct{ mr.Registrar }{mrtest.New(0)}}}})
	require.NoError(t, err)
	_, _, err = plain.Import(key).At(0, 0, 0, 1, mr.RemoteRead)
	require.ErrorIs(t, err, mr.ErrNotSupported)
	require.ErrorContains(t, err, "plain")
	require.NoError(t, plain.Close())
}

// The index in the address blob is not the rail's number.
func TestRemoteKeyEntries(t *testing.T) {
	var rails []mr.Rail
	for _, entry := range []int{7, 0, 63} {
		rails = append(rails, mr.Rail{Name: "r", Registrar: mrtest.New(0), Entry: entry})
	}
	m, err := mr.New(mr.Options{Rails: rails})
	require.NoError(t, err)
	r, err := m.Register(make([]byte, 8), mr.RemoteRead)
	require.NoError(t, err)
	key, err := r.RemoteKey()
	require.NoError(t, err)
	require.Equal(t, []int{0, 7, 63}, key.Entries())
	for rail, entry := range []int{7, 0, 63} {
		h, err := r.On(rail)
		require.NoError(t, err)
		remote, err := key.For(entry)
		require.NoError(t, err)
		require.Equal(t, mr.RemoteRail{Entry: entry, Addr: h.Addr, Key: h.Key}, remote)
	}
	_, err = key.For(1)
	require.ErrorContains(t, err, "[0 7 63]")
	require.NoError(t, m.Close())
}

// sampleKey is the key in testdata/remotekey1.hex: 4096 bytes to be read and written, of
// which entry 0 counts from 0, entry 2 has virtual addresses, and entry 5 a raw key.
func sampleKey(t require.TestingT) mr.RemoteKey {
	text, err := os.ReadFile("testdata/remotekey1.hex")
	require.NoError(t, err)
	var lines strings.Builder
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		lines.WriteString(strings.Join(strings.Fields(line), ""))
	}
	b, err := hex.DecodeString(lines.String())
	require.NoError(t, err)
	var k mr.RemoteKey
	require.NoError(t, k.UnmarshalBinary(b))
	back, err := k.MarshalBinary()
	require.NoError(t, err)
	require.Equal(t, b, back)
	return k
}

// The bytes of version 1 do not change.
func TestRemoteKeyGolden(t *testing.T) {
	k := sampleKey(t)
	require.EqualValues(t, 4096, k.Len())
	require.Equal(t, mr.RemoteAccess, k.Access())
	var got []mr.RemoteRail
	for _, entry := range k.Entries() {
		r, err := k.For(entry)
		require.NoError(t, err)
		got = append(got, r)
	}
	require.Equal(t, []mr.RemoteRail{
		{Entry: 0, Addr: 0, Key: 0x2a},
		{Entry: 2, Addr: 0x7f0012340000, Key: 0xdeadbeef00000001},
		{Entry: 5, Addr: 0x7f0012340000, Key: mr.KeyNotAvail, RawBase: 0x5eed, Raw: []byte{0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9}},
	}, got)
	require.Equal(t, "4096 bytes for remote_read|remote_write at entries [0 2 5]", k.String(), "no key in it")
}

func TestRemoteKeySlice(t *testing.T) {
	k := sampleKey(t)
	rapid.Check(t, func(t *rapid.T) {
		// Parts of parts are within, each beginning where it should.
		part, base := k, uint64(0)
		for range rapid.IntRange(0, 4).Draw(t, "depth") {
			off := rapid.Uint64Range(0, part.Len()).Draw(t, "off")
			n := rapid.Uint64Range(0, part.Len()-off).Draw(t, "n")
			var err error
			part, err = part.Slice(off, n)
			require.NoError(t, err)
			require.Equal(t, n, part.Len())
			base += off
		}
		b, err := part.MarshalBinary()
		require.NoError(t, err)
		var back mr.RemoteKey
		require.NoError(t, back.UnmarshalBinary(b))
		for _, entry := range k.Entries() {
			whole, err := k.For(entry)
			require.NoError(t, err)
			whole.Addr += base
			for _, k := range []mr.RemoteKey{part, back} {
				got, err := k.For(entry)
				require.NoError(t, err)
				require.Equal(t, whole, got)
			}
		}
		// And nothing else is, as counted without overflow.
		off, n := rapid.Uint64().Draw(t, "any off"), rapid.Uint64().Draw(t, "any n")
		within := off <= part.Len() && n <= part.Len() && off+n <= part.Len()
		_, err = part.Slice(off, n)
		require.Equal(t, within, err == nil, "%d bytes at %d of %d", n, off, part.Len())
		require.Equal(t, within, part.Check(off, n, mr.RemoteRead) == nil)
	})
	for _, c := range [][2]uint64{{4097, 0}, {0, 4097}, {1, 4096}, {math.MaxUint64, 1}, {1, math.MaxUint64}, {math.MaxUint64, 2}} {
		_, err := k.Slice(c[0], c[1])
		require.ErrorIs(t, err, fierr.EInval, "%v", c)
	}
}

func TestZeroRemoteKey(t *testing.T) {
	var k mr.RemoteKey
	_, err := k.MarshalBinary()
	require.ErrorIs(t, err, fierr.EInval)
	_, err = k.For(0)
	require.ErrorIs(t, err, fierr.ENoKey)
	require.ErrorIs(t, k.Check(0, 0, mr.RemoteRead), fierr.EPerm)
	require.Equal(t, "0 bytes for none at entries []", k.String())
}

// seal corrects the checksum of a key that was changed.
func seal(b []byte) {
	sum := crc32.Update(0, crc32.MakeTable(crc32.Castagnoli), b[:12])
	binary.LittleEndian.PutUint32(b[12:], crc32.Update(sum, crc32.MakeTable(crc32.Castagnoli), b[16:]))
}

func TestUnmarshalRefuses(t *testing.T) {
	sound, err := sampleKey(t).MarshalBinary()
	require.NoError(t, err)
	const raw = 28 + 20 + 20 // where the third rail begins
	for want, change := range map[string]func(b []byte) []byte{
		"0 bytes long":                  func([]byte) []byte { return nil },
		"27 bytes long":                 func(b []byte) []byte { return b[:27] },
		"magic at byte 0":               func(b []byte) []byte { b[0] = 'x'; return b },
		"version at byte 9 is 2":        func(b []byte) []byte { b[8], b[9] = 2, 2; return b },
		"rail at byte 28 is 0 bytes":    func(b []byte) []byte { return b[:28] },
		"rail at byte 98 is 0 bytes":    func(b []byte) []byte { b[10] = 4; return b },
		"end at byte 68 is 30 bytes":    func(b []byte) []byte { b[10] = 2; return b },
		"size of a rail at byte 28 is":  func(b []byte) []byte { b[28], b[29] = 0xff, 0xff; return b },
		"byte 28 is 17, want 18":        func(b []byte) []byte { b[28] = 17; return b },
		"flags at byte 31 is 0x1 with":  func(b []byte) []byte { b[31] = 1; return b },
		"flags at byte 31 is 0x2":       func(b []byte) []byte { b[31] = 2; return b },
		"flags at byte 71 is 0x0 with":  func(b []byte) []byte { b[raw+3] = 0; return b },
		"access none":                   func(b []byte) []byte { clear(b[24:28]); return b },
		"access send":                   func(b []byte) []byte { b[25] = 0x38; return b },
		"0 rails":                       func(b []byte) []byte { b[10] = 0; return b[:28] },
		"entry 64":                      func(b []byte) []byte { b[30] = 64; return b },
		"entry 2 twice":                 func(b []byte) []byte { b[30] = 2; return b },
		"end beyond the address space":  func(b []byte) []byte { copy(b[16:], "\xff\xff\xff\xff\xff\xff\xff\xff"); return b },
		"end at byte 98 is 5 bytes":     func(b []byte) []byte { return append(b, make([]byte, 5)...) },
		"100000 bytes long, want 28 to": func(b []byte) []byte { return append(b, make([]byte, 100000-len(b))...) },
	} {
		b := change(append([]byte(nil), sound...))
		if len(b) >= 28 {
			seal(b)
		}
		k := sampleKey(t)
		err := k.UnmarshalBinary(b)
		require.ErrorContains(t, err, want)
		require.ErrorIs(t, err, fierr.EProto)
		require.Equal(t, sampleKey(t), k, "unchanged")
	}
}

// Whatever bit is turned, the key is refused.
func TestUnmarshalFlippedBits(t *testing.T) {
	sound, err := sampleKey(t).MarshalBinary()
	require.NoError(t, err)
	for i := range sound {
		for bit := range 8 {
			b := append([]byte(nil), sound...)
			b[i] ^= 1 << bit
			var k mr.RemoteKey
			var keyErr *mr.KeyError
			require.ErrorAs(t, k.UnmarshalBinary(b), &keyErr, "byte %d, bit %d", i, bit)
		}
		var k mr.RemoteKey
		require.Error(t, k.UnmarshalBinary(sound[:i]), "cut to %d bytes", i)
	}
}

// A newer writer whose keys this reader understands may add behind the rails.
func TestUnmarshalNewer(t *testing.T) {
	b, err := sampleKey(t).MarshalBinary()
	require.NoError(t, err)
	b[8] = 2
	b = append(b, "something new"...)
	seal(b)
	var k mr.RemoteKey
	require.NoError(t, k.UnmarshalBinary(b))
	require.Equal(t, sampleKey(t), k)
}

// FuzzRemoteKey: no input panics or has more kept than it holds, and what is read can be
// written and reads the same again. Checksums are corrected, or little would be met.
func FuzzRemoteKey(f *testing.F) {
	b, err := sampleKey(f).MarshalBinary()
	require.NoError(f, err)
	f.Add(b)
	part, err := sampleKey(f).Slice(96, 4000)
	require.NoError(f, err)
	b, err = part.MarshalBinary()
	require.NoError(f, err)
	f.Add(b)
	f.Add(b[:48])
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= 28 {
			b = append([]byte(nil), b...)
			seal(b)
		}
		var k mr.RemoteKey
		if err := k.UnmarshalBinary(b); err != nil {
			var keyErr *mr.KeyError
			require.ErrorAs(t, err, &keyErr)
			require.LessOrEqual(t, keyErr.Offset, len(b))
			require.Zero(t, k)
			return
		}
		again, err := k.MarshalBinary()
		require.NoError(t, err)
		require.LessOrEqual(t, len(again), len(b))
		var back mr.RemoteKey
		require.NoError(t, back.UnmarshalBinary(again))
		require.Equal(t, k, back)
		end, err := k.Slice(k.Len(), 0)
		require.NoError(t, err)
		for _, entry := range k.Entries() {
			first, err := k.For(entry)
			require.NoError(t, err)
			last, err := end.For(entry)
			require.NoError(t, err)
			require.LessOrEqual(t, first.Addr, last.Addr)
		}
	})
}
