// Package nic reads the counters of network interfaces, as their drivers show them in
// files: HPE Cassini, InfiniBand and its kin, and whatever else Linux has as a network
// device.
package nic

// Source is a kind of NIC.
type Source interface {
	// Devices answers the names of the NICs that there are, in order.
	Devices() []string
	// Open opens the counters of a NIC that want says yes to. A NIC that is not
	// there has none.
	Open(device string, want func(counter string) bool) Device
}

// Device is the counters of one NIC. It is for one goroutine.
type Device interface {
	// Counters answers the names of the counters, in order.
	Counters() []string
	// Read calls each with the value that a counter has now, by its place in
	// Counters. It passes over those that cannot be read. It does not allocate.
	Read(each func(counter int, value uint64))
	// Close closes the files.
	Close()
}

// All answers all sources, under a root: "" for this machine, a directory in a test.
func All(root string) []Source {
	return []Source{Cassini{root}, InfiniBand{root}, Network{root}}
}
