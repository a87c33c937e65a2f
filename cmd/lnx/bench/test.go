package bench

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Test is one kind of test, with one kind of operation.
type Test struct {
	Name string
	// Op is the name of the operation, OpTSend if empty.
	Op string
	// Help is half a line for lnx perf --help; a test without it is not offered
	// there.
	Help string
	// Window is the default of Params.Window for small messages; 0 says that the test has none.
	Window int
	// Size is the default of Params.Size where that is not a small message.
	Size int
	// MinSize and MaxSize bound Params.Size further than 0 and MaxSize; 0 is no bound.
	MinSize, MaxSize int
	// Both says that it can run in both directions at once.
	Both bool
	// Batches says that it has Params.Batch.
	Batches bool
	// Times says that it has Result.Times.
	Times bool
	// Goroutines says that it has Params.Goroutines.
	Goroutines bool
	// Matching says that it has Params.Kind, Posted and Unexpected.
	Matching bool
	// Alone says that the other end has no part in it.
	Alone bool
	// Iters is the default of Params.Iters for messages of a size.
	Iters func(size int) int
	// Lead measures, Follow does the other end's part: it calls End.Ready when
	// its first receives are posted, and Lead begins.
	Lead   func(*End, Params) (Result, error)
	Follow func(*End, Params) error
}

// Defaults are what is run without being asked for anything but a size.
func (t Test) Defaults(size int) Params {
	p := Params{Test: t.Name, Op: t.Op, Size: size, Iters: t.Iters(size), Window: t.Window}
	if t.Window > 0 {
		p.Window = min(t.Window, max(1, MaxSize/4/max(size, 1)))
	}
	if t.Matching {
		p.Kind = KindExact
	}
	p.Warmup = p.Iters / 10
	return p
}

// Params say what is run. They travel to the following end.
type Params struct {
	Test string `json:"test"`
	// Op is the name of the operation, OpTSend if empty.
	Op string `json:"op,omitempty"`
	// Size is that of a message, in bytes.
	Size int `json:"size"`
	// Iters is the number of messages or round trips that are measured, Warmup
	// how many come before them.
	Iters  int `json:"iters"`
	Warmup int `json:"warmup"`
	// Window is how many messages may be under way at once.
	Window int `json:"window,omitempty"`
	// Both has messages go both ways at once, Iters in each direction.
	Both bool `json:"both,omitempty"`
	// Kind says how receives name their messages, Posted how many that do not
	// match are posted ahead of those that do, and Unexpected how many messages
	// that do not match have arrived before.
	Kind       string `json:"kind,omitempty"`
	Posted     int    `json:"posted,omitempty"`
	Unexpected int    `json:"unexpected,omitempty"`
	// Goroutines is how many there are at each end, with blocking calls; 0 is one
	// that polls.
	Goroutines int `json:"goroutines,omitempty"`
	// Batch is how many messages a call sends at most; 0 is one, with TSend.
	Batch int `json:"batch,omitempty"`
	// Huge takes the buffers from mr.AllocHuge instead of Go's heap.
	Huge   bool `json:"huge,omitempty"`
	Verify bool `json:"verify,omitempty"`
}

// Limits of Params. MaxBuffers bounds what one end allocates for a run, in bytes.
const (
	MaxIters  = 1_000_000_000
	MaxWindow = 1 << 14
	MaxDepth  = 1_000_000

	MaxGoroutines = 1024
	MaxBuffers    = 512 << 20
)

// buffersPerPlace is how many buffers an end may need for each place in a window.
const buffersPerPlace = 4

// MaxSize is the largest message that can be tested, in bytes.
const MaxSize = MaxBuffers / buffersPerPlace

// Validate says what is wrong with p, in terms of the flags of lnx perf.
func (p Params) Validate() error {
	test, err := Lookup(p.Test, p.Op)
	switch {
	case err != nil:
		return err
	case p.Size < 0 || p.Size > MaxSize:
		return fmt.Errorf("--size %d: 0 to %d bytes are possible", p.Size, MaxSize)
	case p.Size < test.MinSize || test.MaxSize > 0 && p.Size > test.MaxSize:
		return fmt.Errorf("--size %d: %s --op %s takes %d to %d bytes", p.Size, test.Name, test.Op, test.MinSize, cmp.Or(test.MaxSize, MaxSize))
	case p.Iters < 1 || p.Iters > MaxIters:
		return fmt.Errorf("--iters %d: 1 to %d are possible", p.Iters, MaxIters)
	case p.Warmup < 0 || p.Warmup > MaxIters:
		return fmt.Errorf("--warmup %d: 0 to %d are possible", p.Warmup, MaxIters)
	case test.Window == 0 && p.Window != 0:
		return fmt.Errorf("--window %d: %s has one message under way at a time", p.Window, test.Name)
	case test.Window > 0 && (p.Window < 1 || p.Window > MaxWindow):
		return fmt.Errorf("--window %d: 1 to %d are possible", p.Window, MaxWindow)
	case p.Both && !test.Both:
		return fmt.Errorf("--both: it is for rate and bw, not for %s", test.Name)
	case p.Goroutines != 0 && !test.Goroutines:
		return fmt.Errorf("--goroutines %d: %s --op %s has one at each end", p.Goroutines, test.Name, test.Op)
	case p.Goroutines < 0 || p.Goroutines > MaxGoroutines:
		return fmt.Errorf("--goroutines %d: 1 to %d are possible", p.Goroutines, MaxGoroutines)
	case p.Size*p.Goroutines > MaxSize:
		return fmt.Errorf("--goroutines %d with --size %d: the product may be %d bytes at most", p.Goroutines, p.Size, MaxSize)
	case p.Goroutines != 0 && p.Both:
		return errors.New("--both: a goroutine with blocking calls does one thing at a time")
	case p.Batch != 0 && (!test.Batches || p.Goroutines != 0):
		return fmt.Errorf("--batch %d: it is for rate and bw, of one goroutine and with --op %s", p.Batch, OpTSend)
	case p.Batch < 0 || p.Batch > MaxWindow:
		return fmt.Errorf("--batch %d: 1 to %d are possible", p.Batch, MaxWindow)
	case p.Size*max(p.Window, 1) > MaxSize:
		return fmt.Errorf("--window %d with --size %d: the product may be %d bytes at most", p.Window, p.Size, MaxSize)
	}
	return p.validateMatching(test)
}

