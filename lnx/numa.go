package lnx

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// currentNode answers the NUMA node that the calling thread runs on, -1 if the
// kernel does not say (getcpu(2)).
func currentNode() int {
	var node uint32
	if _, _, errno := unix.RawSyscall(unix.SYS_GETCPU, 0, uintptr(unsafe.Pointer(&node)), 0); errno != 0 {
		return -1
	}
	return int(node)
}

// farMemory is from how many bytes on the place of a buffer counts more than that of
// the thread that sends it, and asking for it is nothing beside the transfer.
const farMemory = 64 << 10

// nodeOf answers the NUMA node of the message in ep.op: that of a long one's memory,
// or else the caller's.
func (ep *Endpoint) nodeOf(size uint64) int {
	if size >= farMemory {
		if node := memoryNode(ep.op.IOV[0].Base); node >= 0 {
			return node
		}
	}
	return currentNode()
}

// memoryNode answers the NUMA node that has the page at p, -1 if the kernel does not
// say (get_mempolicy(2); some containers forbid it).
func memoryNode(p unsafe.Pointer) int {
	var node int32
	const flags = 1 | 2 // MPOL_F_NODE | MPOL_F_ADDR
	if _, _, errno := unix.RawSyscall6(unix.SYS_GET_MEMPOLICY, uintptr(unsafe.Pointer(&node)), 0, 0, uintptr(p), flags, 0); errno != 0 {
		return -1
	}
	return int(node)
}

// nodeDistances reads the NUMA distance table below a sysfs root; nil if it has
// none that can be used.
func nodeDistances(sys string) [][]int {
	var table [][]int
	for n := 0; ; n++ {
		text, err := os.ReadFile(filepath.Join(sys, "devices/system/node/node"+strconv.Itoa(n), "distance"))
		if err != nil {
			break
		}
		var row []int
		for _, word := range strings.Fields(string(text)) {
			d, err := strconv.Atoi(word)
			if err != nil {
				return nil
			}
			row = append(row, d)
		}
		table = append(table, row)
	}
	for _, row := range table {
		if len(row) != len(table) {
			return nil // nodes with gaps between their numbers
		}
	}
	return table
}
