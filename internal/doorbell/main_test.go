package doorbell_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"golnx/internal/doorbell"
	"golnx/internal/twoproc"
)

const (
	token = 0x1122334455667788
	limit = 60 * time.Second // of a process
)

func TestMain(m *testing.M) { twoproc.Main(m) }

func newBell(t testing.TB, token uint64) *doorbell.Bell {
	b, err := doorbell.New(token)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

func open(t testing.TB, n doorbell.Name) *doorbell.Ringer {
	r, err := doorbell.Open(n)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// rings is how many bytes are in the bell's pipe (FIONREAD).
func rings(t testing.TB, b *doorbell.Bell) int {
	n, err := unix.IoctlGetInt(b.FD(), unix.TIOCINQ)
	require.NoError(t, err)
	return n
}

// held are the process's descriptors with what they refer to, and its mapped pages.
func held(t require.TestingT) []string {
	links, err := filepath.Glob("/proc/self/fd/*")
	require.NoError(t, err)
	var all []string
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil { // else it was Glob's own
			all = append(all, fmt.Sprint(l, " ", to))
		}
	}
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, "golnx-doorbell") {
			all = append(all, strings.Fields(line)[0])
		}
	}
	return all
}
