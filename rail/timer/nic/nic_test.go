package nic

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// tree makes files of a made machine.
func tree(t testing.TB, files map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range files {
		put(t, root, name, text)
	}
	return root
}

func put(t testing.TB, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func every(string) bool { return true }

func values(d Device) map[string]uint64 {
	m := map[string]uint64{}
	d.Read(func(i int, v uint64) { m[d.Counters()[i]] = v })
	return m
}

var machine = map[string]string{
	"sys/devices/pci0/telemetry/hni_pkts_sent":                              "12345@1690000000.123456789\n",
	"sys/devices/pci0/telemetry/pct_ordered":                                "18446744073709551615\n",
	"sys/devices/pci0/telemetry/reset_counters":                             "0\n",
	"sys/devices/pci0/telemetry/too_large":                                  "18446744073709551616\n",
	"run/cxi/cxi0/nack_resource_busy":                                       "7\n",
	"run/cxi/cxi0/config":                                                   "down_nid_wait_time=20\n",
	"run/cxi/cxi0/sub/file":                                                 "1\n",
	"sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data":           "100\n",
	"sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence":       "2\n",
	"sys/class/infiniband/mlx5_0/ports/2/counters/port_xmit_data":           "0\n",
	"sys/class/net/eth0/statistics/rx_bytes":                                "42\n",
	"sys/class/net/eth0/statistics/tx_bytes":                                "-1\n",
	"sys/class/net/eth0/statistics/empty":                                   "",
	"sys/class/net/lo/statistics/rx_bytes":                                  "0",
	"sys/class/net/bonding_masters":                                         "\n",
	"sys/class/infiniband/mlx5_0/ports/1/counters/nested/no_counter_either": "1\n",
}

func TestSources(t *testing.T) {
	root := tree(t, machine)
	require.NoError(t, os.MkdirAll(filepath.Join(root, "sys/class/cxi/cxi0"), 0o755))
	require.NoError(t, os.Symlink(filepath.Join(root, "sys/devices/pci0"), filepath.Join(root, "sys/class/cxi/cxi0/device")))
	for _, tc := range []struct {
		source  Source
		devices []string
		device  string
		want    map[string]uint64
	}{
		{Cassini{root}, []string{"cxi0"}, "cxi0", map[string]uint64{"hni_pkts_sent": 12345, "pct_ordered": 1<<64 - 1, "rh.nack_resource_busy": 7}},
		{InfiniBand{root}, []string{"mlx5_0"}, "mlx5_0", map[string]uint64{"port1.port_xmit_data": 100, "port1.hw.out_of_sequence": 2, "port2.port_xmit_data": 0}},
		{Network{root}, []string{"eth0", "lo"}, "eth0", map[string]uint64{"rx_bytes": 42}},
		{Network{root}, []string{"eth0", "lo"}, "eth1", map[string]uint64{}},
		{Network{root}, []string{"eth0", "lo"}, "../../../sys/class/net/eth0", map[string]uint64{}},
		{Network{root}, []string{"eth0", "lo"}, "..", map[string]uint64{}},
		{Network{filepath.Join(root, "nothing")}, nil, "eth0", map[string]uint64{}},
	} {
		t.Run(tc.device, func(t *testing.T) {
			require.Equal(t, tc.devices, tc.source.Devices())
			d := tc.source.Open(tc.device, every)
			defer d.Close()
			require.Equal(t, tc.want, values(d))
			require.Len(t, d.Counters(), len(tc.want))
		})
	}
}

func TestThisMachineHasLoopback(t *testing.T) {
	devices := map[string]bool{}
	for _, s := range All("") {
		for _, d := range s.Devices() {
			devices[d] = true
		}
	}
	require.Contains(t, devices, "lo")
	d := Network{}.Open("lo", func(c string) bool { return c == "rx_bytes" })
	defer d.Close()
	require.Equal(t, []string{"rx_bytes"}, d.Counters())
	require.Len(t, values(d), 1)
}

// Values are new at each reading, also of more counters than stay open and of those
// that are opened each time; one that has gone is passed over.
func TestReadAgain(t *testing.T) {
	const many = mostOpen + 10
	root := t.TempDir()
	fill := func(plus uint64) map[string]uint64 {
		want := map[string]uint64{}
		for i := range uint64(many) {
			name := "c" + strconv.FormatUint(i, 10)
			want[name] = i + plus
			put(t, root, "sys/class/net/eth0/statistics/"+name, strconv.FormatUint(i+plus, 10))
		}
		return want
	}
	want := fill(0)
	put(t, root, "run/cxi/cxi0/r", "1")
	eth, cxi := Network{root}.Open("eth0", every), Cassini{root}.Open("cxi0", every)
	defer eth.Close()
	defer cxi.Close()
	require.Equal(t, want, values(eth))
	require.Equal(t, map[string]uint64{"rh.r": 1}, values(cxi))

	want = fill(1000)
	require.NoError(t, os.Remove(filepath.Join(root, "run/cxi/cxi0/r")))
	require.Equal(t, want, values(eth))
	require.Empty(t, values(cxi))
	put(t, root, "run/cxi/cxi0/r", "99")
	require.Equal(t, map[string]uint64{"rh.r": 99}, values(cxi))

	open := 0
	for _, fd := range eth.(*files).fds {
		if fd >= 0 {
			open++
		}
	}
	require.Equal(t, mostOpen, open)
}

func TestReadNoAllocation(t *testing.T) {
	root := tree(t, machine)
	var sum uint64
	each := func(_ int, v uint64) { sum += v }
	for _, d := range []Device{Network{root}.Open("eth0", every), Cassini{root}.Open("cxi0", every)} {
		defer d.Close()
		require.NotEmpty(t, d.Counters())
		require.Zero(t, testing.AllocsPerRun(100, func() { d.Read(each) }))
	}
	require.NotZero(t, sum)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("12345@1690000000.123456789\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if v, ok := parse(text); ok {
			again, ok := parse([]byte(strconv.FormatUint(v, 10)))
			require.True(t, ok)
			require.Equal(t, v, again)
		}
	})
}
