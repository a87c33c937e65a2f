package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/cmd/lnx/bench"
	"golnx/lnx"
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

// The times of a size are of its quickest run, with what that one counted.
func TestDemoTimesTheQuickest(t *testing.T) {
	t.Setenv(asCommand, "1") // the other end is this binary
	err := withChild(&app{ctx: t.Context(), out: io.Discard, err: io.Discard}, &linkFlags{Links: "shm"}, patience, nil, func(s *bench.Session, ep *lnx.Endpoint) error {
		p, err := demoParams(512)
		require.NoError(t, err)
		start := time.Now()
		best, err := quickest(&app{err: io.Discard}, s, p, ep.Link().Rails)
		require.NoError(t, err)
		require.LessOrEqual(t, demoRuns*best.Value.(float64), time.Since(start).Seconds())
		require.EqualValues(t, p.Iters, best.Rails[0].Tx)
		return nil
	})
	require.NoError(t, err)
}
