package launch

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Machines that there are of this kind.
var (
	// fourNICs has a NIC at each of four nodes, crosswise.
	fourNICs = tree{}.nodes("0-15,64-79", "16-31,80-95", "32-47,96-111", "48-63,112-127").
			nic("cxi", "cxi0", 3).nic("cxi", "cxi1", 1).nic("cxi", "cxi2", 0).nic("cxi", "cxi3", 2).
			nic("net", "eth0", 0).nic("net", "hsn0", 3)
	// oneSide has all NICs at the first of two sockets.
	oneSide = tree{}.nodes("0-7", "8-15").
		nic("infiniband", "mlx5_0", 0).nic("infiniband", "mlx5_1", 0).nic("net", "eth0", 0)
	// plain says nothing of nodes, as some virtual machines and containers.
	plain = tree{}.nic("net", "eth0", -1).nic("net", "eth1", -1).with("sys/class/net/lo/operstate", "unknown")
)

// short writes a placement as node:NIC@distance for each rank.
func short(all []Placement) string {
	var parts []string
	for _, p := range all {
		parts = append(parts, fmt.Sprintf("%d:%s@%d", p.Node, p.NIC, p.Distance))
	}
	return strings.Join(parts, " ")
}

func TestPlace(t *testing.T) {
	for _, c := range []struct {
		name    string
		machine tree
		wish    Wish
		want    string
	}{
		{"a rank for each node", fourNICs, Wish{Ranks: 4}, "0:cxi2@10 1:cxi1@10 2:cxi3@10 3:cxi0@10"},
		{"two ranks for each node", fourNICs, Wish{Ranks: 8}, "0:cxi2@10 0:cxi2@10 1:cxi1@10 1:cxi1@10 2:cxi3@10 2:cxi3@10 3:cxi0@10 3:cxi0@10"},
		{"fewer ranks than nodes", fourNICs, Wish{Ranks: 2}, "0:cxi2@10 2:cxi3@10"},
		{"one rank", fourNICs, Wish{Ranks: 1}, "0:cxi2@10"},
		{"an uneven number", fourNICs, Wish{Ranks: 3}, "0:cxi2@10 1:cxi1@10 2:cxi3@10"},
		{"processors of one node", fourNICs, Wish{Ranks: 2, CPUs: []int{20, 21}}, "1:cxi1@10 1:cxi1@10"},
		{"processors of two nodes, not as many", fourNICs, Wish{Ranks: 4, CPUs: []int{0, 1, 2, 48}}, "0:cxi2@10 0:cxi2@10 0:cxi2@10 3:cxi0@10"},
		{"a processor of no node", fourNICs, Wish{Ranks: 2, CPUs: []int{0, 500}}, "0:cxi2@10 -1:cxi0@-1"},
		{"NICs of choice, the near ones before", fourNICs, Wish{Ranks: 4, NICs: []string{"cxi[01]"}}, "0:cxi1@12 1:cxi1@10 2:cxi0@12 3:cxi0@10"},
		{"NICs of choice, of other kinds", fourNICs, Wish{Ranks: 2, NICs: []string{"nosuch", "eth*"}}, "0:eth0@10 2:eth0@32"},
		{"what the user says", fourNICs, Wish{Ranks: 2, Device: "cxi0"}, "0:cxi0@32 2:cxi0@12"},
		{"what the user says in patterns", fourNICs, Wish{Ranks: 2, Device: "cxi*,eth0"}, "0:cxi*,eth0@-1 2:cxi*,eth0@-1"},
		{"NICs equally near are shared out", oneSide, Wish{Ranks: 4}, "0:mlx5_0@10 0:mlx5_1@10 1:mlx5_0@12 1:mlx5_1@12"},
		{"nothing is known of nodes", plain, Wish{Ranks: 3}, "-1:eth0@-1 -1:eth1@-1 -1:eth0@-1"},
		{"a NIC without hardware, if asked for", plain, Wish{Ranks: 1, NICs: []string{"lo"}}, "-1:lo@-1"},
		{"no NIC", tree{}.nodes("0-1").with("sys/class/net/lo/operstate", "unknown"), Wish{Ranks: 2}, "0:@-1 0:@-1"},
		{"an empty machine", tree{}, Wish{Ranks: 2}, "-1:@-1 -1:@-1"},
		{
			"a NIC that is down",
			tree{}.nodes("0-1", "2-3").nic("net", "eth0", 0).nic("net", "eth1", 1).with("sys/class/net/eth0/operstate", "down"),
			Wish{Ranks: 2}, "0:eth1@12 1:eth1@10",
		},
		{
			"all NICs are down",
			tree{}.nodes("0-1").nic("net", "eth0", 0).with("sys/class/net/eth0/operstate", "down"),
			Wish{Ranks: 1}, "0:eth0@10",
		},
		{
			"a NIC that is far before one of which nothing is known",
			tree{}.nodes("0-1", "", "2-3").nic("cxi", "cxi0", -1).nic("cxi", "cxi1", 2),
			Wish{Ranks: 2}, "0:cxi1@32 2:cxi1@10",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.machine.machine().Place(c.wish)
			require.NoError(t, err)
			require.Equal(t, c.want, short(got))
			for i, p := range got {
				require.Equal(t, i, p.Rank)
			}
		})
	}
}

