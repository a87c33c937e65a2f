package livekeys_test

import (
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"golnx/internal/livekeys"
)

func open(t *testing.T) (*livekeys.Table, *livekeys.View) {
	t.Helper()
	table, err := livekeys.New(77)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, table.Close()) })
	view, err := livekeys.Open(livekeys.ParseName(table.Name().AppendTo(nil)))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, view.Close()) })
	return table, view
}

func TestKeys(t *testing.T) {
	table, view := open(t)
	require.False(t, view.Enter(5))
	require.True(t, table.Add(5))
	require.False(t, table.Add(5), "taken")
	require.True(t, view.Enter(5))
	view.Leave(5)
	require.False(t, view.Enter(6))
	table.Remove(5)
	require.False(t, view.Enter(5))
	require.True(t, table.Add(5))
	require.False(t, table.Add(0))
	require.False(t, view.Enter(0))
	require.Zero(t, testing.AllocsPerRun(100, func() { view.Enter(5); view.Leave(5) }))
}

// Keys that share a place do not pass for each other.
func TestSharedPlace(t *testing.T) {
	table, view := open(t)
	require.True(t, table.Add(1))
	other := uint64(0)
	for key := uint64(2); other == 0; key++ {
		if table.Add(key) {
			table.Remove(key)
		} else {
			other = key
		}
	}
	require.False(t, view.Enter(other))
	table.Remove(other)
	require.True(t, view.Enter(1))
	view.Leave(1)
}

// Nobody is between Enter and Leave when Remove has returned.
func TestRemoveWaits(t *testing.T) {
	table, view := open(t)
	var in, removed atomic.Bool
	var wrong atomic.Int64
	var wg sync.WaitGroup
	for key := uint64(1); key <= 200; key++ {
		require.True(t, table.Add(key))
		in.Store(false)
		removed.Store(false)
		for range 4 {
			wg.Go(func() {
				for view.Enter(key) {
					in.Store(true)
					if removed.Load() {
						wrong.Add(1)
					}
					view.Leave(key)
				}
			})
		}
		for !in.Load() {
		}
		table.Remove(key)
		removed.Store(true)
		wg.Wait()
	}
	require.Zero(t, wrong.Load())
}

// A process that was killed in between costs one wait and one place.
func TestNeverLeft(t *testing.T) {
	table, view := open(t)
	require.True(t, table.Add(9))
	require.True(t, view.Enter(9))
	table.Remove(9)
	require.False(t, view.Enter(9))
	require.False(t, table.Add(9))
	require.True(t, table.Add(10))
}

func TestOpenNothingElse(t *testing.T) {
	table, _ := open(t)
	bad := func(change func(*livekeys.Name)) {
		t.Helper()
		n := table.Name()
		change(&n)
		_, err := livekeys.Open(n)
		require.ErrorIs(t, err, livekeys.ErrUnavailable)
	}
	bad(func(n *livekeys.Name) { n.Token++ })
	bad(func(n *livekeys.Name) { n.PID = 0 })
	bad(func(n *livekeys.Name) { n.PID = 1 << 30 })
	bad(func(n *livekeys.Name) { n.FD = -1 })
	bad(func(n *livekeys.Name) { n.FD = 1 << 20 })
	f, err := os.Open("/dev/null")
	require.NoError(t, err)
	defer f.Close()
	bad(func(n *livekeys.Name) { n.FD = int32(f.Fd()) })
	fd, err := unix.MemfdCreate("golnx-keys", 0)
	require.NoError(t, err)
	defer unix.Close(fd)
	bad(func(n *livekeys.Name) { n.FD = int32(fd) })
	n := table.Name()
	require.NoError(t, table.Close())
	_, err = livekeys.Open(n)
	require.ErrorIs(t, err, livekeys.ErrUnavailable)
}

func TestClosed(t *testing.T) {
	table, view := open(t)
	require.True(t, table.Add(3))
	require.True(t, table.Add(4))
	other, err := livekeys.Open(table.Name())
	require.NoError(t, err)
	require.NoError(t, view.Close())
	require.False(t, view.Enter(3))
	view.Leave(3)
	require.NoError(t, table.Close())
	require.NoError(t, table.Close())
	require.False(t, table.Add(4))
	table.Remove(3)
	require.False(t, other.Enter(4), "the table has gone")
	require.NoError(t, other.Close())
}
