package lnx

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"golnx/providers/sim"
	"golnx/rail"
)

// What is not mapped is on no node; what is, on one that the machine has.
func TestMemoryNode(t *testing.T) {
	require.Equal(t, -1, memoryNode(nil))
	buf := make([]byte, farMemory)
	buf[0] = 1
	if node := memoryNode(unsafe.Pointer(&buf[0])); node >= 0 { // else a container's rules forbid to ask
		require.DirExists(t, fmt.Sprintf("/sys/devices/system/node/node%d", node))
	}
}

// A policy of the user's is told where the caller is.
func TestOwnPolicyIsToldTheNode(t *testing.T) {
	here := stayHere(t)
	seen := make(chan int, 1)
	require.NoError(t, rail.RegisterPolicy("ASKING", func([]rail.Info, rail.Options) (rail.Policy, error) { return asking{seen: seen}, nil }))
	w := newSimWorld(t, 1, simRails(1, sim.Rail{}), Options{Policy: "ASKING"})
	_, err := w.send(0, 0, 7, nil)
	require.NoError(t, err)
	require.Equal(t, here, <-seen)
}

// asking is lastRail with a look at the caller's node.
type asking struct {
	lastRail
	seen chan int
}

func (a asking) Pick(r *rail.Rails, p *rail.Peer, c rail.Call) (int, rail.Why) {
	a.seen <- c.NUMA
	return a.lastRail.Pick(r, p, c)
}

// The distance table is read as the kernel writes it, or not at all.
func TestNodeDistances(t *testing.T) {
	for _, c := range []struct {
		name  string
		nodes map[string]string
		want  [][]int
	}{
		{"none", nil, nil},
		{"one", map[string]string{"node0": "10\n"}, [][]int{{10}}},
		{"two", map[string]string{"node0": "10 21\n", "node1": "21 10\n"}, [][]int{{10, 21}, {21, 10}}},
		{"a gap in the numbers", map[string]string{"node0": "10 21\n", "node2": "21 10\n"}, nil},
		{"no numbers", map[string]string{"node0": "10 far\n", "node1": "21 10\n"}, nil},
		{"empty", map[string]string{"node0": "\n"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			sys := t.TempDir()
			for node, text := range c.nodes {
				dir := filepath.Join(sys, "devices/system/node", node)
				require.NoError(t, os.MkdirAll(dir, 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(dir, "distance"), []byte(text), 0o644))
			}
			require.Equal(t, c.want, nodeDistances(sys))
		})
	}
}
