// Command lnx shows what links of libfabric providers a machine has, measures
// them, and foretells which rail messages take.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"golang.org/x/sys/unix"

	"golnx/cmd/lnx/bench"
	"golnx/lnx"
	"golnx/rail"
)

// cli has the commands, each in a file of its own.
type cli struct {
	Verbose bool `short:"v" help:"Tell on standard error what is done."`

	Info     infoCmd     `cmd:"" help:"Show what can be linked on this machine, and what is left out and why."`
	Demo     demoCmd     `cmd:"" help:"Exchange verified messages between two processes, over shared memory and over the network."`
	Perf     perfCmd     `cmd:"" help:"Measure latency, message rate or bandwidth between two processes."`
	Plan     planCmd     `cmd:"" help:"Foretell which rail every message takes, and say why."`
	Trace    traceCmd    `cmd:"" help:"Show what the op timer recorded: as a table, a page, figures, a database or a trace for Perfetto."`
	Run      runCmd      `cmd:"" help:"Start a program some times over, as ranks with the nearest NIC each."`
	Flags    flagsCmd    `cmd:"" help:"Show what programs asked libfabric for and what they were granted, as they recorded it."`
	Counters countersCmd `cmd:"" help:"Say what the counters of HPE Cassini NICs count, as far as is known."`
	Doctor   doctorCmd   `cmd:"" help:"Look for what keeps links from working, and clean up after killed processes."`
	Version  versionCmd  `cmd:"" help:"Show the versions of golnx and libfabric."`

	Bench    benchCmd `cmd:"" hidden:"" help:"Measure beside plain libfabric in C, and compare."`
	PerfPeer peerCmd  `cmd:"" hidden:"" help:"The other end of perf and demo, which start it."`
}

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// closeLimit is how long a command that was told to end may take to put things
// away.
const closeLimit = 10 * time.Second

// app is what a command runs with.
type app struct {
	ctx     context.Context // ends with SIGINT, SIGTERM and SIGHUP
	out     io.Writer       // results
	err     io.Writer       // everything else
	verbose bool
}

// errQuiet ends a command as failed when its reason was told elsewhere.
var errQuiet = errors.New("failed, as told before")

func main() { os.Exit(run(os.Args[1:])) }

// run is main without the end of the process.
func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	giveUpAfter(ctx)
	a := &app{ctx: ctx, out: os.Stdout, err: os.Stderr}
	return a.exitCode(a.command(args))
}

// giveUpAfter ends the process if it is still there some time after the context.
func giveUpAfter(ctx context.Context) {
	context.AfterFunc(ctx, func() {
		time.AfterFunc(closeLimit, func() {
			fmt.Fprintf(os.Stderr, "lnx: gave up closing after %v\n", closeLimit)
			os.Exit(exitFailed)
		})
	})
}

// command reads the command line and does what it says.
func (a *app) command(args []string) error {
	var c cli
	parser, err := kong.New(&c,
		kong.Name("lnx"),
		kong.Description("Links of several libfabric providers, as fi_lnx(7). Links are written as in FI_LNX_PROV_LINKS: shm+tcp, or shm+cxi:cxi0,cxi1."),
		kong.Vars{"policies": strings.Join(rail.Policies(), ", "), "tests": testHelp(), "ops": opHelp(), "caps": capHelp(), "kinds": strings.Join(bench.Kinds, ", ")},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Writers(a.out, a.err),
	)
	if err != nil {
		return err
	}
	k, err := parser.Parse(args)
	if err != nil {
		return plainUsage(err)
	}
	a.verbose = c.Verbose
	return errors.Join(k.Run(a), lnx.StopRecording())
}

// testHelp names the tests of lnx perf, and the operations that each is done with.
func testHelp() string {
	var words []string
	all := bench.Offered()
	for len(all) > 0 {
		name, help := all[0].Name, all[0].Help
		var ops []string
		for len(all) > 0 && all[0].Name == name {
			ops, all = append(ops, all[0].Op), all[1:]
		}
		words = append(words, fmt.Sprintf("%s (%s; --op %s)", name, help, strings.Join(ops, ", ")))
	}
	return strings.Join(words, ", ")
}

// opHelp names the operations of lnx perf.
func opHelp() string {
	var words []string
	for _, o := range bench.Ops() {
		help := o.Help
		if o.Name == bench.OpTSend {
			help += ", the default"
		}
		words = append(words, fmt.Sprintf("%s (%s)", o.Name, help))
	}
	return strings.Join(words, ", ")
}

// exitCode prints an error, a line for each cause, and answers the code.
func (a *app) exitCode(err error) int {
	var usage usageError
	var ranks exitStatus
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &ranks):
		return int(ranks)
	case errors.Is(err, errQuiet):
		return exitFailed
	case a.ctx.Err() != nil:
		a.print("interrupted")
		return exitInterrupted
	}
	a.print(flagNames.Replace(err.Error()))
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailed
}

// print writes to standard error, each line marked as ours.
func (a *app) print(text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintf(a.err, "lnx: %s\n", strings.TrimRight(line, "\n"))
	}
}

// note tells what is done, if that is wanted.
func (a *app) note(format string, args ...any) {
	if a.verbose {
		a.print(fmt.Sprintf(format, args...))
	}
}
