package doorbell

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Ringer is a sender's side of a [Bell]. Its methods are for one goroutine at a time.
type Ringer struct {
	state *atomic.Uint64 // in page, or awake
	seen  uint64         // state that needs no ring, or has had it
	page  []byte
	pipe  int
}

// awake is the state of a bell that is not there. Nobody stores to it.
var awake atomic.Uint64

// Open finds the bell of that name. It does not block, whatever the name refers to,
// and opens nothing but a bell of the own user. A ringer takes one descriptor and a
// page. All errors are ErrUnavailable.
func Open(n Name) (*Ringer, error) {
	if err := n.check(); err != nil {
		return nil, err
	}
	r := &Ringer{state: &awake, pipe: -1}
	h, err := r.openPage(n)
	if err == nil {
		err = r.openPipe(n, h)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.state = state(r.page)
	return r, nil
}

func (r *Ringer) openPage(n Name) (header, error) {
	path := fdPath(n.PID, n.Page)
	at, _, err := find(path, "/memfd:"+memfdName+" (deleted)", unix.S_IFREG)
	if err != nil {
		return header{}, err
	}
	fd, err := reopen(path, at, unix.O_RDONLY)
	if err != nil {
		return header{}, err
	}
	defer unix.Close(fd)

	// The seals first: what is seen after that stays.
	found, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil {
		return header{}, failed(path+": fcntl(F_GET_SEALS)", err)
	}
	if found&wantedSeals != wantedSeals {
		return header{}, refuse(path+": seals", fmt.Sprintf("%#x", found), fmt.Sprintf("%#x at least", wantedSeals))
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return header{}, failed(path+": fstat", err)
	}
	if size := int64(os.Getpagesize()); st.Size != size {
		return header{}, refuse(path+": size in bytes", st.Size, size)
	}
	// What can be read here is no hole, which a load might fail to fill (SIGBUS).
	var head [headSize]byte
	if _, err := unix.Pread(fd, head[:], 0); err != nil {
		return header{}, failed(path+": pread", err)
	}
	h := parseHeader(head[:])
	switch {
	case h.magic != magic:
		return h, refuse(path+": magic", fmt.Sprintf("%q", h.magic), fmt.Sprintf("%q", magic))
	case h.version != version:
		return h, refuse(path+": version", h.version, version)
	case h.token != n.Token:
		return h, refuse(path+": token", fmt.Sprintf("%#x", h.token), fmt.Sprintf("%#x", n.Token))
	}
	r.page, err = unix.Mmap(fd, 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_SHARED)
	return h, failed(path+": mmap", err)
}

// openPipe opens the pipe that the page names, and no other: in another one a byte
// would do harm.
func (r *Ringer) openPipe(n Name, h header) error {
	path := fdPath(n.PID, n.Pipe)
	at, st, err := find(path, "pipe:[", unix.S_IFIFO)
	if err != nil {
		return err
	}
	if st.Dev != h.dev || st.Ino != h.ino {
		unix.Close(at)
		return refuse(path+": device and inode", [2]uint64{st.Dev, st.Ino}, [2]uint64{h.dev, h.ino})
	}
	if r.pipe, err = reopen(path, at, unix.O_WRONLY|unix.O_NONBLOCK); err != nil {
		return err
	}
	if r.pipe <= unix.Stderr {
		// In a process without standard output, prints would ring the bell, and
		// Go would end the process when the receiver has gone (os/signal, SIGPIPE).
		low := r.pipe
		r.pipe, err = unix.FcntlInt(uintptr(low), unix.F_DUPFD_CLOEXEC, unix.Stderr+1)
		unix.Close(low)
	}
	return failed(path+": fcntl(F_DUPFD_CLOEXEC)", err)
}

func fdPath(pid, fd int32) string { return fmt.Sprintf("/proc/%d/fd/%d", pid, fd) }

// find answers an O_PATH descriptor of what a descriptor of another process refers
// to, if that is of the right kind and the own user's.
func find(path, link string, kind uint32) (int, unix.Stat_t, error) {
	// The link's text comes from the kernel. Of a file, even a look at its status
	// may wait for a server.
	var st unix.Stat_t
	text, err := os.Readlink(path)
	if err != nil {
		return -1, st, failed("find "+link, err)
	}
	if !strings.HasPrefix(text, link) {
		return -1, st, refuse(path, fmt.Sprintf("%q", text), fmt.Sprintf("what begins with %q", link))
	}
	at, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, st, failed(path+": open(O_PATH)", err)
	}
	if err = unix.Fstat(at, &st); err != nil {
		err = failed(path+": fstat", err)
	} else if found := st.Mode & unix.S_IFMT; found != kind {
		err = refuse(path+": file type", fmt.Sprintf("%#o", found), fmt.Sprintf("%#o", kind))
	} else if user := uint32(os.Geteuid()); st.Uid != user {
		err = refuse(path+": owner", st.Uid, user)
	}
	if err != nil {
		unix.Close(at)
		return -1, st, err
	}
	return at, st, nil
}

// reopen opens what find found, even if path refers to something else by now.
func reopen(path string, at int, flags int) (int, error) {
	defer unix.Close(at)
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", at), flags|unix.O_CLOEXEC, 0)
	return fd, failed(path+": open", err)
}

// Ring wakes the receiver if it sleeps. It is called after a message was put into
// shared memory. It does not block nor allocate, and costs one load while the
// receiver is awake; each sender rings once for each Arm. When the receiver is found
// to have gone, the ringer closes.
func (r *Ringer) Ring() {
	if s := r.state.Load(); s != r.seen {
		r.changed(s)
	}
}

var one = []byte{1}

func (r *Ringer) changed(s uint64) {
	if s&asleep == 0 {
		r.seen = s
		return
	}
	switch _, err := unix.Write(r.pipe, one); err {
	case nil, unix.EAGAIN: // full is as good as written
		r.seen = s
	case unix.EINTR: // the next Ring tries again
	default: // EPIPE: the receiver has gone. The Go runtime ignores SIGPIPE.
		_ = r.Close()
	}
}

// Close gives everything back. A closed ringer does not ring.
func (r *Ringer) Close() error {
	var errs []error
	r.state, r.seen = &awake, 0
	if r.page != nil {
		errs = append(errs, unix.Munmap(r.page))
		r.page = nil
	}
	if r.pipe >= 0 {
		errs = append(errs, unix.Close(r.pipe))
		r.pipe = -1
	}
	return errors.Join(errs...)
}
