package nic

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Cassini is HPE Slingshot's NICs, cxi0 and so on: the telemetry of the driver, and the
// counters of the retry handler (cxi_rh), with "rh." before their names.
type Cassini struct{ Root string }

// Devices implements [Source].
func (s Cassini) Devices() []string { return list(s.Root, "sys/class/cxi") }

// Open implements [Source].
func (s Cassini) Open(device string, want func(string) bool) Device {
	if !isName(device) {
		return new(files)
	}
	return open(want,
		dir{path: filepath.Join(s.Root, "/sys/class/cxi", device, "device/telemetry")},
		dir{path: filepath.Join(s.Root, "/run/cxi", device), prefix: "rh.", reopen: true})
}

// InfiniBand is every RDMA device: InfiniBand, RoCE, EFA. The port goes before a
// counter's name, as in "port1.port_xmit_data" and "port1.hw.out_of_sequence".
type InfiniBand struct{ Root string }

// Devices implements [Source].
func (s InfiniBand) Devices() []string { return list(s.Root, "sys/class/infiniband") }

// Open implements [Source].
func (s InfiniBand) Open(device string, want func(string) bool) Device {
	if !isName(device) {
		return new(files)
	}
	var dirs []dir
	ports := filepath.Join("sys/class/infiniband", device, "ports")
	for _, port := range list(s.Root, ports) {
		at := filepath.Join(s.Root, "/", ports, port)
		dirs = append(dirs,
			dir{path: filepath.Join(at, "counters"), prefix: "port" + port + "."},
			dir{path: filepath.Join(at, "hw_counters"), prefix: "port" + port + ".hw."})
	}
	return open(want, dirs...)
}

// Network is Linux's network devices.
type Network struct{ Root string }

// Devices implements [Source].
func (s Network) Devices() []string { return list(s.Root, "sys/class/net") }

// Open implements [Source].
func (s Network) Open(device string, want func(string) bool) Device {
	if !isName(device) {
		return new(files)
	}
	return open(want, dir{path: filepath.Join(s.Root, "/sys/class/net", device, "statistics")})
}

// list answers the names of the directories (or links to some) in a directory.
func list(root, path string) []string {
	at := filepath.Join(root, "/", path)
	entries, err := os.ReadDir(at)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if st, err := os.Stat(filepath.Join(at, e.Name())); err == nil && st.IsDir() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names
}

// isName refuses what would lead out of the directory of devices.
func isName(device string) bool {
	return device != "" && device != "." && device != ".." && !strings.ContainsAny(device, "/\x00")
}
