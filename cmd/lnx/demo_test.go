package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A link that has shared memory only, or none, is shown once.
func TestDemoSkipsWhatShowsNothingNew(t *testing.T) {
	for links, why := range map[string]string{
		"shm":    "link shm has nothing but shared memory",
		"tcp:lo": "link tcp;ofi_rxm:lo has no shared memory",
	} {
		t.Run(links, func(t *testing.T) {
			got := execute(t, "demo", "--links", links)
			require.Zero(t, got.code, got.stderr)
			require.Regexp(t, `FI_LNX_DISABLE_SHM=0 [^\x00]*4 MiB[^\x00]*skipped: FI_LNX_DISABLE_SHM=1: `+why, got.stdout)
			require.Regexp(t, `\n\d+ messages verified`, got.stdout)
			require.Equal(t, 1, strings.Count(got.stdout, "Two processes, link "))
		})
	}
}
