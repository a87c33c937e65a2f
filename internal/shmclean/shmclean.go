// Package shmclean removes what killed processes leave in /dev/shm: libfabric's
// shm provider keeps one region file per endpoint there, named PID:UID:N, and
// nothing else removes it when its process cannot.
package shmclean

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
)

// Roots says where to look; the zero value is this machine.
type Roots struct {
	Shm  string // "" is /dev/shm
	Proc string // "" is /proc
}

// Region is a region file whose process is gone.
type Region struct {
	Path string
	PID  int
	Size int64 // bytes
}

// ErrElsewhere says that processes of other PID namespaces may own regions here,
// which cannot be told from stale ones, so that none is stale for sure.
var ErrElsewhere = errors.New("not in the machine's first PID namespace, so other namespaces' processes cannot be seen")

// name is that of an endpoint's region, and of the files for mapped transfers
// that are named after it.
var name = regexp.MustCompile(`^([1-9][0-9]{0,9}):([0-9]+):[0-9]+(_[0-9]+)?$`)

// initialPIDNS is the inode number of the first PID namespace (PROC_PID_INIT_INO
// of the kernel).
const initialPIDNS = "pid:[4026531836]"

// Find lists the regions of the calling user that no process holds: the one that
// they are named after is gone, and nobody has them mapped. Others' files are
// never listed.
func Find(roots Roots) ([]Region, error) {
	if roots.Shm == "" {
		roots.Shm = "/dev/shm"
	}
	if roots.Proc == "" {
		roots.Proc = "/proc"
	}
	candidates, err := orphans(roots)
	if err != nil || len(candidates) == 0 {
		return nil, err
	}
	ns, err := os.Readlink(filepath.Join(roots.Proc, "self/ns/pid"))
	if err != nil {
		return nil, fmt.Errorf("look for stale shm regions: %w", err)
	}
	if ns != initialPIDNS {
		return nil, fmt.Errorf("look for stale shm regions: %w", ErrElsewhere)
	}
	if err := dropMapped(roots, candidates); err != nil {
		return nil, err
	}
	var stale []Region
	for _, r := range candidates {
		stale = append(stale, r)
	}
	return stale, nil
}

// orphans are the files of dead processes, by inode.
func orphans(roots Roots) (map[uint64]Region, error) {
	entries, err := os.ReadDir(roots.Shm)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for stale shm regions: %w", err)
	}
	found := map[uint64]Region{}
	for _, e := range entries {
		m := name.FindStringSubmatch(e.Name())
		if m == nil || m[2] != strconv.Itoa(os.Getuid()) {
			continue
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue // gone meanwhile, or no region
		}
		st := info.Sys().(*syscall.Stat_t)
		pid, err := strconv.Atoi(m[1])
		if err != nil || int(st.Uid) != os.Getuid() || exists(roots.Proc, pid) {
			continue
		}
		found[st.Ino] = Region{filepath.Join(roots.Shm, e.Name()), pid, info.Size()}
	}
	return found, nil
}

func exists(proc string, pid int) bool {
	_, err := os.Stat(filepath.Join(proc, strconv.Itoa(pid)))
	return !errors.Is(err, fs.ErrNotExist)
}

// dropMapped takes out what some process has mapped: the number in the name may
// be that of another PID namespace.
func dropMapped(roots Roots, regions map[uint64]Region) error {
	procs, err := os.ReadDir(roots.Proc)
	if err != nil {
		return fmt.Errorf("look for stale shm regions: %w", err)
	}
	for _, p := range procs {
		if _, err := strconv.Atoi(p.Name()); err != nil {
			continue
		}
		f, err := os.Open(filepath.Join(roots.Proc, p.Name(), "maps"))
		if err != nil {
			continue // gone, or another user's, who cannot map our files
		}
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			// address perms offset dev inode path
			fields := strings.Fields(lines.Text())
			if len(fields) < 6 {
				continue
			}
			if ino, err := strconv.ParseUint(fields[4], 10, 64); err == nil {
				delete(regions, ino)
			}
		}
		f.Close()
	}
	return nil
}

// Remove removes stale regions and answers what it removed. Regions that another
// process removes at the same time are not an error.
func Remove(roots Roots) ([]Region, error) {
	stale, err := Find(roots)
	if err != nil {
		return nil, err
	}
	var removed []Region
	var errs []error
	for _, r := range stale {
		switch err := os.Remove(r.Path); {
		case err == nil:
			removed = append(removed, r)
		case !errors.Is(err, fs.ErrNotExist):
			errs = append(errs, err)
		}
	}
	return removed, errors.Join(errs...)
}
