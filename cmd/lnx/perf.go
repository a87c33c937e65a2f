package main

import (
	"errors"
	"fmt"
	"net"
	"time"

	"golnx/cmd/lnx/bench"
	"golnx/cmd/lnx/pair"
	"golnx/cmd/lnx/ui"
	"golnx/lnx"
)

// acceptLimit is how long --listen waits for the other end.
const acceptLimit = 10 * time.Minute

// defaultSize is that of a message, in bytes.
const defaultSize = 8

// perfCmd measures.
type perfCmd struct {
	Test string `arg:"" help:"What to measure: ${tests}."`
	linkFlags
	Size       ui.Sizes      `placeholder:"BYTES" help:"Sizes of messages, as 8,64,4K,1M. Without it, 8."`
	Iters      *int          `placeholder:"N" help:"Messages or round trips to measure. Without it, by size."`
	Warmup     *int          `placeholder:"N" help:"How many to let pass before. Without it, a tenth."`
	Window     *int          `placeholder:"N" help:"Messages under way at once, for rate (64) and bw (16)."`
	Kind       []string      `placeholder:"KIND" help:"For match, how receives name messages: ${kinds}. Without it, all."`
	Posted     []int         `placeholder:"N" help:"For match, receives ahead that do not match, as 0,1000. Without it, 0 to 100,000 in powers of ten."`
	Unexpected []int         `placeholder:"N" help:"For match, unexpected messages that do not match."`
	Both       bool          `help:"Messages in both directions at once, for rate and bw."`
	Verify     bool          `help:"Check every byte; slower."`
	CPUs       cpus          `name:"cpus" placeholder:"LEAD,OTHER" help:"Processors for the two polling ends, as 0,1."`
	JSON       bool          `name:"json" help:"Print a JSON object for each size."`
	Listen     string        `placeholder:"HOST:PORT" xor:"ends" help:"Be the other end for one --connect, from another machine or this one."`
	Connect    string        `placeholder:"HOST:PORT" xor:"ends" help:"Measure with the other end that listens there, instead of starting one."`
	Timeout    time.Duration `default:"30s" help:"How long to go without progress."`
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
	if c.Listen != "" && (c.Size != nil || c.Iters != nil || c.Warmup != nil || c.Window != nil ||
		c.Kind != nil || c.Posted != nil || c.Unexpected != nil || c.Both || c.Verify || c.JSON) {
		return errors.New("--listen leaves everything but --links, --policy, --disable-shm, --cpus and --timeout to the end that connects")
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
	test, err := bench.Lookup(c.Test)
	if err != nil || test.Help == "" {
		return nil, fmt.Errorf("there is no test %q: there are %s", c.Test, testHelp())
	}
	sizes := c.Size
	if sizes == nil {
		sizes = ui.Sizes{defaultSize}
	}
	var runs []bench.Params
	for _, size := range sizes {
		p := test.Defaults(size)
		p.Verify, p.Both = c.Verify, c.Both
		if c.Iters != nil {
			p.Iters, p.Warmup = *c.Iters, *c.Iters/10
		}
		if c.Warmup != nil {
			p.Warmup = *c.Warmup
		}
		if c.Window != nil {
			p.Window = *c.Window
		}
		for _, p := range c.matching(p) {
			if err := p.Validate(); err != nil {
				return nil, err
			}
			runs = append(runs, p)
		}
	}
	return runs, nil
}

// defaultPosted are the depths that match is run at.
var defaultPosted = []int{0, 10, 100, 1000, 10_000, 100_000}

// matching answers p once for every kind and depth.
func (c *perfCmd) matching(p bench.Params) []bench.Params {
	kinds, posted := c.Kind, c.Posted
	if p.Kind == "" && kinds == nil && posted == nil && c.Unexpected == nil {
		return []bench.Params{p}
	}
	if kinds == nil {
		kinds = bench.Kinds
	}
	if posted == nil && c.Unexpected == nil {
		posted = defaultPosted
	}
	var all []bench.Params
	for _, kind := range kinds {
		for _, n := range posted {
			q := p
			q.Kind, q.Posted = kind, n
			all = append(all, q)
		}
		for _, n := range c.Unexpected {
			q := p
			q.Kind, q.Unexpected = kind, n
			all = append(all, q)
		}
	}
	return all
}

// Run is one of the ends, or both.
func (c *perfCmd) Run(a *app) error {
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
			result, err := c.measure(a, s, p)
			if err != nil {
				return err
			}
			reports = append(reports, report{p, c.spec(), ep.Link().Name, result})
		}
		return nil
	}
	if c.Connect != "" {
		err = c.connect(a, lead)
	} else {
		err = withChild(a, &c.linkFlags, c.Timeout, c.CPUs, lead)
	}
	return errors.Join(err, c.print(a, reports)) // what was measured before a failure, too
}

// measure runs one test and shows how far it is.
func (c *perfCmd) measure(a *app, s *bench.Session, p bench.Params) (bench.Result, error) {
	what := fmt.Sprintf("%s, %s", p.Test, ui.Size(uint64(p.Size)))
	a.note("runs %s, %d times after %d", what, p.Iters, p.Warmup)
	stop := ui.Progress(a.err, what, int64(p.Iters+p.Warmup), s.Done.Load)
	defer stop()
	return s.Run(p)
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
	return serveOver(a, conn, &c.linkFlags, c.Timeout, c.CPUs.other(), c.Test)
}
