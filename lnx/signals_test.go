package lnx_test

import (
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"golnx/internal/twoproc"
	"golnx/lnx"
)

// sigaction is the kernel's struct of that name: handler, flags, restorer and mask.
type sigaction [4]uint64

// signalActions are what the process does on each signal.
func signalActions(t require.TestingT) (all [65]sigaction) {
	for sig := 1; sig < len(all); sig++ {
		_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(&all[sig])), 8, 0, 0)
		require.Zero(t, errno, "signal %d", sig)
	}
	return all
}

// opensAtOnce opens endpoints from several goroutines, as the first in its process.
var opensAtOnce = twoproc.NewRole("opens at once", func(c *twoproc.Child) {
	l, err := lnx.Links(choice{Links: "shm"}.options())
	require.NoError(c, err)
	before := signalActions(c)
	const opens = 8
	errs := make(chan error, opens)
	var all sync.WaitGroup
	for range opens {
		all.Go(func() {
			ep, err := lnx.Open(l.Links[0])
			if err == nil {
				err = ep.Close()
			}
			errs <- err
		})
	}
	all.Wait()
	for range opens {
		require.NoError(c, <-errs)
	}
	for sig, action := range signalActions(c) {
		require.Equal(c, before[sig], action, "signal %d", sig)
	}
	c.Put(true)
})

// Go's signal actions are in place after endpoints were opened, also at once: shm
// sets its own for a while.
func TestSignalActionsStay(t *testing.T) {
	for range 12 {
		p := opensAtOnce.Start(t, limit)
		var done bool
		p.Get(&done)
		p.Wait()
	}
}
