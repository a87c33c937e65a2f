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
	dead, alive := startAgent(t, shm, limit), startAgent(t, shm, limit)
	require.NotEmpty(t, regionsOf(dead))
	lives := regionsOf(alive)
	require.NotEmpty(t, lives)
	dead.Kill()
	if _, err := shmclean.Find(shmclean.Roots{}); errors.Is(err, shmclean.ErrElsewhere) {
		t.Skip(err)
	}
	newNode(t, shm.options())
	require.Empty(t, regionsOf(dead))
	require.Equal(t, lives, regionsOf(alive))
	alive.Wait()
	for _, region := range lives {
		_, err := os.Stat(region)
		require.ErrorIs(t, err, os.ErrNotExist, "closed")
	}
}
