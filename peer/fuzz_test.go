package peer

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzDecode: no input panics or makes Decode keep more than the input holds,
// and what is read can be written and reads the same again.
func FuzzDecode(f *testing.F) {
	for _, name := range []string{"c21.hex", "c22.hex", "go21.hex", "go22.hex"} {
		b := readHex(f, name)
		f.Add(b)
		f.Add(append(b, make([]byte, 32)...))
	}
	f.Fuzz(checkDecode)
}

// FuzzExtension lets the fields of a sealed extension be anything, which
// FuzzDecode cannot get at: it does not guess checksums.
func FuzzExtension(f *testing.F) {
	sound := mustEncode(f, sampleAddress(), Layout22)
	start := bytes.Index(sound, []byte(extMagic))
	f.Add(sound[start+extHeader:])
	f.Fuzz(func(t *testing.T, fields []byte) {
		b := append(bytes.Clone(sound[:start+extHeader]), fields...)
		binary.NativeEndian.PutUint64(b[start-8:], uint64(len(b)-start))
		sealExtension(b, start)
		checkDecode(t, b)
	})
}

func checkDecode(t *testing.T, b []byte) {
	a, err := Decode(b)
	if err != nil {
		require.Nil(t, a)
		var blobErr *BlobError
		require.ErrorAs(t, err, &blobErr)
		require.LessOrEqual(t, blobErr.Offset, len(b), err.Error())
		return
	}
	held := 0
	for _, e := range a.Entries {
		held += len(e.Name) + len(e.Addr)
	}
	require.LessOrEqual(t, held, len(b))
	require.True(t, printable(a.String()))

	// Layout 2.2 moves shm to the front, which As does, too.
	want, err := a.As(a.Layout)
	require.NoError(t, err)
	again, err := encoders[a.Layout](a)
	require.NoError(t, err)
	back, err := Decode(again)
	require.NoError(t, err)
	require.Equal(t, want, back)
	require.Equal(t, identity(a), identity(back))
}
