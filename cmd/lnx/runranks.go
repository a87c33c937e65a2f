package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"golnx/cmd/lnx/launch"
	"golnx/cmd/lnx/supervise"
	"golnx/cmd/lnx/ui"
)

// runRanks starts the ranks and looks after them. What they write is copied once all have
// been started.
func (c *runCmd) runRanks(a *app, ranks []launch.Placement) error {
	program, err := exec.LookPath(c.Command[0])
	if err != nil {
		return err
	}
	words, w, err := os.Pipe()
	if err != nil {
		return err
	}
	g, err := newGroup(a)
	if err != nil {
		return err
	}
	var started []startedRank
	stop := exitOK
	for _, p := range ranks {
		r, err := c.start(g, program, p)
		if err != nil {
			a.print(err.Error())
			stop = exitFailed
			break
		}
		started = append(started, r)
	}
	if !c.Quiet && stop == exitOK {
		err = ui.Print(a.err, placementTable(ranks, started))
	}
	copied := c.copyOutput(a, started, words)
	code, left := g.Wait(supervise.Options{Grace: c.Grace, Timeout: c.Timeout, Stop: stop, Tell: (&app{err: w}).print})
	if left == nil { // then nobody writes any more
		left = errors.Join(w.Close(), c.finish(g, copied))
	}
	return outcomeOf(a, code, errors.Join(err, left))
}

// startedRank is a rank that runs, and where what it writes is read.
type startedRank struct {
	rank, pid      int
	stdout, stderr *os.File
}

func (c *runCmd) start(g *supervise.Group, program string, p launch.Placement) (r startedRank, err error) {
	stdout, out, err := os.Pipe()
	if err != nil {
		return r, fmt.Errorf("rank %d cannot be started: %w", p.Rank, err)
	}
	defer out.Close()
	stderr, errs, err := os.Pipe()
	if err != nil {
		return r, fmt.Errorf("rank %d cannot be started: %w", p.Rank, err)
	}
	defer errs.Close()
	cpus := p.CPUs
	if c.NoPin {
		cpus = nil
	}
	pid, err := g.Start(supervise.Process{
		Name: "rank " + strconv.Itoa(p.Rank), Path: program, Args: c.Command, Env: p.Environ(os.Environ(), c.Ranks),
		CPUs: cpus, Stdout: out, Stderr: errs,
	})
	return startedRank{p.Rank, pid, stdout, stderr}, err
}

// copyOutput copies what the ranks write, and lnx's own words: these go the same way, so
// that they are not within a line, and that nobody has to wait for the reader.
func (c *runCmd) copyOutput(a *app, started []startedRank, words *os.File) []*supervise.Lines {
	out := supervise.NewLines(a.out)
	errs := out
	if !sameFile(os.Stdout, os.Stderr) { // so that one can be read and the other not
		errs = supervise.NewLines(a.err)
	}
	errs.Copy(words, "")
	for _, r := range started {
		label := ""
		if c.Label {
			label = fmt.Sprintf("[%d] ", r.rank)
		}
		out.Copy(r.stdout, label)
		errs.Copy(r.stderr, label)
	}
	return []*supervise.Lines{out, errs}
}

func sameFile(a, b *os.File) bool {
	infoA, errA := a.Stat()
	infoB, errB := b.Stat()
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// finish waits until what was written is copied. The reader may take as long as it likes,
// unless the run was ended from outside, or is now.
func (c *runCmd) finish(g *supervise.Group, all []*supervise.Lines) error {
	copied := make(chan error, 1)
	go func() {
		var errs []error
		for _, lines := range all {
			errs = append(errs, lines.Wait())
		}
		copied <- errors.Join(errs...)
	}()
	var limit <-chan time.Time
	if g.CutShort() {
		limit = time.After(c.Grace)
	}
	select {
	case err := <-copied:
		return err
	case <-g.Signals():
	case <-limit:
	}
	return errors.New("some of what the ranks wrote is lost: it is not read")
}
