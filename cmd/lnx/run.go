package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"golang.org/x/sys/unix"

	"golnx/cmd/lnx/launch"
	"golnx/cmd/lnx/supervise"
	"golnx/cmd/lnx/ui"
)

// runCmd starts ranks. There are two processes of it: the first one starts the second and
// passes on signals, the second starts the ranks. So whichever of them is killed, the
// other one is left to end the ranks.
type runCmd struct {
	Ranks   int           `short:"n" required:"" placeholder:"N" help:"How many ranks to start."`
	NIC     string        `name:"nic" placeholder:"PATTERN" help:"Choose among the NICs whose names fit, as cxi[01],mlx5_*. Without it: all Slingshot NICs or, where there are none, all of InfiniBand or, failing that, all Ethernet NICs."`
	Print   bool          `help:"Print where the ranks belong, and start nothing."`
	NoPin   bool          `name:"no-pin" help:"Let the ranks run on all processors that lnx may use, not only those of their NUMA node."`
	Label   bool          `help:"Put [rank] before each line that a rank writes."`
	Quiet   bool          `short:"q" help:"Do not print where the ranks are."`
	Timeout time.Duration `help:"End all ranks after this time, as 10m; 0 is never."`
	Grace   time.Duration `default:"5s" help:"How long a rank that is told to end (SIGTERM) may take before it is killed."`
	Command []string      `arg:"" optional:"" name:"cmd" help:"What to run, after --."`

	Root   string `hidden:"" default:"/" help:"Where sys is."`
	Second bool   `hidden:"" help:"Be the process that starts the ranks."`
}

// exitStatus is the exit code of what was run, which has told why.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// maxRanks keeps the pipes within a process's descriptors.
const maxRanks = 1024

// maxGrace is more than any program needs to end.
const maxGrace = 24 * time.Hour

// Run starts the ranks and waits for them.
func (c *runCmd) Run(a *app) error {
	if err := c.check(); err != nil {
		return usageError{err}
	}
	allowed, err := allowedCPUs()
	if err != nil && !c.NoPin {
		return err
	}
	ranks, err := c.place(allowed)
	switch {
	case err != nil:
		return err
	case c.Print:
		return ui.Print(a.out, placementTable(ranks, nil))
	case c.Second:
		return c.runRanks(a, ranks)
	}
	return c.runSecond(a)
}

func (c *runCmd) check() error {
	switch {
	case len(c.Command) == 0 && !c.Print:
		return errors.New("nothing to run: write it after --, as lnx run -n 4 -- ./program")
	case !isPattern(c.NIC):
		return fmt.Errorf("--nic %s: *, ? and [a-z] have a meaning, and this has none", c.NIC)
	case c.Ranks < 1 || c.Ranks > maxRanks:
		return fmt.Errorf("-n %d: 1 to %d ranks are possible", c.Ranks, maxRanks)
	case c.Timeout < 0:
		return fmt.Errorf("--timeout %v: a time, or 0 for none, is needed", c.Timeout)
	case c.Grace < 0 || c.Grace > maxGrace:
		return fmt.Errorf("--grace %v: 0 to %v are possible", c.Grace, maxGrace)
	}
	return nil
}

func isPattern(text string) bool {
	_, err := path.Match(text, "")
	return err == nil
}

// allowedCPUs answers the processors that this process may use.
func allowedCPUs() (cpus []int, err error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("the processors cannot be known (sched_getaffinity: %w): start the ranks with --no-pin", err)
	}
	for cpu := range maxCPU + 1 {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// place decides where the ranks belong. A NIC that the environment says is nobody else's
// choice.
func (c *runCmd) place(allowed []int) ([]launch.Placement, error) {
	wish := launch.Wish{Ranks: c.Ranks, CPUs: allowed}
	if c.NIC != "" {
		wish.NICs = strings.Split(c.NIC, ",")
	} else {
		wish.Device = os.Getenv(launch.DeviceVariable)
	}
	ranks, err := launch.Read(os.DirFS(c.Root)).Place(wish)
	if err != nil {
		return nil, fmt.Errorf("--nic %s: %w", c.NIC, err)
	}
	return ranks, nil
}

// placementTable shows where ranks belong, or where they are.
func placementTable(ranks []launch.Placement, started []startedRank) table.Writer {
	t := ui.NewTable("", "rank", "pid", "NUMA node", "distance")
	heading := []any{"rank", "CPUs", "NUMA node", "NIC", "distance"}
	if started != nil {
		heading = append([]any{"rank", "pid"}, heading[1:]...)
	}
	t.AppendHeader(heading)
	for i, p := range ranks {
		row := []any{p.Rank}
		if started != nil {
			row = append(row, started[i].pid)
		}
		t.AppendRow(append(row, orDash(launch.FormatCPUs(p.CPUs)), known(p.Node), orDash(p.NIC), known(p.Distance)))
	}
	return t
}

func known(n int) string {
	if n == launch.Unknown {
		return "-"
	}
	return strconv.Itoa(n)
}

// runSecond starts the second process and looks after it.
func (c *runCmd) runSecond(a *app) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	g, err := newGroup(a)
	if err != nil {
		return err
	}
	_, err = g.Start(supervise.Process{
		Name: "the process that looks after the ranks", Path: self, Args: c.again(),
		Env: os.Environ(), Session: true, Stdout: os.Stdout, Stderr: os.Stderr,
	})
	if err != nil {
		return err
	}
	// It has to end the ranks first, and to write what they wrote.
	grace := 2*c.Grace + supervise.KillLimit + closeLimit
	code, err := g.Wait(supervise.Options{Grace: grace, Mirrors: true, Tell: a.print})
	return outcomeOf(a, code, err)
}

// newGroup takes over the signals. One that came before is not lost.
func newGroup(a *app) (*supervise.Group, error) {
	g, err := supervise.New()
	if err != nil {
		return nil, err
	}
	return g, a.ctx.Err()
}

// again is the command line of the second process.
func (c *runCmd) again() []string {
	args := []string{
		"lnx", "run", "--second", "-n", strconv.Itoa(c.Ranks), "--root=" + c.Root, "--nic=" + c.NIC,
		"--timeout=" + c.Timeout.String(), "--grace=" + c.Grace.String(),
	}
	for flag, set := range map[string]bool{"--no-pin": c.NoPin, "--label": c.Label, "--quiet": c.Quiet} {
		if set {
			args = append(args, flag)
		}
	}
	return append(append(args, "--"), c.Command...)
}

// outcomeOf is the error that ends the command with the ranks' exit code.
func outcomeOf(a *app, code int, err error) error {
	if code == 0 {
		return err
	}
	if err != nil {
		a.print(err.Error())
	}
	return exitStatus(code)
}
