package lnx

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"golnx/providers"
	"golnx/providers/fierr"
)

// shm makes its region without taking the memory, so that a full /dev/shm ends the
// process with SIGBUS when the region is first written to. Here the room is looked
// for before, and taken when the endpoint is open.

// regionSize is more than a region of libfabric 2.1 takes.
const regionSize = 20 << 20

// shmOpening is held from the look to the taking, which leaves other processes.
var shmOpening sync.Mutex

func roomForRegion(dir string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return fmt.Errorf("shm: %s: %w", dir, err)
	}
	if free := st.Bavail * uint64(st.Bsize); free < regionSize {
		return fmt.Errorf("shm: %s has %d bytes left, an endpoint needs %d: make it larger, or leave shm out: %w", dir, free, regionSize, fierr.ENoSpc)
	}
	return nil
}

// reserveRegions takes the memory of the regions of a core.
func reserveRegions(core providers.Core) error {
	for i, r := range core.Rails() {
		if r.Provider != "shm" {
			continue
		}
		name, err := core.Name(i)
		if err != nil {
			return err
		}
		file, _, _ := strings.Cut(strings.TrimPrefix(string(name), "fi_shm://"), "\x00")
		f, err := os.OpenFile(filepath.Join("/dev/shm", filepath.Base(file)), os.O_RDWR, 0)
		if err != nil {
			continue // kept elsewhere by another version
		}
		info, err := f.Stat()
		if err == nil {
			err = unix.Fallocate(int(f.Fd()), 0, 0, info.Size())
		}
		f.Close()
		if err != nil {
			return fmt.Errorf("shm: no room for the region %s: %w", file, err)
		}
	}
	return nil
}
