package supervise

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"golnx/cmd/lnx/launch"
)

// Group is the processes that this one started, and what came of them. There is one in a
// process, which starts no others and belongs to the goroutine that made it: the kernel
// takes the end of its thread for the end of the parent.
type Group struct {
	signals chan os.Signal
	started []Process
	pids    map[int]int // of those that have not ended, their places in started
	told    map[told]bool

	cutShort bool
}

// told is a signal that a group of processes has had.
type told struct {
	group  int
	signal syscall.Signal
}

// passed are the signals that are passed on.
var passed = []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2}

// New makes the group. From now on signals that end a process are the group's matter, and
// whoever asked to be notified of them before is not any more.
func New() (*Group, error) {
	runtime.LockOSThread() // for ever
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("processes cannot be supervised: PR_SET_CHILD_SUBREAPER: %w", err)
	}
	g := &Group{signals: make(chan os.Signal, 64), pids: map[int]int{}, told: map[told]bool{}}
	signal.Reset(passed...)
	signal.Notify(g.signals, passed...)
	return g, nil
}

// CutShort says, when [Group.Wait] is over, whether there was a signal to end, or time was
// up.
func (g *Group) CutShort() bool { return g.cutShort }

// Signals has the signals that come when [Group.Wait] is over.
func (g *Group) Signals() <-chan os.Signal { return g.signals }

// Process is what to start.
type Process struct {
	Name string // in messages: rank 3
	Path string
	Args []string // with the name of the program
	Env  []string
	// CPUs are the processors that it may use; none are those of this process.
	CPUs []int
	// Session makes it the head of a session, so that it has no terminal and does not
	// belong to whom signals of one go to. Otherwise it is the head of a group of
	// processes.
	Session        bool
	Stdout, Stderr *os.File // which stay the caller's
	pid            int
}

// Start starts a process, with nothing on its standard input, and answers its number.
func (g *Group) Start(p Process) (pid int, err error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	if len(p.CPUs) > 0 {
		restore, err := pin(p.CPUs)
		if err != nil {
			return 0, fmt.Errorf("%s cannot be started: %w", p.Name, err)
		}
		defer restore()
	}
	child, err := os.StartProcess(p.Path, p.Args, &os.ProcAttr{
		Env:   p.Env,
		Files: []*os.File{null, p.Stdout, p.Stderr},
		Sys:   &syscall.SysProcAttr{Pdeathsig: unix.SIGTERM, Setsid: p.Session, Setpgid: !p.Session},
	})
	if err != nil {
		return 0, fmt.Errorf("%s cannot be started: %w", p.Name, err)
	}
	p.pid = child.Pid
	g.pids[p.pid] = len(g.started)
	g.started = append(g.started, p)
	return p.pid, child.Release() // it is waited for by its number
}

// pin restricts the calling thread, and what it starts.
func pin(cpus []int) (restore func(), err error) {
	var before, set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return nil, fmt.Errorf("sched_getaffinity: %w", err)
	}
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("processors %s: sched_setaffinity: %w", launch.FormatCPUs(cpus), err)
	}
	return func() { _ = unix.SchedSetaffinity(0, &before) }, nil
}
