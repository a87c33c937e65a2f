package supervise

import (
	"fmt"
	"maps"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"golnx/cmd/lnx/launch"
)

// Options say how a group ends.
type Options struct {
	Grace   time.Duration // from SIGTERM to SIGKILL
	Timeout time.Duration // of everything; 0 is none
	// Stop ends the processes at once, with this exit code, if it is not 0.
	Stop int
	// Mirrors says that a process that ended by itself has told why.
	Mirrors bool
	Tell    func(string)
}

// KillLimit is how long killed processes may take to end. One that takes longer hangs in
// the kernel, and is left.
const KillLimit = 10 * time.Second

// Wait waits until nothing is left of the group, and ends what has to be ended, as
// [launch.Job] decides. It answers the exit code, and an error if something could not be
// killed and is left.
func (g *Group) Wait(o Options) (code int, err error) {
	job := launch.NewJob(len(g.started))
	defer func() { g.cutShort = job.CutShort() }()
	ended := make(chan struct{})
	go watch(ended)
	var grace, timeout <-chan time.Time
	if o.Timeout > 0 {
		timeout = time.After(o.Timeout)
	}
	var action launch.Action
	var say []string
	if o.Stop != 0 {
		action = job.Stop(o.Stop)
	}
	for !action.GiveUp {
		g.send(action)
		switch {
		case action.Grace && action.Signal == syscall.SIGKILL:
			grace = time.After(KillLimit)
		case action.Grace:
			grace = time.After(o.Grace)
		}
		for _, text := range say {
			o.Tell(text)
		}
		action, say = launch.Action{}, nil
		select {
		case _, left := <-ended:
			if !left {
				return job.Code(), nil
			}
			action, say = g.bury(job, o)
		case s := <-g.signals:
			action = job.Signal(s.(syscall.Signal))
		case <-timeout:
			if action = job.Stop(launch.CodeTimeout); action.Signal != 0 {
				say = []string{fmt.Sprintf("not done within %v: everything is ended", o.Timeout)}
			}
		case <-grace:
			if action = job.GraceOver(); action.Signal == syscall.SIGKILL {
				say = g.killed(o.Grace)
			}
		}
	}
	return job.Code(), fmt.Errorf("these processes cannot be killed: %v", slices.Sorted(maps.Keys(g.children())))
}

// watch says when a child has ended, and by closing the channel that there are no
// children. It leaves the child as it is, so that its number means nobody else until it is
// buried, and may say so more than once.
func watch(ended chan<- struct{}) {
	defer close(ended)
	for {
		switch err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOWAIT, nil); err {
		case nil:
			ended <- struct{}{}
		case unix.EINTR:
		default: // ECHILD
			return
		}
	}
}

// bury takes note of a child that has ended.
func (g *Group) bury(job *launch.Job, o Options) (do launch.Action, say []string) {
	var status syscall.WaitStatus
	pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
	if err != nil || pid == 0 {
		return launch.Action{}, nil // buried before
	}
	i, started := g.pids[pid]
	if !started {
		return job.Left(), nil
	}
	delete(g.pids, pid)
	code := launch.CodeOf(status)
	if code != 0 && job.Code() == 0 && !(o.Mirrors && status.Exited()) {
		say = []string{g.started[i].epitaph(status, len(g.pids))}
	}
	return job.Ended(code), say
}

// epitaph says how the first process failed, and what comes of those that are left.
func (p Process) epitaph(status syscall.WaitStatus, left int) string {
	how := fmt.Sprintf("exit status %d", status.ExitStatus())
	if status.Signaled() {
		how = "ended by " + unix.SignalName(status.Signal())
		if status.CoreDump() {
			how += ", with a core dump"
		}
	}
	if left > 0 {
		how += "; the others are ended"
	}
	return fmt.Sprintf("%s, process %d: %s", p.Name, p.pid, how)
}

// killed says who had to be killed.
func (g *Group) killed(grace time.Duration) (say []string) {
	for _, i := range slices.Sorted(maps.Values(g.pids)) {
		p := g.started[i]
		say = append(say, fmt.Sprintf("%s, process %d, did not end within %v and is killed", p.Name, p.pid, grace))
	}
	return say
}
