package doorbell_test

import (
	"encoding/hex"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/internal/doorbell"
)

func TestNameBytes(t *testing.T) {
	n := doorbell.Name{PID: 0x01020304, Page: 5, Pipe: math.MaxInt32, Token: token}
	b := n.AppendTo([]byte("x"))
	require.Equal(t, "78"+"01000000"+"04030201"+"05000000"+"ffffff7f"+"8877665544332211", hex.EncodeToString(b))
	require.Len(t, b[1:], doorbell.NameSize)
	got, err := doorbell.Parse(b[1:])
	require.NoError(t, err)
	require.Equal(t, n, got)
}

func TestParseRefuses(t *testing.T) {
	good := doorbell.Name{PID: 1, Page: 3, Pipe: 4, Token: token}.AppendTo(nil)
	with := func(at int, v byte) []byte {
		b := append([]byte(nil), good...)
		b[at] = v
		return b
	}
	for _, c := range []struct {
		what string
		b    []byte
		says string
	}{
		{"nothing", nil, "length of the name in bytes is 0, want 24"},
		{"short", good[:23], "length of the name in bytes is 23, want 24"},
		{"long", append(good[:24:24], 0), "length of the name in bytes is 25, want 24"},
		{"version", with(0, 2), "version of the name is [2 0 0 0], want [1 0 0 0]"},
		{"reserved", with(3, 1), "version of the name is [1 0 0 1], want [1 0 0 0]"},
		{"process 0", with(4, 0), "process number is 0, want 1 or more"},
		{"negative process", with(7, 0xff), "process number is -16777215, want 1 or more"},
		{"page", with(11, 0x80), "descriptor of the page is -2147483645, want 0 or more"},
		{"pipe", with(15, 0x80), "descriptor of the pipe is -2147483644, want 0 or more"},
	} {
		t.Run(c.what, func(t *testing.T) {
			_, err := doorbell.Parse(c.b)
			require.ErrorIs(t, err, doorbell.ErrUnavailable)
			require.ErrorContains(t, err, c.says)
		})
	}
}

// What Parse accepts has one spelling, and Open finds no bell by it in this process
// but the one that is there.
func FuzzName(f *testing.F) {
	b := newBell(f, token)
	f.Add(b.Name().AppendTo(nil))
	for fd := range int32(12) {
		f.Add(doorbell.Name{PID: int32(os.Getpid()), Page: fd, Pipe: fd, Token: token}.AppendTo(nil))
		f.Add(doorbell.Name{PID: 1, Page: b.Name().Page, Pipe: fd, Token: token}.AppendTo(nil))
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		n, err := doorbell.Parse(bytes)
		if err != nil {
			require.ErrorIs(t, err, doorbell.ErrUnavailable)
			return
		}
		require.Equal(t, bytes, n.AppendTo(nil))
		n.PID = b.Name().PID
		r, err := doorbell.Open(n)
		if err != nil {
			require.ErrorIs(t, err, doorbell.ErrUnavailable)
			return
		}
		require.NoError(t, r.Close())
		require.Equal(t, b.Name().Page, n.Page)
		require.Equal(t, b.Name().Token, n.Token)
		require.Contains(t, []int32{b.Name().Pipe, int32(b.FD())}, n.Pipe)
	})
}
