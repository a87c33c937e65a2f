package ofi

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golnx/providers"
)

// sysfsNIC reads what the kernel tells about a network interface, for providers
// that say nothing about their NIC, as tcp. Unknown names answer an empty NIC.
func sysfsNIC(sys, name string) providers.NIC {
	nic := providers.NIC{NUMA: -1}
	if name == "" || strings.ContainsAny(name, "/\x00") || name == "." || name == ".." {
		return nic
	}
	dir := filepath.Join(sys, "class/net", name)
	if _, err := os.Stat(dir); err != nil {
		return nic
	}
	nic.Device = name
	nic.MTU = uint64(max(0, sysfsInt(dir, "mtu")))
	nic.Speed = uint64(max(0, sysfsInt(dir, "speed"))) * 1e6 // kept in Mbit/s there
	nic.State = sysfsText(dir, "operstate")
	if target, err := filepath.EvalSymlinks(filepath.Join(dir, "device")); err == nil {
		if base := filepath.Base(target); strings.Count(base, ":") == 2 {
			nic.PCI = base
		}
		nic.NUMA = sysfsInt(target, "numa_node")
	}
	if target, err := filepath.EvalSymlinks(filepath.Join(dir, "device/driver")); err == nil {
		nic.Driver = filepath.Base(target)
	}
	return nic
}

func sysfsNUMA(sys, pci string) int {
	return sysfsInt(filepath.Join(sys, "bus/pci/devices", pci), "numa_node")
}

// sysfsInt answers -1 where the kernel does not know, as its own files do.
func sysfsInt(dir, file string) int {
	n, err := strconv.Atoi(sysfsText(dir, file))
	if err != nil {
		return -1
	}
	return n
}

func sysfsText(dir, file string) string {
	b, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func pciName(domain uint16, bus, device, function uint8) string {
	return fmt.Sprintf("%04x:%02x:%02x.%x", domain, bus, device, function)
}
