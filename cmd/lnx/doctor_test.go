package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A region that a process left behind is found, and removed when that is asked for.
func TestDoctor(t *testing.T) {
	if ns, err := os.Readlink("/proc/self/ns/pid"); err != nil || ns != "pid:[4026531836]" {
		t.Skipf("in a container: whose regions are stale cannot be told in PID namespace %s", ns)
	}
	gone := exec.Command("true")
	require.NoError(t, gone.Run())
	region := filepath.Join("/dev/shm", fmt.Sprintf("%d:%d:0", gone.Process.Pid, os.Getuid()))
	require.NoError(t, os.WriteFile(region, []byte("left behind"), 0o600))
	t.Cleanup(func() { _ = os.Remove(region) })

	got := within(t, "doctor")
	require.Equal(t, exitFailed, got.code, got.stdout)
	require.Contains(t, got.stdout, "lnx doctor --clean")
	require.FileExists(t, region)

	got = within(t, "doctor", "--clean")
	require.Equal(t, exitOK, got.code, got.stdout)
	require.Contains(t, got.stdout, fmt.Sprintf("left by process %d, removed", gone.Process.Pid))
	require.NoFileExists(t, region)
	require.Regexp(t, `provider shm +│ shm`, got.stdout)
}
