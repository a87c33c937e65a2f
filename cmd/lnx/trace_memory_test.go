//go:build !race

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/internal/trace/synth"
)

// Three times as many operations take no more memory.
func TestTraceOfMillions(t *testing.T) {
	few, many := traced(t, synth.Config{Ops: 1_000_000}), traced(t, synth.Config{Ops: 3_000_000})
	for _, what := range []string{"summary", "report", "perfetto", "db", "plot"} {
		t.Run(what, func(t *testing.T) {
			of1, of3 := peak(t, what, few), peak(t, what, many)
			t.Logf("1,000,000: %d MiB, 3,000,000: %d MiB", of1>>20, of3>>20)
			require.Less(t, of3, of1+of1/4+16<<20, "bytes")
		})
	}
}

// peak answers the most memory in bytes that lnx trace had.
func peak(t *testing.T, what, dir string) int64 {
	t.Helper()
	args := []string{"trace", what, dir}
	if what != "summary" {
		args = append(args, "-o", filepath.Join(t.TempDir(), "out.gz"))
	}
	self, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 5*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	require.True(t, ok, fmt.Sprintf("%T", cmd.ProcessState.SysUsage()))
	return usage.Maxrss << 10
}
