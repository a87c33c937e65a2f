package mr

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

const hugePage = 2 << 20

// mapHuge2MB is MAP_HUGE_2MB (linux/mman.h): without it the pages have the size that the
// system was booted with.
const mapHuge2MB = 21 << 26

// allocPool takes a buffer out of the pool of huge pages, nil if it has not enough. The
// kernel reserves the pages at once: touching them later cannot fail.
func allocPool(n int) *Buffer {
	mem, err := mmap(roundUp(n, hugePage), unix.MAP_HUGETLB|mapHuge2MB)
	if err != nil {
		return nil
	}
	return &Buffer{mem: mem, use: mem[:n:n], pages: Huge}
}

// allocAdvised maps so much that an aligned range lies in it.
func allocAdvised(n int) (*Buffer, error) {
	size := roundUp(n, hugePage)
	mem, err := mmap(size+hugePage, 0)
	if err != nil {
		return nil, fmt.Errorf("mr: a buffer of %d bytes: %w", n, err)
	}
	off := int(-uintptr(unsafe.Pointer(&mem[0])) & (hugePage - 1))
	b := &Buffer{mem: mem, use: mem[off : off+n : off+n]}
	if unix.Madvise(mem[off:off+size], unix.MADV_HUGEPAGE) == nil {
		b.pages = Transparent
	}
	return b, nil
}
