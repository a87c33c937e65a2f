package doorbell

import (
	"errors"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"golnx/internal/peerfd"
)

// Bell is the receiver's side. Its methods are for one goroutine at a time.
type Bell struct {
	name        Name
	page        []byte
	state       *atomic.Uint64 // in page
	read, write int            // the pipe
	sink        [1024]byte
}

// New makes a bell that can be opened by whoever knows the token, which should be
// one that no other bell on this host has. It takes three descriptors, none of which
// a new program inherits, and a page. Its errors are ErrUnavailable.
func New(token uint64) (*Bell, error) {
	b := &Bell{
		name: Name{PID: int32(os.Getpid()), Page: -1, Pipe: -1, Token: token},
		read: -1, write: -1,
	}
	err := b.makePipe()
	if err == nil {
		err = b.makePage()
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *Bell) makePipe() error {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_NONBLOCK|unix.O_CLOEXEC); err != nil {
		return failed("pipe2", err)
	}
	b.read, b.write = p[0], p[1]
	b.name.Pipe = int32(b.write)
	return nil
}

func (b *Bell) makePage() error {
	fd, page, err := peerfd.NewMemory(memfdName, os.Getpagesize())
	if err != nil {
		return unavailable(err)
	}
	b.name.Page, b.page = int32(fd), page
	var pipe unix.Stat_t
	if err := unix.Fstat(b.write, &pipe); err != nil {
		return failed("fstat", err)
	}
	header{magic, version, b.name.Token, pipe.Dev, pipe.Ino}.put(b.page)
	b.state = state(b.page)
	return unavailable(peerfd.Seal(fd, seals)) // F_SEAL_FUTURE_WRITE came with Linux 5.1
}

// Name says where the bell is, for Open.
func (b *Bell) Name() Name { return b.name }

// FD is what to poll for reading. It belongs to the bell, and is -1 once that is
// closed. It may be readable without a message: a ring may come late.
func (b *Bell) FD() int { return b.read }

// Arm says that the receiver is about to sleep. From now on the first Ring of each
// sender makes FD readable; whatever was sent before Arm can be seen after it. Each
// sleep begins with Arm, also when the bell is armed already.
func (b *Bell) Arm() { b.state.Store((b.state.Load() | asleep) + 2) }

// Disarm says that the receiver is awake.
func (b *Bell) Disarm() { b.state.Store(b.state.Load() &^ asleep) }

// Drain empties the pipe, so that FD is not readable until the next ring. It does
// not block, and gives up on a pipe that is being filled all the time.
func (b *Bell) Drain() {
	const capacity = 64 << 10 // of a pipe, pipe(7)
	for range capacity / len(b.sink) {
		if n, err := unix.Read(b.read, b.sink[:]); n < len(b.sink) && err != unix.EINTR {
			return
		}
	}
}

// Close disarms the bell and gives everything back. Ringers go quiet when they next
// ring. A closed bell does nothing.
func (b *Bell) Close() error {
	if b.state != nil {
		b.Disarm()
	}
	b.state = new(atomic.Uint64)
	var errs []error
	for _, fd := range []int{b.read, b.write, int(b.name.Page)} {
		if fd >= 0 {
			errs = append(errs, unix.Close(fd))
		}
	}
	b.read, b.write, b.name.Page, b.name.Pipe = -1, -1, -1, -1
	if b.page != nil {
		errs = append(errs, unix.Munmap(b.page))
		b.page = nil
	}
	return errors.Join(errs...)
}
