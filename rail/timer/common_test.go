package timer

import (
	"bytes"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/rail"
	"golnx/rail/intercept"
)

// wall is the clock of the package documentation.
func wall() func() int64 {
	base := time.Now()
	unix := base.UnixNano()
	return func() int64 { return unix + int64(time.Since(base)) }
}

// counting is a clock that goes on by one at each look, from 1000.
func counting() func() int64 {
	var now atomic.Int64
	now.Store(999)
	return func() int64 { return now.Add(1) }
}

// tickers are tickers that a test makes tick.
type tickers struct {
	mu      sync.Mutex
	every   map[time.Duration]chan time.Time
	stopped int
}

func (ts *tickers) ticker(d time.Duration) (<-chan time.Time, func()) {
	return ts.of(d), func() {
		ts.mu.Lock()
		defer ts.mu.Unlock()
		ts.stopped++
	}
}

// of answers the channel of the tickers of a duration. What is sent has been received:
// a second tick has been received when the first one's work is done.
func (ts *tickers) of(d time.Duration) chan time.Time {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.every == nil {
		ts.every = map[time.Duration]chan time.Time{}
	}
	if ts.every[d] == nil {
		ts.every[d] = make(chan time.Time)
	}
	return ts.every[d]
}

func (ts *tickers) tick(d time.Duration) {
	ts.of(d) <- time.Time{}
	ts.of(d) <- time.Time{}
}

// log is a writer for warnings.
type log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// world is an endpoint of a made link: hooks around a provider that keeps what it is
// given until the test completes it.
type world struct {
	t      testing.TB
	view   *intercept.Endpoint
	chains []*intercept.Chain
	to     []*intercept.Remote
	// under is the contexts that the provider has.
	under []any
	// refuse is what the provider answers; nil is to accept.
	refuse error
	// within completes an operation before the provider answers.
	within func(context any)
}

// newWorld opens endpoint id with rails on these devices, and two peers.
func newWorld(t testing.TB, id uint64, hooks []*intercept.Hooks, devices ...string) *world {
	name := strconv.FormatUint(id, 10)
	w := &world{t: t, view: &intercept.Endpoint{ID: id, Link: "made" + name, Address: "address" + name}}
	base := intercept.Base{
		Send: func(c *intercept.Send) error { return w.accept(c.Context) },
		RMA:  func(c *intercept.RMA) error { return w.accept(c.Context) },
	}
	for i, d := range devices {
		r := &intercept.Rail{Endpoint: w.view, Index: i, Device: d, Info: rail.Info{Index: i, Provider: "tcp;ofi_rxm"}}
		w.view.Rails = append(w.view.Rails, r)
	}
	for _, r := range w.view.Rails {
		w.chains = append(w.chains, intercept.NewChain(hooks, r, base))
	}
	for i := range 2 {
		n := strconv.Itoa(i)
		w.to = append(w.to, &intercept.Remote{Peer: uint64(i), Address: "peer" + n, Device: "nic" + n})
	}
	require.NoError(t, intercept.Tell(hooks, "endpoint_created", func(h *intercept.Hooks) {
		if h.EndpointCreated != nil {
			h.EndpointCreated(w.view)
		}
	}))
	return w
}

func (w *world) accept(context any) error {
	if w.refuse != nil {
		return w.refuse
	}
	if w.within != nil {
		w.within(context)
		return nil
	}
	w.under = append(w.under, context)
	return nil
}

// send is TSend over a rail.
func (w *world) send(r, to int, buf []byte, tag uint64, context any) error {
	c := intercept.Send{Op: intercept.OpTSend, To: w.to[to], IOV: [][]byte{buf}, Tag: tag, Context: context}
	return w.call(r, &c)
}

func (w *world) call(r int, c *intercept.Send) error {
	f := w.chains[r].Send[c.Op]
	if f == nil {
		return w.accept(c.Context)
	}
	return f(c)
}

// end completes operation i of those under way, and answers the context that the caller
// sees.
func (w *world) end(r, i, code int) any {
	context := w.under[i]
	w.under = append(w.under[:i], w.under[i+1:]...)
	return w.complete(r, context, code)
}

func (w *world) complete(r int, context any, code int) any {
	c := intercept.Completion{Entry: intercept.Entry{Context: context}, Err: code}
	if f := w.chains[r].Complete; f != nil {
		require.NoError(w.t, f(&c))
	}
	return c.Context
}

func (w *world) closing(hooks []*intercept.Hooks) {
	require.NoError(w.t, intercept.Tell(hooks, "endpoint_closing", func(h *intercept.Hooks) {
		if h.EndpointClosing != nil {
			h.EndpointClosing(w.view)
		}
	}))
}
