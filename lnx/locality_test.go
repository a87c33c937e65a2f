package lnx_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/internal/netns"
)

// Which processes take each other for local follows from whether they can share
// memory, and from nothing else: not from their host names, nor their networks.
func TestLocality(t *testing.T) {
	hostA, hostB := netns.Join(t, "", "")
	const shm, lo, nic0 = "shm", "tcp;ofi_rxm:lo", "tcp;ofi_rxm:nic0"
	for _, c := range []struct {
		name string
		a, b netns.Place
		link farLink
		rail string
	}{
		{"one host", netns.Place{}, netns.Place{}, farLink{Links: "shm+tcp:lo"}, shm},
		{"own /dev/shm each", netns.Place{OwnShm: true}, netns.Place{OwnShm: true}, farLink{Links: "shm+tcp:lo"}, lo},
		{"own /dev/shm on one side", netns.Place{}, netns.Place{OwnShm: true}, farLink{Links: "shm+tcp:lo"}, lo},
		{"equal names in two networks", netns.Place{Host: hostA, Hostname: "node"}, netns.Place{Host: hostB, Hostname: "node"}, farLink{Links: "shm+tcp:nic0"}, shm},
		{"equal names in two networks, shm disabled", netns.Place{Host: hostA, Hostname: "node"}, netns.Place{Host: hostB, Hostname: "node"}, farLink{Links: "shm+tcp:nic0", DisableShm: true}, nic0},
		{"equal names in two networks, own /dev/shm", netns.Place{Host: hostA, Hostname: "node", OwnShm: true}, netns.Place{Host: hostB, Hostname: "node", OwnShm: true}, farLink{Links: "shm+tcp:nic0"}, nic0},
		{"two names in one network", netns.Place{Hostname: "a"}, netns.Place{Hostname: "b"}, farLink{Links: "shm+tcp:lo"}, shm},
		{"two IPC namespaces", netns.Place{OwnIPC: true}, netns.Place{OwnIPC: true}, farLink{Links: "shm+tcp:lo"}, shm},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := startFar(t, c.a), startFar(t, c.b)
			p := connect(t, a, b, c.link)
			f := flow{Count: 60, Sizes: []int{4, 4096, 4097, 100_000}, Window: 8}
			p.run(f)
			p.reverse().run(f)
			for _, ep := range []*farEP{p.a, p.b} {
				seen := false
				for _, s := range ep.stats() {
					n := uint64(0)
					if s.Name == c.rail {
						n, seen = uint64(f.Count), true
					}
					require.Equal(t, n, s.TSends, "%v", s)
					require.Equal(t, n, s.RxExpected+s.RxUnexpected, "%v", s)
					require.Zero(t, s.Errors, "%v", s)
				}
				require.True(t, seen, "no rail is called %s", c.rail)
			}
			a.Wait()
			b.Wait()
		})
	}
}
