package pair

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// dial opens a channel whose other end is a plain connection that has sent the
// preamble.
func dial(t testing.TB, limit time.Duration) (*Channel, net.Conn) {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = theirs.Close() })
	go func() {
		_, _ = io.ReadFull(theirs, make([]byte, len(Preamble)))
		_, _ = io.WriteString(theirs, Preamble)
	}()
	c, err := Open(context.Background(), ours, limit)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c, theirs
}

func frame(text string) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(text)))) + text
}

// cause waits for the end of the channel.
func cause(t testing.TB, c *Channel) error {
	t.Helper()
	select {
	case <-c.Context().Done():
		return context.Cause(c.Context())
	case <-time.After(10 * time.Second):
		require.FailNow(t, "the channel goes on")
		return nil
	}
}

func TestMessagesArriveInOrder(t *testing.T) {
	a, theirs := dial(t, time.Minute)
	type body struct{ N int }
	go func() {
		for _, text := range []string{`{"kind":"one","body":{"N":1}}`, `{"kind":"two"}`} {
			_, _ = io.WriteString(theirs, frame(text))
		}
		_ = theirs.Close()
	}()
	require.ErrorIs(t, cause(t, a), ErrGone)
	m := <-a.Messages()
	require.Equal(t, "one", m.Kind)
	var b body
	require.NoError(t, m.Decode(&b))
	require.Equal(t, body{1}, b)
	require.Equal(t, "two", (<-a.Messages()).Kind)
}

func TestSentFrame(t *testing.T) {
	a, theirs := dial(t, time.Minute)
	want := frame(`{"kind":"k","body":[1,2]}`)
	got := make([]byte, len(want))
	read := make(chan error)
	go func() { _, err := io.ReadFull(theirs, got); read <- err }()
	require.NoError(t, a.Send("k", []int{1, 2}))
	require.NoError(t, <-read)
	require.Equal(t, want, string(got))
	require.ErrorContains(t, a.Send("k", strings.Repeat("x", MaxFrame)), "at most")
}

func TestBadFrames(t *testing.T) {
	for name, c := range map[string]struct {
		sent, want string
		closed     bool
	}{
		"too long":       {sent: "\x00\x10\x00\x00", want: "announces a message of 1048576 bytes"},
		"no JSON":        {sent: frame("{"), want: "no JSON"},
		"empty":          {sent: frame(""), want: "no JSON"},
		"wrong type":     {sent: frame(`{"kind":7}`), want: "no JSON"},
		"cut in length":  {sent: "\x00\x00", want: ErrGone.Error(), closed: true},
		"cut in body":    {sent: "\x00\x00\x00\x09{", want: ErrGone.Error(), closed: true},
		"stuck":          {sent: "\x00\x00\x00\x09{", want: "timeout"},
		"error":          {sent: frame(`{"kind":"error","body":"it \"broke\"\n\u001b[2J"}`), want: "the other end: it \"broke\"\n\\x1b[2J"},
		"error, no text": {sent: frame(`{"kind":"error","body":{}}`), want: "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, theirs := dial(t, 100*time.Millisecond)
			_, err := io.WriteString(theirs, c.sent)
			require.NoError(t, err)
			if c.closed {
				require.NoError(t, theirs.Close())
			}
			require.ErrorContains(t, cause(t, a), c.want)
		})
	}
}

func TestBadPreamble(t *testing.T) {
	for name, c := range map[string]struct{ sent, want string }{
		"another protocol": {"SSH-2.0-OpenSSH\r\n", "does not speak"},
		"another version":  {"lnx perf 2\n", "does not speak"},
		"cut":              {Preamble[:4], "closed the connection"},
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := net.Pipe()
			go func() {
				_, _ = io.ReadFull(theirs, make([]byte, len(Preamble)))
				_, _ = io.WriteString(theirs, c.sent)
				_ = theirs.Close()
			}()
			_, err := Open(context.Background(), ours, time.Minute)
			require.ErrorContains(t, err, c.want)
			_, err = ours.Write(nil)
			require.ErrorIs(t, err, io.ErrClosedPipe)
		})
	}
}

func TestOpenEndsWithContext(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	_, err := Open(ctx, ours, time.Minute)
	require.ErrorIs(t, err, why)
}

func TestFailIsTold(t *testing.T) {
	a, theirs := dial(t, time.Minute)
	read := make(chan string)
	go func() {
		b := make([]byte, 100)
		n, _ := theirs.Read(b)
		read <- string(b[:n])
	}()
	err := a.Fail(io.ErrNoProgress)
	require.True(t, Told(err))
	require.ErrorIs(t, err, io.ErrNoProgress)
	require.Equal(t, frame(`{"kind":"error","body":"`+io.ErrNoProgress.Error()+`"}`), <-read)

	require.True(t, Told(a.Fail(&PeerError{"theirs"}))) // and not sent back
	require.NoError(t, theirs.Close())
	require.False(t, Told(a.Fail(io.ErrNoProgress)))
}

func FuzzFrames(f *testing.F) {
	for _, s := range []string{"", frame(`{"kind":"a","body":{}}`), frame(`{"kind":"error","body":"x"}`), "\xff\xff\xff\xff", "\x00\x00\x00\x02{}x"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		c, theirs := dial(t, time.Second)
		go func() {
			_, _ = theirs.Write(sent)
			_ = theirs.Close()
		}()
		for {
			select {
			case <-c.Messages():
			case <-c.Context().Done():
				if cause(t, c) == nil {
					t.Fatal("a connection that has ended leaves no cause")
				}
				return
			}
		}
	})
}
