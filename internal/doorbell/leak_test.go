package doorbell_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"golnx/internal/doorbell"
	"golnx/internal/twoproc"
)

func TestLeak(t *testing.T) {
	name := newBell(t, token).Name()
	before := held(t)
	for i := range 1000 {
		b, err := doorbell.New(uint64(i))
		require.NoError(t, err)
		r, err := doorbell.Open(b.Name())
		require.NoError(t, err)
		b.Arm()
		r.Ring()
		if i%2 == 0 {
			require.NoError(t, r.Close())
		}
		require.NoError(t, b.Close())
		require.NoError(t, r.Close())

		r, err = doorbell.Open(name)
		require.NoError(t, err)
		require.NoError(t, r.Close())
	}
	require.Equal(t, before, held(t))
}

// scarce runs f with ever more descriptors to take until it succeeds, and answers
// how often it failed. What fails takes none.
func scarce(c *twoproc.Child, f func() error) (failures int) {
	var old unix.Rlimit
	require.NoError(c, unix.Getrlimit(unix.RLIMIT_NOFILE, &old))
	lowest, err := unix.Dup(0) // the first one that is free
	require.NoError(c, err)
	require.NoError(c, unix.Close(lowest))
	for allowed := lowest; ; allowed++ {
		before := held(c)
		require.NoError(c, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(allowed), Max: old.Max}))
		err := f()
		require.NoError(c, unix.Setrlimit(unix.RLIMIT_NOFILE, &old))
		if err == nil {
			return failures
		}
		failures++
		require.ErrorIs(c, err, doorbell.ErrUnavailable)
		require.ErrorIs(c, err, unix.EMFILE)
		require.Equal(c, before, held(c))
	}
}

var withoutDescriptors = twoproc.NewRole("without descriptors", func(c *twoproc.Child) {
	var b *doorbell.Bell
	failures := [2]int{
		scarce(c, func() (err error) { b, err = doorbell.New(token); return err }),
		scarce(c, func() (err error) { _, err = doorbell.Open(b.Name()); return err }),
	}
	c.Put(failures)
})

// Each descriptor that cannot be had is an error, and what was had is given back.
func TestOutOfDescriptors(t *testing.T) {
	p := withoutDescriptors.Start(t, limit)
	var failures [2]int
	p.Get(&failures)
	p.Wait()
	require.GreaterOrEqual(t, failures[0], 3, "New takes the pipe's two, and the memfd")
	require.GreaterOrEqual(t, failures[1], 2, "Open holds two at a time")
}
