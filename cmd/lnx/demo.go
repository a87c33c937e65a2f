package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"time"

	"golnx/cmd/lnx/bench"
	"golnx/cmd/lnx/ui"
	"golnx/linkspec"
	"golnx/lnx"
	"golnx/providers"
)

// demoSizes are those of the messages, in bytes.
var demoSizes = []int{8, 64, 512, 4 << 10, 32 << 10, 256 << 10, 1 << 20, 4 << 20}

// demoRuns is how often each size is exchanged. The quickest counts: the first one takes
// memory that no message has touched, and a machine has other things to do.
const demoRuns = 3

// demoCmd shows the library at work.
type demoCmd struct {
	Links   string        `placeholder:"SPEC" help:"The link. Without it, shm+tcp:lo, or shm+tcp if there is no lo."`
	Timeout time.Duration `default:"30s" help:"How long to go without progress."`
}

// Validate checks the flags.
func (c *demoCmd) Validate() error {
	f := linkFlags{Links: c.Links}
	return errors.Join(f.check(), checkTimeout(c.Timeout))
}

// Run exchanges messages twice, with shared memory and without, where the link has
// both.
func (c *demoCmd) Run(a *app) error {
	f := linkFlags{Links: c.Links}
	if f.Links == "" {
		f.Links = "shm+tcp"
		if _, err := net.InterfaceByName("lo"); err == nil {
			f.Links = "shm+tcp:lo"
		}
	}
	total := 0
	for _, disableShm := range []string{"0", "1"} {
		skip, err := c.prepare(&f, disableShm)
		if err != nil {
			return err
		}
		if skip != "" {
			if _, err := fmt.Fprintf(a.out, "skipped: %s=%s: %s\n", linkspec.EnvDisableShm, disableShm, skip); err != nil {
				return err
			}
			continue
		}
		n, err := c.phase(a, &f, disableShm)
		if err != nil {
			return err
		}
		total += n
	}
	_, err := fmt.Fprintf(a.out, "%d messages verified: every byte, length, tag and sender, each arrived once, over the right rail\n"+
		"(how fast links are lnx perf measures: here every byte is written and checked, too)\n", total)
	return err
}

// prepare sets FI_LNX_DISABLE_SHM, which both ends take from the environment, and
// says why the exchange would show nothing new, "" if it would.
func (c *demoCmd) prepare(f *linkFlags, disableShm string) (skip string, err error) {
	if err := os.Setenv(linkspec.EnvDisableShm, "0"); err != nil {
		return "", err
	}
	with, err := lnx.Links(f.options())
	if err != nil || disableShm == "0" {
		return "", err
	}
	if !slices.ContainsFunc(with.Links[0].Rails, func(r providers.Info) bool { return r.NodeLocal }) {
		return fmt.Sprintf("link %s has no shared memory, so it would be the same again", with.Links[0].Name), nil
	}
	if err := os.Setenv(linkspec.EnvDisableShm, disableShm); err != nil {
		return "", err
	}
	if _, err := lnx.Links(f.options()); errors.Is(err, lnx.ErrNoLinks) {
		return fmt.Sprintf("link %s has nothing but shared memory: add a network, as --links shm+tcp", with.Links[0].Name), nil
	} else if err != nil {
		return "", err
	}
	return "", nil
}

// phase runs all sizes, prints them, and answers how many messages were verified.
func (c *demoCmd) phase(a *app, f *linkFlags, disableShm string) (messages int, err error) {
	var reports []report
	err = withChild(a, f, c.Timeout, nil, func(s *bench.Session, ep *lnx.Endpoint) error {
		for _, size := range demoSizes {
			p, err := demoParams(size)
			if err != nil {
				return err
			}
			best, err := quickest(a, s, p, ep.Link().Rails)
			if err != nil {
				return fmt.Errorf("%s: %w", ui.Size(uint64(size)), err)
			}
			reports = append(reports, report{Params: p, links: f.Links, link: ep.Link().Name, result: best})
			messages += 2 * p.Iters * demoRuns
		}
		return nil
	})
	if len(reports) > 0 {
		err = errors.Join(err, printDemo(a, reports, disableShm))
	}
	return messages, err
}

// quickest exchanges the messages some times over and answers the run that took least.
func quickest(a *app, s *bench.Session, p bench.Params, rails []providers.Info) (best bench.Result, err error) {
	for i := range demoRuns {
		stop := ui.Progress(a.err, ui.Size(uint64(p.Size)), int64(p.Iters), s.Done.Load)
		result, err := s.Run(p)
		stop()
		if err != nil {
			return best, err
		}
		if err := rightRails(rails, result.Rails, p.Iters); err != nil {
			return best, err
		}
		if i == 0 || result.Value.(float64) < best.Value.(float64) {
			best = result
		}
	}
	return best, nil
}

func demoParams(size int) (bench.Params, error) {
	test, err := bench.Lookup("exchange", bench.OpTSend)
	if err != nil {
		return bench.Params{}, err
	}
	p := test.Defaults(size)
	p.Iters /= demoRuns
	p.Warmup, p.Verify = 0, true
	return p, nil
}

// rightRails checks that shared memory carried all messages if it is in the link,
// and that none is missing or counted twice.
func rightRails(rails []providers.Info, counts []bench.RailCount, want int) error {
	shm := slices.ContainsFunc(rails, func(r providers.Info) bool { return r.NodeLocal })
	var tx, rx uint64
	for i, c := range counts {
		tx, rx = tx+c.Tx, rx+c.Rx
		if shm && !rails[i].NodeLocal && c.Tx+c.Rx > 0 {
			return fmt.Errorf("%s carried messages between two processes that share memory", c.Name)
		}
	}
	if tx != uint64(want) || rx != uint64(want) {
		return fmt.Errorf("the rails counted %d sent and %d received messages, not %d each", tx, rx, want)
	}
	return nil
}

func printDemo(a *app, reports []report, disableShm string) error {
	title := fmt.Sprintf("Two processes, link %s, %s=%s", reports[0].link, linkspec.EnvDisableShm, disableShm)
	timeHead := fmt.Sprintf("time, best of %d [ms]", demoRuns)
	t := ui.NewTable(title, "size", "messages each way", timeHead)
	t.AppendHeader([]any{"size", "messages each way", timeHead, carriedHead})
	for _, r := range reports {
		ms := 1e3 * r.result.Value.(float64)
		t.AppendRow([]any{ui.Size(uint64(r.Size)), r.Iters, fmt.Sprintf("%.2f", ms), carried(r.result.Rails)})
	}
	return ui.Print(a.out, t)
}
