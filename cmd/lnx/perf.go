package main

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"golnx/cmd/lnx/bench"
	"golnx/cmd/lnx/pair"
	"golnx/cmd/lnx/ui"
	"golnx/lnx"
)

// acceptLimit is how long --listen waits for the other end.
const acceptLimit = 10 * time.Minute

// perfCmd measures.
type perfCmd struct {
	Test string `arg:"" help:"What to measure: ${tests}."`
	Op   string `default:"tsend" placeholder:"OP" help:"What to measure it with: ${ops}."`
	linkFlags
	measureFlags
	reportFlags
	CPUs    cpus          `name:"cpus" placeholder:"LEAD,OTHER" help:"Processors for the two ends, as 0,1."`
	Listen  string        `placeholder:"HOST:PORT" xor:"ends" help:"Be the other end for one --connect, from another machine or this one."`
	Connect string        `placeholder:"HOST:PORT" xor:"ends" help:"Measure with the other end that listens there, instead of starting one."`
	Timeout time.Duration `default:"30s" help:"How long to go without progress."`
}

// Validate checks the flags before anything is started.
func (c *perfCmd) Validate() error {
	if err := c.linkFlags.check(); err != nil {
		return err
	}
	if err := checkTimeout(c.Timeout); err != nil {
		return err
	}
	for _, addr := range []string{c.Listen, c.Connect} {
		if addr == "" {
			continue
		}
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return fmt.Errorf("%q is no HOST:PORT: %w", addr, err)
		}
	}
	if c.Listen != "" && (c.measureFlags.given() || c.reportFlags.given()) {
		return errors.New("--listen leaves everything but --op, --links, --policy, --disable-shm, --direct, --cpus and --timeout to the end that connects")
	}
	if c.CPUs != nil && c.Goroutines != nil {
		return errors.New("--cpus places the goroutine that polls: with --goroutines there is none")
	}
	if c.Test == "" {
		return nil // kong says so
	}
	_, err := c.runs()
	return err
}

func checkTimeout(d time.Duration) error {
	if d <= 0 || d > time.Hour {
		return fmt.Errorf("--timeout %v: it can be up to 1h", d)
	}
	return nil
}

// runs answers what is to be run.
func (c *perfCmd) runs() ([]bench.Params, error) {
	if !slices.Contains(bench.Names(), c.Test) {
		return nil, fmt.Errorf("there is no test %q: there are %s", c.Test, testHelp())
	}
	test, err := bench.Lookup(c.Test, c.Op)
	if err != nil {
		return nil, err
	}
	if err := c.reportFlags.check(test); err != nil {
		return nil, err
	}
	return c.measureFlags.runs(test)
}

// Run is one of the ends, or both.
func (c *perfCmd) Run(a *app) error {
	c.linkFlags.op = c.Op
	if c.Listen != "" {
		return c.listen(a)
	}
	runs, err := c.runs()
	if err != nil {
		return err
	}
	var reports []report
	lead := func(s *bench.Session, ep *lnx.Endpoint) error {
		for _, p := range runs {
			p, result, err := c.measure(a, s, p)
			if err != nil {
				return err
			}
			reports = append(reports, report{Params: p, links: c.spec(), link: ep.Link().Name, result: result})
		}
		return nil
	}
	if c.Connect != "" {
		err = c.connect(a, lead)
	} else {
		err = withChild(a, &c.linkFlags, c.Timeout, c.CPUs, lead)
	}
	return errors.Join(err, c.reportFlags.print(a, reports)) // what was measured before a failure, too
}

// measure runs one test and shows how far it is.
func (c *perfCmd) measure(a *app, s *bench.Session, p bench.Params) (bench.Params, bench.Result, error) {
	what := fmt.Sprintf("%s of %s, %s", p.Test, p.Op, ui.Size(uint64(p.Size)))
	if p.Window != 0 {
		what += fmt.Sprintf(", window %d", p.Window)
	}
	if c.Duration == nil {
		a.note("runs %s, %d times after %d", what, p.Iters, p.Warmup)
		stop := ui.Progress(a.err, what, int64(p.Iters+p.Warmup), s.Done.Load)
		defer stop()
	} else {
		a.note("runs %s for about %v", what, *c.Duration)
	}
	return c.measureFlags.run(s, p)
}

func (c *perfCmd) connect(a *app, lead func(*bench.Session, *lnx.Endpoint) error) error {
	conn, err := pair.Dial(a.ctx, c.Connect, c.Timeout)
	if err != nil {
		return err
	}
	return leadOver(a, conn, &c.linkFlags, c.Timeout, c.CPUs.lead(), lead)
}

// listen is the other end for one session.
func (c *perfCmd) listen(a *app) error {
	l, err := pair.Listen(a.ctx, c.Listen)
	if err != nil {
		return err
	}
	defer l.Close()
	a.print(fmt.Sprintf("listens on %v", l.Addr()))
	conn, err := l.Accept(a.ctx, acceptLimit)
	if err != nil {
		return err
	}
	a.note("%v connected", conn.RemoteAddr())
	return serveOver(a, conn, &c.linkFlags, c.Timeout, c.CPUs.other(), bench.Only{Test: c.Test, Op: c.Op})
}
