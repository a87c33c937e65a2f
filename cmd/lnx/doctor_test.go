package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/internal/shmclean"
)

// A region that a process left behind is found, and removed when that is asked for.
// It lies in a directory of its own: in /dev/shm anybody who opens a link removes it.
func TestDoctor(t *testing.T) {
	roots := shmclean.Roots{Shm: t.TempDir(), Proc: t.TempDir()}
	ns := filepath.Join(roots.Proc, "self/ns")
	require.NoError(t, os.MkdirAll(ns, 0o755))
	require.NoError(t, os.Symlink("pid:[4026531836]", filepath.Join(ns, "pid"))) // the machine's first
	const gone = 4711
	region := filepath.Join(roots.Shm, fmt.Sprintf("%d:%d:0", gone, os.Getuid()))
	require.NoError(t, os.WriteFile(region, []byte("left behind"), 0o600))

	doctor := func(clean bool) (string, error) {
		var out bytes.Buffer
		c := doctorCmd{Clean: clean, roots: roots}
		err := c.Run(&app{ctx: t.Context(), out: &out, err: &out})
		return out.String(), err
	}
	out, err := doctor(false)
	require.ErrorIs(t, err, errQuiet)
	require.Regexp(t, `!! +│ stale regions in /dev/shm +│ 1: remove them with lnx doctor --clean`, out)
	require.FileExists(t, region)

	out, err = doctor(true)
	require.NoError(t, err, out)
	require.Contains(t, out, fmt.Sprintf("left by process %d, removed", gone))
	require.NoFileExists(t, region)
	require.Regexp(t, `provider shm +│ shm`, out)
}
