package nic

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// mostOpen is how many files of one NIC stay open. A Cassini has some 1,700 counters,
// and a process often no more than 1,024 descriptors.
const mostOpen = 256

// dir is a directory of counters, one in a file.
type dir struct {
	path, prefix string
	// reopen says that a file has to be opened for each reading: of a FUSE file
	// system the kernel may answer the old text again.
	reopen bool
}

// files is a Device with its counters in files.
type files struct {
	names []string
	paths []*byte // for open(2), so that nothing is allocated
	fds   []int   // -1 for those that are opened each time
	buf   [64]byte
}

// open opens the counters in directories. A file that does not hold a number is none,
// nor is one that resets others.
func open(want func(string) bool, dirs ...dir) *files {
	d := new(files)
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir.path)
		if err != nil {
			continue
		}
		for _, e := range entries {
			name := dir.prefix + e.Name()
			if e.IsDir() || strings.HasPrefix(e.Name(), "reset") || !want(name) {
				continue
			}
			d.add(name, filepath.Join(dir.path, e.Name()), dir.reopen)
		}
	}
	return d
}

func (d *files) add(name, path string, reopen bool) {
	p, err := unix.BytePtrFromString(path)
	if err != nil {
		return
	}
	fd := openat(p)
	if fd < 0 {
		return
	}
	if _, ok := d.read(fd); !ok {
		unix.Close(fd)
		return
	}
	if reopen || len(d.fds) >= mostOpen {
		unix.Close(fd)
		fd = -1
	}
	d.names, d.paths, d.fds = append(d.names, name), append(d.paths, p), append(d.fds, fd)
}

// Counters implements [Device].
func (d *files) Counters() []string { return d.names }

// Read implements [Device].
func (d *files) Read(each func(int, uint64)) {
	for i, fd := range d.fds {
		kept := fd >= 0
		if !kept {
			if fd = openat(d.paths[i]); fd < 0 {
				continue
			}
		}
		v, ok := d.read(fd)
		if !kept {
			unix.Close(fd)
		}
		if ok {
			each(i, v)
		}
	}
}

// Close implements [Device].
func (d *files) Close() {
	for _, fd := range d.fds {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	*d = files{}
}

func (d *files) read(fd int) (uint64, bool) {
	n, err := unix.Pread(fd, d.buf[:], 0)
	if err != nil {
		return 0, false
	}
	return parse(d.buf[:n])
}

// parse takes "12345", and Cassini's "12345@1690000000.123456789", where the driver
// says when it read the counter.
func parse(text []byte) (uint64, bool) {
	text, _, _ = bytes.Cut(bytes.TrimSpace(text), []byte{'@'})
	var v uint64
	for _, c := range text {
		digit := uint64(c - '0')
		if digit > 9 || v > (math.MaxUint64-digit)/10 {
			return 0, false
		}
		v = 10*v + digit
	}
	return v, len(text) > 0
}
