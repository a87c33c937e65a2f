package launch

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// tree is a made machine: files and what is in them.
type tree map[string]string

func (t tree) machine() Machine {
	root := fstest.MapFS{}
	for name, text := range t {
		root[name] = &fstest.MapFile{Data: []byte(text + "\n")}
	}
	return Read(root)
}

// nodes adds NUMA nodes with these processors, 12 from one another but those two by two.
func (t tree) nodes(cpus ...string) tree {
	for i, list := range cpus {
		var distances []string
		for j := range cpus {
			d := 32
			switch {
			case i == j:
				d = 10
			case i/2 == j/2:
				d = 12
			}
			distances = append(distances, strconv.Itoa(d))
		}
		t[fmt.Sprintf("sys/devices/system/node/node%d/cpulist", i)] = list
		t[fmt.Sprintf("sys/devices/system/node/node%d/distance", i)] = strings.Join(distances, " ")
	}
	return t
}

// nic adds a NIC at a node.
func (t tree) nic(class, name string, node int) tree {
	t["sys/class/"+class+"/"+name+"/device/numa_node"] = strconv.Itoa(node)
	return t
}

// with adds a file.
func (t tree) with(name, text string) tree {
	t[name] = text
	return t
}

func TestRead(t *testing.T) {
	m := tree{}.nodes("0-3,8-11", "4-7,12-15").
		nic("cxi", "cxi10", 1).nic("cxi", "cxi2", 0).
		nic("infiniband", "mlx5_0", -1).
		nic("net", "eth0", 0).
		with("sys/class/cxi/cxi2/device/net/hsn0/operstate", "down").
		with("sys/class/cxi/cxi10/device/net/hsn1/operstate", "up").
		with("sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN").
		with("sys/class/infiniband/mlx5_0/ports/2/state", "4: ACTIVE").
		with("sys/class/net/eth0/operstate", "down").
		with("sys/class/net/lo/operstate", "unknown").
		with("sys/class/net/bonding_masters", "").
		with("sys/devices/system/node/has_cpu", "0-1").
		machine()
	require.Equal(t, Machine{
		Nodes: []Node{
			{0, []int{0, 1, 2, 3, 8, 9, 10, 11}, map[int]int{0: 10, 1: 12}},
			{1, []int{4, 5, 6, 7, 12, 13, 14, 15}, map[int]int{0: 12, 1: 10}},
		},
		NICs: []NIC{
			{"cxi2", "cxi", 0, true, true},
			{"cxi10", "cxi", 1, true, false},
			{"mlx5_0", "infiniband", Unknown, true, false},
			{"eth0", "net", 0, true, true},
			{"lo", "net", Unknown, false, false},
		},
	}, m)
}

// What cannot be read is missing, and nothing else is.
func TestReadBroken(t *testing.T) {
	require.Equal(t, Machine{}, tree{}.machine())
	m := tree{}.nodes("0-1", "2-3").
		with("sys/devices/system/node/node0/distance", "10 far").
		with("sys/devices/system/node/node1/distance", "12").
		with("sys/devices/system/node/node7/cpulist", "1-0").
		with("sys/devices/system/node/nodex/cpulist", "1").
		with("sys/devices/system/node/node-1/cpulist", "1").
		with("sys/class/net/eth0/device/numa_node", "none").
		machine()
	require.Equal(t, []Node{{0, []int{0, 1}, nil}, {1, []int{2, 3}, nil}}, m.Nodes)
	require.Equal(t, []NIC{{"eth0", "net", Unknown, true, false}}, m.NICs)
}

// The columns of the distances are the nodes that there are, which may have gaps.
func TestReadNodesWithGaps(t *testing.T) {
	m := tree{
		"sys/devices/system/node/node0/cpulist":   "0-1",
		"sys/devices/system/node/node0/distance":  "10 20 80",
		"sys/devices/system/node/node8/cpulist":   "2-3",
		"sys/devices/system/node/node8/distance":  "20 10 90",
		"sys/devices/system/node/node10/cpulist":  "",
		"sys/devices/system/node/node10/distance": "80 90 10",
	}.machine()
	require.Equal(t, []Node{
		{0, []int{0, 1}, map[int]int{0: 10, 8: 20, 10: 80}},
		{8, []int{2, 3}, map[int]int{0: 20, 8: 10, 10: 90}},
		{10, nil, map[int]int{0: 80, 8: 90, 10: 10}},
	}, m.Nodes)
}

func TestCPUs(t *testing.T) {
	for text, want := range map[string][]int{
		"": nil, "0": {0}, "0-3": {0, 1, 2, 3}, "0-1,8-9": {0, 1, 8, 9}, "3,1": {1, 3}, "1-2,2-3": {1, 2, 3},
	} {
		got, err := parseCPUs(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"x", "1-", "-1", "2-1", "0,", "0-99999999999", "65536", "0-1-2"} {
		_, err := parseCPUs(text)
		require.ErrorContains(t, err, "no list of processors", text)
	}
	require.Equal(t, "0-3,8,10-11", FormatCPUs([]int{0, 1, 2, 3, 8, 10, 11}))
	require.Empty(t, FormatCPUs(nil))
}

func FuzzCPUs(f *testing.F) {
	f.Add("0-7,64-71")
	f.Fuzz(func(t *testing.T, text string) {
		cpus, err := parseCPUs(text)
		if err != nil {
			return
		}
		again, err := parseCPUs(FormatCPUs(cpus))
		require.NoError(t, err)
		require.Equal(t, cpus, again)
	})
}
