package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"golnx/cmd/lnx/bench"
	"golnx/cmd/lnx/pair"
	"golnx/internal/shmclean"
	"golnx/lnx"
)

// Seeds of the two ends (lnx.Options.Seed).
const (
	seedLead = iota
	seedFollow
)

const (
	// childGrace is how long a child may take to follow its parent's end.
	childGrace = 5 * time.Second
	// parentGrace is how long a parent may take to end whose connection or
	// thread has ended, and again to be reaped.
	parentGrace = time.Second
	// reapPoll is how often it is looked whether it was; nothing tells.
	reapPoll = 10 * time.Millisecond
)

// withChild starts the other end and leads a session with it. Whatever happens, the
// child is gone afterwards.
func withChild(a *app, f *linkFlags, limit time.Duration, on cpus, lead func(*bench.Session, *lnx.Endpoint) error) error {
	args := append([]string{"perf-peer", "--timeout=" + limit.String(), fmt.Sprintf("--cpu=%d", on.other())}, f.args()...)
	child, err := pair.Start(args...)
	if err != nil {
		return err
	}
	a.note("started the other end, process %d", child.PID())
	err = leadOver(a, child.Conn(), f, limit, on.lead(), lead)
	ended := child.Stop(childGrace)
	if ended == nil {
		return err
	}
	removeRegions(child.PID())
	var exit *exec.ExitError
	if err != nil && errors.As(ended, &exit) && exit.ExitCode() == exitFailed {
		return err // which has the reason
	}
	return errors.Join(err, ended)
}

// leadOver opens a link here and leads a session over the connection.
func leadOver(a *app, conn net.Conn, f *linkFlags, limit time.Duration, cpu int, lead func(*bench.Session, *lnx.Endpoint) error) error {
	ch, err := pair.Open(a.ctx, conn, limit)
	if err != nil {
		return err
	}
	defer ch.Close()
	return overEndpoint(a, ch, f, seedLead, limit, cpu, func(s *bench.Session, ep *lnx.Endpoint) error {
		if err := lead(s, ep); err != nil {
			return err
		}
		return s.Bye()
	})
}

// serveOver opens a link here and follows the other end.
func serveOver(a *app, conn net.Conn, f *linkFlags, limit time.Duration, cpu int, only bench.Only) error {
	ch, err := pair.Open(a.ctx, conn, limit)
	if err != nil {
		return err
	}
	defer ch.Close()
	giveUpAfter(ch.Context())
	return overEndpoint(a, ch, f, seedFollow, limit, cpu, func(s *bench.Session, _ *lnx.Endpoint) error {
		return s.Serve(only)
	})
}

// overEndpoint opens an endpoint, joins the other end with it, and closes it.
func overEndpoint(a *app, ch *pair.Channel, f *linkFlags, seed uint64, limit time.Duration, cpu int, do func(*bench.Session, *lnx.Endpoint) error) (err error) {
	if err := pin(cpu); err != nil {
		return ch.Fail(err)
	}
	ep, err := f.open(a, seed, limit)
	if err != nil {
		return ch.Fail(err)
	}
	defer func() { err = errors.Join(err, ep.Close()) }()
	s, err := bench.Join(ch, ep, limit)
	if err != nil {
		return err
	}
	return do(s, ep)
}

// peerCmd is the other end that pair.Start starts.
type peerCmd struct {
	linkFlags
	Op      string        `default:"tsend"`
	Timeout time.Duration `default:"30s"`
	CPU     int           `name:"cpu" default:"-1"`
}

// Run serves the parent. What goes wrong the parent tells; if it has ended, its
// memory is put away here.
func (c *peerCmd) Run(a *app) error {
	signal.Ignore(unix.SIGINT, unix.SIGHUP) // a terminal sends them to both ends
	// The parent's threads may end one after the other and a SIGTERM comes with
	// each: the second must not end us before we have put things away.
	signal.Notify(make(chan os.Signal, 1), unix.SIGTERM)
	parent := os.Getppid()
	conn, err := pair.Inherited()
	if err != nil {
		return err
	}
	a.err = io.Discard
	c.linkFlags.op = c.Op
	if err = serveOver(a, conn, &c.linkFlags, c.Timeout, c.CPU, bench.Only{}); err == nil {
		return nil
	}
	if ours := pair.Told(err) && a.ctx.Err() == nil; !ours && pair.Ended(parent, parentGrace) {
		removeRegions(parent)
	}
	return errQuiet
}

// removeRegions removes the shared memory that a process left behind which was
// killed and has ended. It waits a moment until that is not even a zombie: before,
// its memory counts as in use.
func removeRegions(pid int) {
	for deadline := time.Now().Add(parentGrace); ; {
		_, gone := os.Stat("/proc/" + strconv.Itoa(pid))
		stale, err := shmclean.Find(shmclean.Roots{})
		for _, region := range stale {
			if region.PID == pid {
				_ = os.Remove(region.Path) // or somebody else did
			}
		}
		if err != nil || gone != nil || time.Now().After(deadline) {
			return
		}
		time.Sleep(reapPoll)
	}
}
