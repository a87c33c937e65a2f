package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

	asJSON := false
	doctor := func(clean bool) (string, error) {
		var out bytes.Buffer
		c := doctorCmd{Clean: clean, JSON: asJSON, roots: roots}
		err := c.Run(&app{ctx: t.Context(), out: &out, err: &out})
		return out.String(), err
	}
	out, err := doctor(false)
	require.ErrorIs(t, err, errQuiet)
	require.Regexp(t, `!! +│ stale regions in /dev/shm +│ 1: remove them with lnx doctor --clean`, out)
	require.FileExists(t, region)

	asJSON = true
	out, err = doctor(false)
	require.ErrorIs(t, err, errQuiet)
	var report doctorJSON
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	require.False(t, report.OK)
	require.Contains(t, report.Findings, findingJSON{false, "stale regions in /dev/shm", "1: remove them with lnx doctor --clean"})
	require.FileExists(t, region)
	asJSON = false

	out, err = doctor(true)
	require.NoError(t, err, out)
	require.Contains(t, out, fmt.Sprintf("left by process %d, removed", gone))
	require.NoFileExists(t, region)
	require.Regexp(t, `provider shm +│ shm`, out)
}

// The links that the environment asks for are tried, and what is found is there for
// programs to read.
func TestDoctorOfEnvironment(t *testing.T) {
	for links, want := range map[string]findingJSON{
		"shm+tcp:lo": {true, "FI_LNX_PROV_LINKS", "shm+tcp:lo: can be opened as shm+tcp;ofi_rxm:lo"},
		"tcp:nosuch": {false, "FI_LNX_PROV_LINKS", `provider tcp;ofi_rxm has no domain "nosuch"`},
		"shm+":       {false, "FI_LNX_PROV_LINKS", "shm+: FI_LNX_PROV_LINKS: link spec, column 5: found"},
	} {
		t.Setenv("FI_LNX_PROV_LINKS", links)
		got := within(t, "doctor", "--json")
		var report doctorJSON
		require.NoError(t, json.Unmarshal([]byte(got.stdout), &report), got.stdout)
		require.Empty(t, got.stderr)
		require.Equal(t, got.code == exitOK, report.OK)
		i := slices.IndexFunc(report.Findings, func(f findingJSON) bool { return f.What == want.What })
		require.Equal(t, want.OK, report.Findings[i].OK)
		require.Contains(t, report.Findings[i].Found, want.Found)
		if !want.OK {
			require.Equal(t, exitFailed, got.code)
		}
	}
}
