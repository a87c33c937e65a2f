package lnx_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/internal/shmclean"
)

// Open removes what a killed process has left in /dev/shm, and nothing of those that
// live.
func TestOpenRemovesStaleRegions(t *testing.T) {
	shm := choice{Links: "shm"}
	regionsOf := func(a *agent) []string {
		files, err := filepath.Glob(fmt.Sprintf("/dev/shm/%d:*", a.Pid))
		require.NoError(t, err)
		return files
	}
	dead := startAgent(t, shm, limit)
	require.NotEmpty(t, regionsOf(dead))
	dead.Kill()
	left := regionsOf(dead)
	t.Cleanup(func() {
		for _, region := range left {
			_ = os.Remove(region) // it is gone, unless the test has failed or nobody could judge
		}
	})
	alive := startAgent(t, shm, limit)
	lives := regionsOf(alive)
	require.NotEmpty(t, lives)
	_, err := shmclean.Find(shmclean.Roots{})
	newNode(t, shm.options())
	if errors.Is(err, shmclean.ErrElsewhere) {
		require.Equal(t, left, regionsOf(dead), "whose they are cannot be told in a PID namespace of one's own: they stay")
	} else {
		require.NoError(t, err)
		require.Empty(t, regionsOf(dead))
	}
	require.Equal(t, lives, regionsOf(alive))
	alive.Wait()
	for _, region := range lives {
		_, err := os.Stat(region)
		require.ErrorIs(t, err, os.ErrNotExist, "closed")
	}
}