func TestPlaceCPUs(t *testing.T) {
	m := fourNICs.machine()
	got, err := m.Place(Wish{Ranks: 2, CPUs: []int{1, 2, 16, 17, 64, 500}})
	require.NoError(t, err)
	require.Equal(t, "1-2,64", FormatCPUs(got[0].CPUs))
	require.Equal(t, "16-17", FormatCPUs(got[1].CPUs))
	require.Equal(t, "0-15,64-79", FormatCPUs(m.Nodes[0].CPUs), "the machine is as it was")

	got, err = tree{}.machine().Place(Wish{Ranks: 1, CPUs: []int{0, 1}})
	require.NoError(t, err)
	require.Equal(t, "0-1", FormatCPUs(got[0].CPUs))
}

func TestPlaceErrors(t *testing.T) {
	m := fourNICs.machine()
	_, err := m.Place(Wish{Ranks: 1, NICs: []string{"mlx*", "ib0"}})
	require.EqualError(t, err, "no NIC fits mlx*,ib0: there are cxi0, cxi1, cxi2, cxi3, eth0, hsn0")
	_, err = m.Place(Wish{Ranks: 1, NICs: []string{"cxi["}})
	require.ErrorContains(t, err, `"cxi[" is no pattern`)
	_, err = tree{}.machine().Place(Wish{Ranks: 1, NICs: []string{"*"}})
	require.ErrorContains(t, err, "there is none")
}

// Whatever the machine, no NIC that is nearer was there to be had, ranks ascend with
// nodes, and no node has two ranks more than its share of the processors.
func TestPlaceProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		made := tree{}
		var cpus []string
		for i := range rapid.IntRange(1, 4).Draw(t, "nodes") {
			cpus = append(cpus, fmt.Sprintf("%d-%d", 10*i, 10*i+rapid.IntRange(0, 9).Draw(t, "cpus")))
		}
		made.nodes(cpus...)
		for i := range rapid.IntRange(0, 4).Draw(t, "NICs") {
			made.nic("cxi", fmt.Sprint("cxi", i), rapid.IntRange(-1, len(cpus)-1).Draw(t, "node"))
		}
		m := made.machine()
		ranks := rapid.IntRange(1, 40).Draw(t, "ranks")
		all, err := m.Place(Wish{Ranks: ranks})
		require.NoError(t, err)
		total := 0
		for _, n := range m.Nodes {
			total += len(n.CPUs)
		}
		at := map[int]int{}
		for i, p := range all {
			at[p.Node]++
			if i > 0 {
				require.GreaterOrEqual(t, p.Node, all[i-1].Node)
			}
			for _, nic := range m.NICs {
				require.False(t, isNearer(m.Nodes[p.Node].distance(nic), p.Distance), "%+v, and %+v is nearer", p, nic)
			}
		}
		for _, n := range m.Nodes {
			require.InDelta(t, float64(ranks)*float64(len(n.CPUs))/float64(total), at[n.ID], 1)
		}
	})
}
