package doorbell

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"golnx/internal/peerfd"
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
	fd, err := peerfd.OpenMemory(n.PID, n.Page, memfdName, os.Getpagesize(), wantedSeals, unix.O_RDONLY)
	if err != nil {
		return header{}, unavailable(err)
	}
	defer unix.Close(fd)
	// What can be read here is no hole, which a load might fail to fill (SIGBUS).
	var head [headSize]byte
	if _, err := unix.Pread(fd, head[:], 0); err != nil {
		return header{}, failed("pread of the page", err)
	}
	h := parseHeader(head[:])
	switch {
	case h.magic != magic:
		return h, refuse("the page's magic", fmt.Sprintf("%q", h.magic), fmt.Sprintf("%q", magic))
	case h.version != version:
		return h, refuse("the page's version", h.version, version)
	case h.token != n.Token:
		return h, refuse("the page's token", fmt.Sprintf("%#x", h.token), fmt.Sprintf("%#x", n.Token))
	}
	r.page, err = unix.Mmap(fd, 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_SHARED)
	return h, failed("mmap of the page", err)
}

// openPipe opens the pipe that the page names, and no other: in another one a byte
// would do harm.
func (r *Ringer) openPipe(n Name, h header) error {
	f, err := peerfd.Find(n.PID, n.Pipe, "pipe:[", unix.S_IFIFO)
	if err != nil {
		return unavailable(err)
	}
	defer f.Close()
	if f.Stat.Dev != h.dev || f.Stat.Ino != h.ino {
		return refuse(f.Path+": device and inode", [2]uint64{f.Stat.Dev, f.Stat.Ino}, [2]uint64{h.dev, h.ino})
	}
	if r.pipe, err = f.Open(unix.O_WRONLY | unix.O_NONBLOCK); err != nil {
		return unavailable(err)
	}
	if r.pipe <= unix.Stderr {
		// In a process without standard output, prints would ring the bell, and
		// Go would end the process when the receiver has gone (os/signal, SIGPIPE).
		low := r.pipe
		r.pipe, err = unix.FcntlInt(uintptr(low), unix.F_DUPFD_CLOEXEC, unix.Stderr+1)
		unix.Close(low)
	}
	return failed(f.Path+": fcntl(F_DUPFD_CLOEXEC)", err)
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
