package lnx

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

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
