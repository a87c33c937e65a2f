package livekeys_test

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"golnx/internal/livekeys"
)

var mem = livekeys.Memory{Start: 1000, Len: 100, Access: 3}

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
	require.False(t, view.Enter(5, mem))
	require.True(t, table.Add(5, mem))
	require.False(t, table.Add(5, mem), "taken")
	require.True(t, view.Enter(5, mem))
	view.Leave(5)
	require.False(t, view.Enter(6, mem))
	table.Remove(5)
	require.False(t, view.Enter(5, mem))
	require.True(t, table.Add(5, mem))
	require.False(t, table.Add(0, mem))
	require.False(t, view.Enter(0, mem))
	require.Zero(t, testing.AllocsPerRun(100, func() { view.Enter(5, mem); view.Leave(5) }))
}

// Keys that share a place do not pass for each other.
func TestSharedPlace(t *testing.T) {
	table, view := open(t)
	require.True(t, table.Add(1, mem))
	other := uint64(0)
	for key := uint64(2); other == 0; key++ {
		if table.Add(key, mem) {
			table.Remove(key)
		} else {
			other = key
		}
	}
	require.False(t, view.Enter(other, mem))
	table.Remove(other)
	require.True(t, view.Enter(1, mem))
	view.Leave(1)
}

// Nobody enters once Remove has been called and the key is not in use.
func TestInUse(t *testing.T) {
	table, view := open(t)
	var in, removed atomic.Bool
	var wrong atomic.Int64
	var wg sync.WaitGroup
	for key := uint64(1); key <= 200; key++ {
		require.True(t, table.Add(key, mem))
		in.Store(false)
		removed.Store(false)
		for range 4 {
			wg.Go(func() {
				for view.Enter(key, mem) {
					in.Store(true)
					if removed.Load() {
						wrong.Add(1)
					}
					view.Leave(key)
				}
			})
		}
		for !in.Load() {
			runtime.Gosched()
		}
		table.Remove(key)
		for table.InUse(key) {
			runtime.Gosched()
		}
		removed.Store(true)
		wg.Wait()
	}
	require.Zero(t, wrong.Load())
}

// A process that was killed in between costs one place.
func TestNeverLeft(t *testing.T) {
	table, view := open(t)
	require.True(t, table.Add(9, mem))
	require.True(t, table.Add(10, mem))
	require.True(t, view.Enter(9, mem))
	require.Equal(t, []uint64{9}, table.RemoveAll())
	require.False(t, view.Enter(9, mem))
	require.False(t, table.Add(9, mem))
	require.True(t, table.Add(10, mem))
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
	require.True(t, table.Add(3, mem))
	require.True(t, table.Add(4, mem))
	other, err := livekeys.Open(table.Name())
	require.NoError(t, err)
	require.NoError(t, view.Close())
	require.False(t, view.Enter(3, mem))
	view.Leave(3)
	require.NoError(t, table.Close())
	require.NoError(t, table.Close())
	require.False(t, table.Add(4, mem))
	table.Remove(3)
	require.False(t, other.Enter(4, mem), "the table has gone")
	require.NoError(t, other.Close())
}

// A key is good for its memory and access, and no more.
func TestRange(t *testing.T) {
	table, view := open(t)
	require.True(t, table.Add(3, mem))
	for _, c := range []struct {
		want livekeys.Memory
		good bool
	}{
		{mem, true},
		{livekeys.Memory{Start: 1000, Len: 0}, true},
		{livekeys.Memory{Start: 1100, Len: 0, Access: 1}, true},
		{livekeys.Memory{Start: 1050, Len: 50, Access: 2}, true},
		{livekeys.Memory{Start: 1050, Len: 51, Access: 2}, false},
		{livekeys.Memory{Start: 999, Len: 1}, false},
		{livekeys.Memory{Start: 1101, Len: 0}, false},
		{livekeys.Memory{Start: 1000, Len: 1, Access: 4}, false},
		{livekeys.Memory{Start: 1000, Len: ^uint64(0)}, false},
		{livekeys.Memory{Start: ^uint64(0), Len: 2}, false},
	} {
		require.Equal(t, c.good, view.Enter(3, c.want), "%v", c.want)
		if c.good {
			view.Leave(3)
		}
	}
	high := livekeys.Memory{Start: ^uint64(0) - 9, Len: 10}
	require.True(t, table.Add(4, high))
	require.True(t, view.Enter(4, high))
	view.Leave(4)
	require.False(t, view.Enter(4, livekeys.Memory{Start: 5, Len: 1}))
}
