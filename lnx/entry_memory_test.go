//go:build !race && !asan

package lnx_test

import (
	"fmt"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/internal/twoproc"
)

// entries are receives that are posted, or messages that are unexpected, in a process
// of their own: memory that others have freed there would hide what they take.
type entries struct {
	Choice     choice
	Unexpected bool
	Size       int // of the message, or of all buffers
	Parts      int // buffers of a receive
	Count      int
}

func (e entries) String() string {
	if e.Unexpected {
		return fmt.Sprintf("unexpected over %s, %d bytes", e.Choice.Links, e.Size)
	}
	return fmt.Sprintf("posted over %s, %d bytes in %d buffers", e.Choice.Links, e.Size, e.Parts)
}

var entriesRole = twoproc.NewRole("entries", func(c *twoproc.Child) {
	var e entries
	c.Get(&e)
	a, b := openNode(c, e.Choice.options()), openNode(c, e.Choice.options())
	toB, toA := a.insert(b.ep.Name()), b.insert(a.ep.Name())
	buf := payload(1, e.Size)
	iov := split(buf, max(1, e.Parts))
	add := func(n int) (resident int) {
		if e.Unexpected {
			for seen := b.unexpected() + uint64(n); n > 0 || b.unexpected() < seen; a.odd = nil {
				if n > 0 && a.ep.TSend(buf, toB, 1, nil) == nil {
					n--
				}
				a.poll()
				b.poll()
			}
		}
		for range n {
			require.NoError(c, b.ep.TRecvV(iov, toA, 1, 0, nil))
		}
		debug.FreeOSMemory()
		return held(c).RSS
	}
	before := add(e.Count / 10) // pools have begun to grow
	c.Put((add(e.Count) - before) / e.Count)
	require.NoError(c, a.ep.Close())
	require.NoError(c, b.ep.Close())
})

// What each entry of the queues takes in bytes, the provider's part included and the
// buffers of receives not. Buffers above 64 bytes are pinned, as are several. What
// providers would keep in far larger buffers (shm 32 KiB, rxm 16 KiB) is fetched.
func TestEntriesAtScale(t *testing.T) {
	shm, tcp := choice{Links: "shm"}, choice{Links: "tcp:lo"}
	for _, c := range []struct {
		entries
		most int
	}{
		{entries{shm, false, 64, 1, 100_000}, 700},
		{entries{shm, false, 65, 1, 100_000}, 800},
		{entries{shm, false, 400, 4, 100_000}, 800},
		{entries{tcp, false, 400, 4, 100_000}, 800},
		{entries{shm, true, 8, 0, 100_000}, 1024},
		{entries{shm, true, 192, 0, 100_000}, 1024},
		{entries{shm, true, 193, 0, 50_000}, 1024},
		{entries{shm, true, 4096, 0, 20_000}, 5300},
		{entries{tcp, true, 8, 0, 50_000}, 1024},
		{entries{tcp, true, 16_384, 0, 5000}, 18_000},
	} {
		t.Run(c.String(), func(t *testing.T) {
			p := entriesRole.Start(t, time.Minute)
			p.Put(c.entries)
			var each int
			p.Get(&each)
			p.Wait()
			t.Logf("%d bytes each", each)
			require.LessOrEqual(t, each, c.most)
			require.Greater(t, each, c.most/2, "what is promised can be lowered")
		})
	}
}
