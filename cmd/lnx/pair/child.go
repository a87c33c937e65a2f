package pair

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"golnx/internal/ranks"
)

// inheritedFD is the descriptor that a child finds its connection at.
const inheritedFD = 3

// Child is this program once more, as the other end. It ends when its parent
// does, however that happens: the connection ends then, and the kernel sends it
// SIGTERM.
type Child struct {
	conn  net.Conn
	cmd   *exec.Cmd
	ended chan struct{}
	err   error // of the process, once ended is closed
}

// children counts the children of this process.
var children atomic.Int32

// childEnv makes the n-th child a rank of its own for what records by rank. Where a
// launcher has numbered the processes there is no number left, so that it records
// nothing.
func childEnv(n int) []string {
	_, source, err := ranks.FromEnv(os.LookupEnv)
	if err == nil && source == "" {
		return append(os.Environ(), "RANK="+strconv.Itoa(n))
	}
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "INTERCEPT_") })
}

// Start starts the program again with these arguments. Its standard error is
// ours.
func Start(args ...string) (*Child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("the other end cannot be started: %w", err)
	}
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, fmt.Errorf("the other end cannot be started: %w", err)
	}
	defer theirs.Close()
	c := &Child{conn: ours, cmd: exec.Command(self, args...), ended: make(chan struct{})}
	c.cmd.Stdout, c.cmd.Stderr = os.Stderr, os.Stderr
	c.cmd.ExtraFiles = []*os.File{theirs}
	c.cmd.Env = childEnv(int(children.Add(1)))
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGTERM}
	started := make(chan error)
	go c.run(started)
	if err := <-started; err != nil {
		return nil, errors.Join(fmt.Errorf("the other end cannot be started: %w", err), ours.Close())
	}
	return c, nil
}

// run keeps the thread that starts the child, because the kernel takes the end
// of that thread for the end of the parent (PR_SET_PDEATHSIG of prctl(2)).
func (c *Child) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := c.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	c.err = c.cmd.Wait()
	close(c.ended)
}

// socketPair makes a connection, of which one end can be inherited.
func socketPair() (net.Conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	ours := os.NewFile(uintptr(fds[0]), "connection to the other end")
	theirs := os.NewFile(uintptr(fds[1]), "connection of the other end")
	conn, err := net.FileConn(ours) // a duplicate
	if err = errors.Join(err, ours.Close()); err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	return conn, theirs, nil
}

// Inherited is the connection to the parent, in a process that Start started.
func Inherited() (net.Conn, error) {
	// Started by hand, the number may belong to the Go runtime: look before
	// touching it.
	if _, err := unix.GetsockoptInt(inheritedFD, unix.SOL_SOCKET, unix.SO_TYPE); err != nil {
		return nil, fmt.Errorf("lnx starts this command itself, with a connection at descriptor %d: %w", inheritedFD, err)
	}
	unix.CloseOnExec(inheritedFD)
	f := os.NewFile(inheritedFD, "connection to the parent")
	conn, err := net.FileConn(f)
	return conn, errors.Join(err, f.Close())
}

// PID is the child's process number.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Conn is the connection to the child.
func (c *Child) Conn() net.Conn { return c.conn }

// Stop ends the connection, waits for the child to follow, and kills it if it
// does not within grace. The error says how the child ended, if not well.
func (c *Child) Stop(grace time.Duration) error {
	_ = c.conn.Close() // a channel may have done that already
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-c.ended:
		if c.err != nil {
			return fmt.Errorf("the other end, process %d: %w", c.PID(), c.err)
		}
		return nil
	case <-timer.C:
	}
	err := c.cmd.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	<-c.ended
	return errors.Join(fmt.Errorf("the other end, process %d, did not end within %v and was killed", c.PID(), grace), err)
}

// Ended says whether a process has ended, and waits for that at most for the grace.
func Ended(pid int, grace time.Duration) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return errors.Is(err, unix.ESRCH)
	}
	defer unix.Close(fd)
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for deadline := time.Now().Add(grace); ; {
		n, err := unix.Poll(fds, int(max(0, time.Until(deadline).Milliseconds())))
		if err != unix.EINTR {
			return err == nil && n == 1
		}
	}
}
