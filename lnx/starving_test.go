package lnx_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"golnx/internal/twoproc"
	"golnx/lnx"
)

// holdings are what a process must not have more of after an endpoint was closed.
type holdings struct {
	FDs, Regions []string
	Goroutines   int
	RSS          int // bytes
}

func held(t require.TestingT) (h holdings) {
	fds, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, fd := range fds {
		// the one that the directory was read with is gone by now
		if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil {
			kind, _, _ := strings.Cut(to, ":[") // numbers differ
			h.FDs = append(h.FDs, kind)
		}
	}
	h.Regions, err = filepath.Glob("/dev/shm/" + strconv.Itoa(os.Getpid()) + ":*")
	require.NoError(t, err)
	h.Goroutines = runtime.NumGoroutine()
	statm, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	pages, err := strconv.Atoi(strings.Fields(string(statm))[1])
	require.NoError(t, err)
	h.RSS = pages * os.Getpagesize()
	return h
}

// starvingRole opens an endpoint with too few descriptors, then with one more, and
// so on until it works.
var starvingRole = twoproc.NewRole("starving", func(c *twoproc.Child) {
	var link choice
	c.Get(&link)
	open := func() error {
		l, err := lnx.Links(link.options())
		require.NoError(c, err)
		ep, err := lnx.Open(l.Links[0])
		if err == nil {
			err = ep.Close()
		}
		return err
	}
	require.NoError(c, open()) // what libfabric keeps for ever
	fillHoles(c)
	before := held(c)
	free := len(before.FDs)
	var old unix.Rlimit
	require.NoError(c, unix.Getrlimit(unix.RLIMIT_NOFILE, &old))
	failed := 0
	for more := -8; ; more++ { // descriptors that are open stay open
		require.Less(c, more, 200)
		require.NoError(c, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(free + more), Max: old.Max}))
		err := open()
		require.NoError(c, unix.Setrlimit(unix.RLIMIT_NOFILE, &old))
		after := held(c)
		if err != nil && strings.Contains(err.Error(), "fi_enable") {
			// libfabric 2.1 crashes if such an endpoint is closed: it is left open
			free += len(after.FDs) - len(before.FDs)
			before.FDs = after.FDs
		}
		require.ElementsMatch(c, before.FDs, after.FDs, "with room for %d: %v", more, err)
		require.Equal(c, before.Regions, after.Regions, "with room for %d: %v", more, err)
		require.LessOrEqual(c, after.Goroutines, before.Goroutines)
		if err == nil {
			break
		}
		failed++
	}
	c.Put(failed)
})

// fillHoles takes every descriptor number below the highest in use, so that the
// limit on numbers is one on their count.
func fillHoles(c *twoproc.Child) {
	fds, err := os.ReadDir("/proc/self/fd")
	require.NoError(c, err)
	highest := 0
	for _, fd := range fds {
		n, err := strconv.Atoi(fd.Name())
		require.NoError(c, err)
		highest = max(highest, n)
	}
	for {
		fd, err := unix.Dup(0)
		require.NoError(c, err)
		if fd > highest {
			require.NoError(c, unix.Close(fd))
			return
		}
	}
}

// Opening that fails half-way, for want of descriptors, closes what it opened.
func TestOpenStarving(t *testing.T) {
	onLinks(t, func(t *testing.T, c choice) {
		p := starvingRole.Start(t, 60*time.Second)
		p.Put(c)
		var failed int
		p.Get(&failed)
		t.Logf("failed %d times", failed)
		require.Positive(t, failed)
		p.Wait()
	})
}
