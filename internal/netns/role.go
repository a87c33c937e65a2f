package netns

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"golnx/internal/twoproc"
)

// Place is where a process runs. In what is zero it is with the test process.
type Place struct {
	Host     *Host  `json:"-"` // network namespace
	Hostname string // in a UTS namespace of its own
	OwnShm   bool   // sees a /dev/shm of its own, in a mount namespace of its own
	OwnIPC   bool   // is in an IPC namespace of its own
	// OwnPID makes it process 1 of a PID namespace of its own. What the test
	// kills or suspends is a process that waits for it.
	OwnPID bool
}

// Role is a [twoproc.Role] that can run anywhere.
type Role struct{ role *twoproc.Role }

// NewRole names a role, as twoproc.NewRole does.
func NewRole(name string, run func(*twoproc.Child)) *Role {
	return &Role{twoproc.NewRole(name, func(c *twoproc.Child) {
		if os.Getenv(arrivedEnv) == "" {
			var d destination
			c.Get(&d)
			err := d.enter()
			c.Errorf("%+v: %v", d, err)
			c.FailNow()
		}
		if os.Getpid() == 1 { // the old /proc shows it as another process
			require.NoError(c, unix.Mount("proc", "/proc", "proc", 0, ""))
		}
		c.Put(true)
		run(c)
	})}
}

// Start starts a process for the role in a place. The test calls Need, or has
// hosts, before.
func (r *Role) Start(t testing.TB, p Place, limit time.Duration) *twoproc.Proc {
	t.Helper()
	d := destination{Place: p, Parent: os.Getpid()}
	if p.Host != nil {
		d.Net = p.Host.path()
	}
	proc := r.role.Start(t, limit)
	proc.Put(d)
	var arrived bool
	proc.Get(&arrived)
	return proc
}

// arrivedEnv is set in a process that is where it should be.
const arrivedEnv = "GOLNX_TEST_ARRIVED"

// destination is a Place as the process learns of it.
type destination struct {
	Place
	Net    string // file of the network namespace
	Parent int    // process
}

// enter moves one thread into the place and starts the program anew from it, so
// that all threads, libfabric's too, are there. It returns only to fail.
func (d destination) enter() error {
	runtime.LockOSThread()
	flags := unix.CLONE_NEWNS // for /sys at least
	if d.Hostname != "" {
		flags |= unix.CLONE_NEWUTS
	}
	if d.OwnIPC {
		flags |= unix.CLONE_NEWIPC
	}
	if err := unix.Unshare(flags); err != nil {
		return fmt.Errorf("unshare(%#x): %w", flags, err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if d.Hostname != "" {
		if err := unix.Sethostname([]byte(d.Hostname)); err != nil {
			return fmt.Errorf("sethostname: %w", err)
		}
	}
	if d.OwnShm {
		if err := unix.Mount("tmpfs", "/dev/shm", "tmpfs", 0, "mode=1777"); err != nil {
			return fmt.Errorf("mount /dev/shm: %w", err)
		}
	}
	if d.Net != "" {
		if err := d.enterNet(); err != nil {
			return err
		}
	}
	// A thread does not inherit this, and the program goes on as this thread.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return err
	}
	if os.Getppid() != d.Parent {
		return errors.New("the parent has ended")
	}
	env := append(os.Environ(), arrivedEnv+"=1",
		"GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE")) // the race detector's default is a second per process
	if d.OwnPID {
		return runAsFirst(env)
	}
	return syscall.Exec("/proc/self/exe", os.Args, env)
}

// runAsFirst runs the program in a new PID namespace, which a process cannot enter
// itself, and ends as it does.
func runAsFirst(env []string) error {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{os.NewFile(3, "from parent"), os.NewFile(4, "to parent")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
	err := cmd.Run()
	if err == nil {
		os.Exit(0)
	}
	return err
}

// enterNet joins a network namespace and lets /sys show its interfaces.
func (d destination) enterNet() error {
	ns, err := os.Open(d.Net)
	if err != nil {
		return err
	}
	defer ns.Close()
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("setns(%s): %w", d.Net, err)
	}
	if err := unix.Mount("sysfs", "/sys", "sysfs", 0, ""); err != nil {
		return fmt.Errorf("mount /sys: %w", err)
	}
	return nil
}
