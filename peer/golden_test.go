package peer

import (
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write testdata/go*.hex anew")

// readHex reads what hex.Dump wrote; lines that begin with # are comments.
func readHex(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	var b []byte
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		require.Greater(t, len(line), 8, "line %q", line)
		digits, _, _ := strings.Cut(line[8:], "|") // without offset and text
		row, err := hex.DecodeString(strings.Join(strings.Fields(digits), ""))
		require.NoError(t, err)
		b = append(b, row...)
	}
	return b
}

func TestGoldenC21(t *testing.T) {
	a, err := Decode(readHex(t, "c21.hex"))
	require.NoError(t, err)
	require.Equal(t, &Address{
		Host:   "vm",
		Layout: Layout21,
		Entries: []Entry{
			{Name: "tcp;ofi_rxm", Addr: inet("192.0.2.2:43339")},
			{Name: "shm", Addr: []byte("fi_shm://14714:0:0\x00")},
		},
	}, a)
}

func TestGoldenC22(t *testing.T) {
	a, err := Decode(readHex(t, "c22.hex"))
	require.NoError(t, err)
	require.Equal(t, &Address{
		Host:   "node7.cluster.example",
		Layout: Layout22,
		Entries: []Entry{
			{Name: "shm", Addr: []byte("fi_shm://4711:1000:0\x00")},
			{Name: "10.0.1.0/24", Addr: inet("10.0.1.7:40001")},
			{Name: "fd00::/64", Addr: inet("[fd00::7]:40002")},
		},
	}, a)
}

// What C wrote, written by Go, differs only where C writes nothing.
func TestEncodeAsC(t *testing.T) {
	for _, c := range []struct {
		file      string
		encode    func(*Address) ([]byte, error)
		unwritten func(b []byte, i int) bool
	}{
		{"c21.hex", Encode21, func(b []byte, i int) bool { return i > len("vm") && i < nameSize }},
		{"c22.hex", Encode22, func(b []byte, i int) bool { return b[i] == 0x5a }},
	} {
		t.Run(c.file, func(t *testing.T) {
			want := readHex(t, c.file)
			a, err := Decode(want)
			require.NoError(t, err)
			got, err := c.encode(a)
			require.NoError(t, err)
			require.Len(t, got, len(want))
			for i := range want {
				if c.unwritten(want, i) {
					require.Zero(t, got[i], "byte %d", i)
				} else {
					require.Equal(t, want[i], got[i], "byte %d", i)
				}
			}
		})
	}
}

func TestGoldenGo(t *testing.T) {
	for _, c := range []struct {
		file   string
		layout Layout
		encode func(*Address) ([]byte, error)
	}{
		{"go22.hex", Layout22, Encode22},
		{"go21.hex", Layout21, Encode21},
	} {
		t.Run(c.file, func(t *testing.T) {
			got, err := c.encode(sampleAddress())
			require.NoError(t, err)
			if *update {
				require.NoError(t, os.WriteFile(filepath.Join("testdata", c.file), []byte(hex.Dump(got)), 0o644))
			}
			require.Equal(t, hex.Dump(readHex(t, c.file)), hex.Dump(got))

			want, err := sampleAddress().As(c.layout)
			require.NoError(t, err)
			back, err := Decode(readHex(t, c.file))
			require.NoError(t, err)
			require.Equal(t, want, back)
		})
	}
}
