package lnx_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/internal/netns"
	"golnx/internal/twoproc"
	"golnx/lnx"
)

// refused opens a link whose shm region cannot be made.
var refused = twoproc.NewRole("refused", func(c *twoproc.Child) {
	dir := fmt.Sprintf("/dev/shm/%d:%d:0", os.Getpid(), os.Getuid())
	require.NoError(c, os.Mkdir(dir, 0o700))
	l, err := lnx.Links(lnx.Options{Links: "shm+tcp:lo", Lookup: noEnv})
	require.NoError(c, err)
	_, err = lnx.Open(l.Links[0])
	require.NoError(c, os.Remove(dir))
	require.ErrorContains(c, err, "shm")
	c.Put(true)
})

// Open answers an error when shm cannot make its region, and does not crash.
func TestShmRefused(t *testing.T) {
	p := refused.Start(t, limit)
	var ok bool
	p.Get(&ok)
	p.Wait()
}

// Process numbers of another PID namespace mean other processes here, and shm
// reads and writes their memory by them (process_vm_readv).
func TestPIDNamespaces(t *testing.T) {
	t.Cleanup(func() {
		left, _ := filepath.Glob("/dev/shm/1:*")
		for _, f := range left {
			_ = os.Remove(f)
		}
	})
	l := farLink{Links: "shm+tcp:lo"}
	f := flow{Count: 60, Sizes: []int{4, 4096, 4097, 100_000}, Window: 8}
	a, near, other := startFar(t, netns.Place{}), startFar(t, netns.Place{}), startFar(t, netns.Place{OwnPID: true})
	p := connect(t, a, near, l)
	p.run(f)
	p.reverse().run(f)
	p = introduce(t, p.a, other.open(l))
	p.run(f)
	p.reverse().run(f)
	require.Zero(t, p.b.stats()[0].TSends, "over shm")
	require.Equal(t, uint64(f.Count), p.b.stats()[1].TSends)
	a.Wait()
	near.Wait()
	other.Wait()
}
