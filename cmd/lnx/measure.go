package main

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"golnx/cmd/lnx/bench"
	"golnx/cmd/lnx/ui"
)

// measureFlags say what the end that leads measures.
type measureFlags struct {
	Size       ui.Sizes       `placeholder:"BYTES" help:"Sizes of messages, as 8,64,4K,1M. Without it, 8, for bw 64K."`
	Iters      *int           `placeholder:"N" xor:"length" help:"Messages or round trips to measure. Without it, by size."`
	Duration   *time.Duration `placeholder:"TIME" xor:"length" help:"Measure about as long, as 2s, instead of a number of iterations."`
	Warmup     *int           `placeholder:"N" help:"How many to let pass before. Without it, a tenth."`
	Window     ui.Counts      `placeholder:"N" help:"Messages under way at once, as 1,64. Without it, for rate 64 and bw 16, fewer where the buffers would take too much."`
	Both       bool           `help:"For rate and bw, messages in both directions at once."`
	Goroutines *int           `placeholder:"N" help:"For lat and rate, so many goroutines at each end with blocking calls, instead of one that polls."`
	Batch      *int           `placeholder:"N" help:"For rate and bw, send, and receive, up to so many messages with one call."`
	Kind       []string       `placeholder:"KIND" help:"For match, how receives name messages: ${kinds}. Without it, all."`
	Posted     ui.Counts      `placeholder:"N" help:"For match, receives ahead that do not match, as 0,1000. Without it, 0 to 100,000 in powers of ten."`
	Unexpected ui.Counts      `placeholder:"N" help:"For match, unexpected messages that do not match."`
	Huge       bool           `help:"Take the buffers from mr.AllocHuge, which asks for huge pages, instead of Go's heap."`
	Verify     bool           `help:"Check every byte; slower."`
}

// given says whether any flag was.
func (f measureFlags) given() bool { return !reflect.ValueOf(f).IsZero() }

// defaultSize is that of a message, in bytes, of a test that has no other.
const defaultSize = 8

// maxDuration bounds --duration.
const maxDuration = time.Hour

// runs answers what is to be run of a test.
func (f *measureFlags) runs(test bench.Test) ([]bench.Params, error) {
	sizes := f.Size
	if sizes == nil {
		sizes = ui.Sizes{max(defaultSize, test.Size)}
	}
	if f.Duration != nil && (*f.Duration <= 0 || *f.Duration > maxDuration) {
		return nil, fmt.Errorf("--duration %v: it can be up to %v", *f.Duration, maxDuration)
	}
	if f.Batch != nil && *f.Batch < 1 {
		return nil, fmt.Errorf("--batch %d: 1 to %d are possible", *f.Batch, bench.MaxWindow)
	}
	if f.Goroutines != nil && *f.Goroutines < 1 {
		return nil, fmt.Errorf("--goroutines %d: 1 to %d are possible", *f.Goroutines, bench.MaxGoroutines)
	}
	var runs []bench.Params
	for _, size := range sizes {
		for _, windowed := range f.windows(f.params(test, size)) {
			for _, p := range f.matching(windowed) {
				if err := p.Validate(); err != nil {
					return nil, err
				}
				runs = append(runs, p)
			}
		}
	}
	return runs, nil
}

func (f *measureFlags) params(test bench.Test, size int) bench.Params {
	p := test.Defaults(size)
	p.Verify, p.Both, p.Huge = f.Verify, f.Both, f.Huge
	if f.Iters != nil {
		p.Iters, p.Warmup = *f.Iters, *f.Iters/10
	}
	if f.Warmup != nil {
		p.Warmup = *f.Warmup
	}
	if f.Batch != nil {
		p.Batch = *f.Batch
	}
	if f.Goroutines != nil {
		p.Goroutines = *f.Goroutines
	}
	return p
}

// windows answers p once for every window.
func (f *measureFlags) windows(p bench.Params) []bench.Params {
	if f.Window == nil {
		return []bench.Params{p}
	}
	var all []bench.Params
	for _, n := range f.Window {
		p.Window = n
		all = append(all, p)
	}
	return all
}

// defaultPosted are the depths that match is run at.
var defaultPosted = ui.Counts{0, 10, 100, 1000, 10_000, 100_000}

// matching answers p once for every kind and depth.
func (f *measureFlags) matching(p bench.Params) []bench.Params {
	kinds, posted := f.Kind, f.Posted
	if p.Kind == "" && kinds == nil && posted == nil && f.Unexpected == nil {
		return []bench.Params{p}
	}
	if kinds == nil {
		kinds = bench.Kinds
	}
	if posted == nil && f.Unexpected == nil {
		posted = defaultPosted
	}
	var all []bench.Params
	for _, kind := range kinds {
		for _, n := range posted {
			q := p
			q.Kind, q.Posted = kind, n
			all = append(all, q)
		}
		for _, n := range f.Unexpected {
			q := p
			q.Kind, q.Unexpected = kind, n
			all = append(all, q)
		}
	}
	return all
}

// run runs one of them.
func (f *measureFlags) run(s *bench.Session, p bench.Params) (bench.Params, bench.Result, error) {
	if f.Duration != nil {
		return s.RunFor(p, *f.Duration, f.Warmup)
	}
	r, err := s.Run(p)
	return p, r, err
}

// reportFlags say how results are shown.
type reportFlags struct {
	JSON        bool `name:"json" xor:"format" help:"Print a JSON object for each result."`
	CSV         bool `name:"csv" xor:"format" help:"Print a line of comma-separated values for each result, after one of headings."`
	Histogram   bool `xor:"format" help:"Draw how the times of single messages are distributed."`
	Percentiles bool `help:"Show more percentiles of the times of single messages, and the longest."`
}

func (f reportFlags) given() bool { return f != reportFlags{} }

// check refuses what the test has no times for.
func (f reportFlags) check(test bench.Test) error {
	if !test.Times && (f.Percentiles || f.Histogram) {
		return errors.New("--percentiles and --histogram are for tests that time single messages: " + test.Name + " times all of them")
	}
	return nil
}
