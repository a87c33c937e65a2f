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

// FuzzExtension lets the fields of a sealed extension be anything, in both layouts,
// which FuzzDecode cannot get at: it does not guess checksums.
func FuzzExtension(f *testing.F) {
	type frame struct {
		layout Layout
		head   []byte // up to the fields
		start  int    // of the extension
	}
	var frames []frame
	for _, layout := range []Layout{Layout21, Layout22} {
		sound := mustEncode(f, sampleAddress(), layout)
		start := bytes.Index(sound, []byte(extMagic))
		frames = append(frames, frame{layout, sound[:start+extHeader], start})
		f.Add(sound[start+extHeader:])
	}
	f.Fuzz(func(t *testing.T, fields []byte) {
		for _, x := range frames {
			b := append(bytes.Clone(x.head), fields...)
			if size := len(b) - x.start; x.layout == Layout21 {
				binary.NativeEndian.PutUint32(b[x.start-4:], uint32(size))
			} else {
				binary.NativeEndian.PutUint64(b[x.start-8:], uint64(size))
			}
			sealExtension(b, x.start)
			checkDecode(t, b)
		}
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
