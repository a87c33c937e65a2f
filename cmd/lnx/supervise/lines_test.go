package supervise

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func copied(text, label string) string {
	var out bytes.Buffer
	l := NewLines(&out)
	l.Copy(iotest.OneByteReader(strings.NewReader(text)), label)
	l.Copy(strings.NewReader(""), "never")
	if err := l.Wait(); err != nil {
		return err.Error()
	}
	return out.String()
}

func TestLines(t *testing.T) {
	for _, c := range []struct{ text, label, want string }{
		{"", "[0] ", ""},
		{"a\nb\n", "", "a\nb\n"},
		{"a\nb\n", "[0] ", "[0] a\n[0] b\n"},
		{"no end", "[12] ", "[12] no end\n"},
		{"\n\n", "[0] ", "[0] \n[0] \n"},
		{"a\r50%\r100%\nb", "", "a\r50%\r100%\nb\n"},
		{"\x00\xff\n", "", "\x00\xff\n"},
	} {
		require.Equal(t, c.want, copied(c.text, c.label), "%q", c.text)
	}
}

// Lines up to the limit are whole; longer ones are cut, and nothing is lost.
func TestLongLines(t *testing.T) {
	whole := strings.Repeat("x", maxLine-1) + "\n"
	var out bytes.Buffer
	l := NewLines(&out)
	l.Copy(strings.NewReader("a\n"+whole+whole[1:]+strings.Repeat("y", 3*maxLine)), "")
	require.NoError(t, l.Wait())
	cut := strings.Repeat(strings.Repeat("y", maxLine)+"\n", 3)
	require.True(t, out.String() == "a\n"+whole+whole[1:]+cut, "%d bytes", out.Len())
}

// pieces gives a text in pieces, and lets others go on between.
func pieces(text string, size int) io.Reader {
	r, w := io.Pipe()
	go func() {
		for ; text != ""; text = text[min(size, len(text)):] {
			if _, err := io.WriteString(w, text[:min(size, len(text))]); err != nil {
				return
			}
		}
		w.Close()
	}()
	return r
}

// No line of several writers has another one within.
func TestLinesAreNotMixed(t *testing.T) {
	const writers, lines = 8, 200
	var out bytes.Buffer
	l := NewLines(&out)
	for i := range writers {
		line := strings.Repeat(fmt.Sprint(i), 50+i) + "\n"
		l.Copy(pieces(strings.Repeat(line, lines), 7+i), fmt.Sprintf("[%d] ", i))
	}
	require.NoError(t, l.Wait())
	seen := map[string]int{}
	for line := range strings.Lines(out.String()) {
		seen[line]++
	}
	require.Len(t, seen, writers)
	for i := range writers {
		require.Equal(t, lines, seen[fmt.Sprintf("[%d] %s\n", i, strings.Repeat(fmt.Sprint(i), 50+i))])
	}
}

// full is a disk that is full after some writes.
type full struct{ left int }

var errFull = errors.New("disk full")

func (f *full) Write(p []byte) (int, error) {
	if f.left--; f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// Who writes is read to the end even so.
func TestLinesOnFullDisk(t *testing.T) {
	for writes := range 3 {
		l := NewLines(&full{left: writes})
		text := strings.Repeat(strings.Repeat("z", 70<<10)+"\n", 3)
		r := strings.NewReader(text)
		l.Copy(r, "")
		require.ErrorIs(t, l.Wait(), errFull)
		require.Zero(t, r.Len())
	}
}
