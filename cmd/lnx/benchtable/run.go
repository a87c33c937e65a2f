package benchtable

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Options say how to measure.
type Options struct {
	// Lnx and Cbench are the two programs.
	Lnx, Cbench string
	// CPUs are the processors of the two ends, as "0,1".
	CPUs   string
	Rounds int
	// Quick measures next to nothing, to see that everything runs.
	Quick bool
	// Tell hears what is done.
	Tell func(string)
}

const (
	// commandLimit is how long one run may take.
	commandLimit = 2 * time.Minute
	// commandGrace is how long a run that is told to end may put things away.
	commandGrace = 10 * time.Second
	// quickIters are the iterations of a quick run, quickAtOnce how many of its
	// commands run at the same time.
	quickIters  = 10
	quickAtOnce = 4
)

// SkipError says why a row cannot be measured on this machine.
type SkipError struct{ Reason string }

func (e *SkipError) Error() string { return e.Reason }

// Measure runs every command of the rows once a round, in turn, and answers the
// figures. What cannot be measured, or fails, stands in its row.
func Measure(ctx context.Context, rows []Row, o Options) ([]Result, error) {
	b := &bench{Options: o, prefixes: map[int]prefix{}, lines: map[Command][][]line{}, failed: map[Command]error{}}
	commands := commandsOf(rows)
	for _, c := range commands {
		if _, known := b.prefixes[c.Rails]; !known && c.Rails > 0 {
			argv, err := withRails(c.Rails)
			b.prefixes[c.Rails] = prefix{argv, err}
		}
	}
	for round := range o.Rounds {
		o.Tell(fmt.Sprintf("round %d of %d", round+1, o.Rounds))
		b.round(ctx, commands)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		commands = slices.DeleteFunc(commands, func(c Command) bool { return b.failed[c] != nil })
		slices.Reverse(commands) // so that what changes slowly favours nobody
	}
	var results []Result
	for _, r := range rows {
		results = append(results, b.result(r))
	}
	return results, nil
}

// round runs the commands one after the other, several at once in a quick run.
func (b *bench) round(ctx context.Context, commands []Command) {
	atOnce := 1
	if b.Quick {
		atOnce = quickAtOnce
	}
	var next atomic.Int64
	var mu sync.Mutex // of lines and failed
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(commands)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				lines, err := b.run(ctx, commands[i])
				mu.Lock()
				b.lines[commands[i]] = append(b.lines[commands[i]], lines)
				if err != nil {
					b.failed[commands[i]] = err
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
}

// commandsOf answers the commands of the rows, each once, ours and its base in turn.
func commandsOf(rows []Row) []Command {
	var all []Command
	for _, r := range rows {
		for _, f := range append([]Figure{r.Ours}, r.Base...) {
			if !slices.Contains(all, f.Command) {
				all = append(all, f.Command)
			}
		}
	}
	return all
}

// line is a line of JSON that a command printed.
type line map[string]any

type bench struct {
	Options
	prefixes map[int]prefix       // by Command.Rails
	lines    map[Command][][]line // by round
	failed   map[Command]error
}

// prefix is the begin of a command line, or why there cannot be one.
type prefix struct {
	argv []string
	err  error
}

// run runs a command and reads what it prints.
func (b *bench) run(ctx context.Context, c Command) ([]line, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, commandLimit, fmt.Errorf("took longer than %v", commandLimit))
	defer cancel()
	argv, err := b.argv(c)
	if err != nil {
		return nil, err
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "FI_") })
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = commandGrace
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	var lines []line
	for dec := json.NewDecoder(&stdout); dec.More(); {
		var l line
		if err := dec.Decode(&l); err != nil {
			return nil, fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
		}
		lines = append(lines, l)
	}
	return lines, nil
}

// argv is the command line.
func (b *bench) argv(c Command) ([]string, error) {
	argv := []string{b.Cbench}
	if c.Program == "lnx" {
		argv = []string{b.Lnx}
	}
	p := b.prefixes[c.Rails] // nothing for 0
	if p.err != nil {
		return nil, p.err
	}
	argv = slices.Concat(p.argv, argv)
	argv = append(argv, strings.Fields(c.Args)...)
	if c.Program == "lnx" {
		argv = append(argv, "--json")
	}
	iters := c.Iters
	if b.Quick {
		iters = quickIters
	}
	if iters > 0 {
		argv = append(argv, "--iters", strconv.Itoa(iters))
	}
	if !c.Unpinned {
		argv = append(argv, "--cpus", b.CPUs)
	}
	return argv, nil
}

// figure answers a figure of every round.
func (b *bench) figure(f Figure) ([]float64, error) {
	if err := b.failed[f.Command]; err != nil {
		return nil, err
	}
	var values []float64
	for _, lines := range b.lines[f.Command] {
		i := slices.IndexFunc(lines, func(l line) bool { return l.is(f.Where) })
		if i < 0 {
			return nil, fmt.Errorf("%s %s prints no line with %s", f.Command.Program, f.Command.Args, f.Where)
		}
		v, err := lines[i].number(f.Key)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// is says whether the line has all these fields.
func (l line) is(where string) bool {
	for field := range strings.SplitSeq(where, ",") {
		key, want, _ := strings.Cut(field, "=")
		if got := l[key]; key != "" && text(got) != want {
			return false
		}
	}
	return true
}

func text(v any) string {
	if n, ok := v.(float64); ok {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

func (l line) number(key string) (float64, error) {
	var at any = map[string]any(l)
	for word := range strings.SplitSeq(key, ".") {
		fields, _ := at.(map[string]any)
		at = fields[word]
	}
	n, ok := at.(float64)
	if !ok {
		return 0, errors.New("no number " + key + " in what was printed")
	}
	return n, nil
}
