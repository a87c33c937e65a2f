// Package peerfd opens descriptors of other processes of the same user, as proc_pid_fd(5)
// shows them, and makes memory for others to open so. What a peer says of its descriptors
// is hostile: nothing is opened that is not of the kind, name and owner expected, and
// nothing here waits.
package peerfd

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// File is what a descriptor of another process refers to.
type File struct {
	Path string // of the descriptor, for errors
	Stat unix.Stat_t
	at   int // O_PATH
}

// Find looks at a descriptor of a process: its link begins with link, and it is of a kind
// (S_IFREG, S_IFIFO, …) and the own user's. Close follows.
func Find(pid, fd int32, link string, kind uint32) (*File, error) {
	f := &File{Path: fmt.Sprintf("/proc/%d/fd/%d", pid, fd)}
	// The link's text comes from the kernel. Of a file, even a look at its status
	// may wait for a server.
	text, err := os.Readlink(f.Path)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", link, err)
	}
	if !strings.HasPrefix(text, link) {
		return nil, fmt.Errorf("%s is %q, want what begins with %q", f.Path, text, link)
	}
	if f.at, err = unix.Open(f.Path, unix.O_PATH|unix.O_CLOEXEC, 0); err != nil {
		return nil, fmt.Errorf("%s: open(O_PATH): %w", f.Path, err)
	}
	if err = unix.Fstat(f.at, &f.Stat); err != nil {
		err = fmt.Errorf("%s: fstat: %w", f.Path, err)
	} else if found := f.Stat.Mode & unix.S_IFMT; found != kind {
		err = fmt.Errorf("%s: file type is %#o, want %#o", f.Path, found, kind)
	} else if user := uint32(os.Geteuid()); f.Stat.Uid != user {
		err = fmt.Errorf("%s: owner is %d, want %d", f.Path, f.Stat.Uid, user)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Open opens what Find found, even if the descriptor refers to something else by now. The
// caller closes the answer.
func (f *File) Open(flags int) (int, error) {
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", f.at), flags|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("%s: open: %w", f.Path, err)
	}
	return fd, nil
}

// Close forgets the file.
func (f *File) Close() { unix.Close(f.at) }

// OpenMemory opens memory that NewMemory made, with these seals at least. The caller
// closes the answer.
func OpenMemory(pid, fd int32, name string, size, seals, flags int) (int, error) {
	f, err := Find(pid, fd, "/memfd:"+name+" (deleted)", unix.S_IFREG)
	if err != nil {
		return -1, err
	}
	defer f.Close()
	own, err := f.Open(flags)
	if err != nil {
		return -1, err
	}
	if err := f.check(own, size, seals); err != nil {
		unix.Close(own)
		return -1, fmt.Errorf("%s: %w", f.Path, err)
	}
	return own, nil
}

// check looks at the seals first: what is seen after that stays.
func (f *File) check(fd, size, seals int) error {
	found, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil {
		return fmt.Errorf("fcntl(F_GET_SEALS): %w", err)
	}
	if found&seals != seals {
		return fmt.Errorf("seals is %#x, want %#x at least", found, seals)
	}
	if err := unix.Fstat(fd, &f.Stat); err != nil {
		return fmt.Errorf("fstat: %w", err)
	}
	if f.Stat.Size != int64(size) {
		return fmt.Errorf("size in bytes is %d, want %d", f.Stat.Size, size)
	}
	return nil
}

// NewMemory makes memory of a size (memfd_create(2)), which is mapped to be written. It
// can still be sealed.
func NewMemory(name string, size int) (fd int, mem []byte, err error) {
	fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)
	if err == unix.EINVAL { // before Linux 6.3
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return -1, nil, fmt.Errorf("memfd_create: %w", err)
	}
	if err = unix.Ftruncate(fd, int64(size)); err != nil {
		err = fmt.Errorf("ftruncate: %w", err)
	} else if mem, err = unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		err = fmt.Errorf("mmap: %w", err)
	}
	if err != nil {
		unix.Close(fd)
		return -1, nil, err
	}
	return fd, mem, nil
}

// Seal adds seals (F_ADD_SEALS(2const)).
func Seal(fd, seals int) error {
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		return fmt.Errorf("fcntl(F_ADD_SEALS): %w", err)
	}
	return nil
}
