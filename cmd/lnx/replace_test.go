package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"golnx/internal/trace/synth"
)

// What is no file is written into, or left alone; it is never replaced.
func TestTraceOutputThatIsNoFile(t *testing.T) {
	dir, out := traced(t, synth.Config{Ops: 100}), t.TempDir()
	pipe, link, file := filepath.Join(out, "pipe"), filepath.Join(out, "link"), filepath.Join(out, "file")
	require.NoError(t, unix.Mkfifo(pipe, 0o600))
	require.NoError(t, os.Symlink("file", link))
	require.NoError(t, os.WriteFile(file, []byte("old"), 0o600))

	read := make(chan []byte)
	go func() {
		text, _ := os.ReadFile(pipe) // until the command closes it
		read <- text
	}()
	got := within(t, "trace", "perfetto", dir, "-o", pipe)
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, string(<-read), "traceEvents")
	got = within(t, "trace", "db", dir, "-o", pipe)
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.stderr, pipe+": it is no regular file: name one, or a new one")
	got = within(t, "trace", "report", dir, "-o", out)
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.stderr, out+": it is no regular file")
	got = within(t, "trace", "report", dir, "-o", link)
	require.Zero(t, got.code, got.stderr)

	st, err := os.Lstat(pipe)
	require.NoError(t, err)
	require.Equal(t, os.ModeNamedPipe, st.Mode().Type())
	st, err = os.Lstat(link)
	require.NoError(t, err)
	require.Equal(t, os.ModeSymlink, st.Mode().Type())
	page, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Greater(t, len(page), 1000)
	left, err := os.ReadDir(out)
	require.NoError(t, err)
	require.Len(t, left, 3)
}