func (p Params) validateMatching(test Test) error {
	switch {
	case !test.Matching && (p.Kind != "" || p.Posted != 0 || p.Unexpected != 0):
		return fmt.Errorf("--kind, --posted and --unexpected are for the test match, not for %s", test.Name)
	case test.Matching && !slices.Contains(Kinds, p.Kind):
		return fmt.Errorf("--kind %q: there are %s", p.Kind, strings.Join(Kinds, ", "))
	case p.Posted < 0 || p.Posted > MaxDepth:
		return fmt.Errorf("--posted %d: 0 to %d are possible", p.Posted, MaxDepth)
	case p.Unexpected < 0 || p.Unexpected > MaxDepth:
		return fmt.Errorf("--unexpected %d: 0 to %d are possible", p.Unexpected, MaxDepth)
	case p.Posted > 0 && p.Unexpected > 0:
		return fmt.Errorf("--posted %d and --unexpected %d: they would match each other", p.Posted, p.Unexpected)
	}
	return nil
}

// total is how many messages a run has in all.
func (p Params) total() int { return p.Warmup + p.Iters }

// streamed is how many messages a stream has while it is measured.
func (p Params) streamed() int {
	if p.Both {
		return 2 * p.Iters
	}
	return p.Iters
}

// Result is what the leading end of a test measured.
type Result struct {
	// Key and Value are the test's part of the JSON report.
	Key   string
	Value any
	// Cells are the same for a table.
	Cells []Cell
	// Rails are the leading end's, over the measured messages.
	Rails []RailCount
	// Took is how long the measured part took.
	Took time.Duration
	// Times are the single times, if the test has any.
	Times *Times
}

// Cell is one figure with its column's heading.
type Cell struct{ Head, Text string }

// RailCount says how many messages an end sent and received over a rail, and how many
// operations on the other end's memory it started.
type RailCount struct {
	Name string `json:"name"`
	Tx   uint64 `json:"tx_msgs"`
	Rx   uint64 `json:"rx_msgs"`
	Ops  uint64 `json:"ops,omitempty"`
}

var tests []Test

// Register makes a test known; call it from an init function. A test with the same name
// and operation is a programming error and panics.
func Register(t Test) {
	t.Op = cmp.Or(t.Op, OpTSend)
	if slices.ContainsFunc(tests, func(o Test) bool { return o.Name == t.Name && o.Op == t.Op }) {
		panic(fmt.Sprintf("bench: test %q with operation %q is registered twice", t.Name, t.Op))
	}
	tests = append(tests, t)
	slices.SortFunc(tests, func(a, b Test) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Op, b.Op)) })
}

// Lookup finds a test by its name and operation; an empty one is OpTSend.
func Lookup(name, op string) (Test, error) {
	op = cmp.Or(op, OpTSend)
	var has []string
	for _, t := range tests {
		if t.Name == name && t.Op == op {
			return t, nil
		}
		if t.Name == name {
			has = append(has, t.Op)
		}
	}
	switch {
	case has == nil:
		return Test{}, fmt.Errorf("there is no test %q: there are %s", name, strings.Join(Names(), ", "))
	case !isOp(op):
		return Test{}, fmt.Errorf("--op %q: there are %s", op, strings.Join(opNames(), ", "))
	}
	return Test{}, fmt.Errorf("--op %s: %s is done with %s", op, name, strings.Join(has, ", "))
}

// Names lists the tests that lnx perf offers.
func Names() []string {
	var names []string
	for _, t := range Offered() {
		names = append(names, t.Name)
	}
	return slices.Compact(names)
}

// Offered answers the tests that lnx perf offers, by name and operation.
func Offered() []Test {
	return slices.DeleteFunc(slices.Clone(tests), func(t Test) bool { return t.Help == "" })
}
