package timer

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golnx/rail/timer/nic"
)

// Env is what a recorder gets from whoever makes it.
type Env struct {
	// Clock answers Unix nanoseconds and never goes back. Two calls of it are most of
	// what the timer costs. The example of the package has the cheapest: the wall clock
	// once, and what has passed since by the monotonic one.
	Clock func() int64
	// Ticker answers a channel with a value every d, and what stops it: the C and
	// Stop of a time.Ticker. Without one, what is recorded is written when it has
	// become much, when an endpoint closes, and in the end; there are no NIC counters
	// then.
	Ticker func(d time.Duration) (ticks <-chan time.Time, stop func())
	// Warn takes at most one line for each thing that ends; nil for nowhere. It may be
	// called from any goroutine, from one at a time.
	Warn io.Writer
	// Host and PID go into the Meta.
	Host string
	PID  int
	// Sources is where NIC counters come from; nil is nic.All("").
	Sources []nic.Source

	create             func(string) (file, error)
	slotCount, records int
}

// flushEvery is how long a row waits at most before it is in its file.
const flushEvery = 250 * time.Millisecond

// Recorder records the operations of a process's endpoints. Its methods can be called
// from any goroutine.
type Recorder struct {
	cfg                 Config
	env                 Env
	clock               func() int64
	began               int64
	ringSize, slotCount int

	// off says that no more operations are recorded.
	off atomic.Bool
	// index has the endpoints at their numbers.
	index atomic.Pointer[[]atomic.Pointer[endpoint]]

	mu        sync.Mutex
	endpoints []*endpoint
	waiting   rows
	links     map[Link]uint32
	counts    OpCounts // of endpoints that are gone
	gapsLost  uint64
	failed    error

	writer  *writer
	sampler *sampler
	wake    chan struct{}
	flushes chan chan struct{}
	stop    chan struct{}
	done    sync.WaitGroup
	closing sync.Once
	closed  error
}

// rows wait for the writer. They are few.
type rows struct {
	endpoints []Endpoint
	links     []Link
	gaps      []CQGap
}

// New makes the files and starts to record what the hooks bring. It is an error if
// another process records the same rank in the same directory, or if the configuration
// asks for NICs that are not there; files of an earlier run are replaced.
func New(cfg Config, env Env) (*Recorder, error) {
	if cfg.Dir == "" {
		return nil, errors.New("op timer: no directory is given (" + dirKnob + ")")
	}
	if env.Clock == nil {
		return nil, errors.New("op timer: Env.Clock is not set")
	}
	if cfg.NIC && env.Ticker == nil {
		return nil, errors.New("op timer: NIC counters need Env.Ticker")
	}
	if cfg.NICEvery <= 0 {
		cfg.NICEvery = defaultNICEvery
	}
	if env.Sources == nil {
		env.Sources = nic.All("")
	}
	if env.create == nil {
		env.create = createFile
	}
	r := &Recorder{
		cfg: cfg, env: env, clock: env.Clock, began: env.Clock(),
		ringSize: powerOfTwo(env.records, recordsPerEndpoint), slotCount: cmp.Or(env.slotCount, slotsPerEndpoint),
		links: map[Link]uint32{}, wake: make(chan struct{}, 1), flushes: make(chan chan struct{}), stop: make(chan struct{}),
	}
	r.index.Store(new([]atomic.Pointer[endpoint]))
	if err := r.open(); err != nil {
		return nil, fmt.Errorf("op timer: %w", err)
	}
	r.start()
	return r, nil
}

func powerOfTwo(n, unset int) int {
	if n <= 0 {
		return unset
	}
	return 1 << bits.Len(uint(n-1))
}

func (r *Recorder) open() (err error) {
	if err := r.cfg.Check(r.env.Sources); err != nil {
		return err
	}
	if err := os.MkdirAll(r.cfg.Dir, 0o777); err != nil {
		return fmt.Errorf("%s=%q: %w", dirKnob, r.cfg.Dir, err)
	}
	if r.writer, err = newWriter(r); err != nil {
		return err
	}
	if r.cfg.NIC {
		if r.sampler, err = newSampler(r); err != nil {
			r.writer.close()
			return err
		}
	}
	if err := r.writer.meta.write(r.meta("")); err != nil {
		r.sampler.close()
		r.writer.close()
		return err
	}
	return nil
}

func (r *Recorder) start() {
	r.done.Go(r.writer.run)
	if r.sampler != nil {
		r.done.Go(r.sampler.run)
	}
}

// Flush writes what has completed until now, reads the NICs once more, and waits until
// all of it is in the files.
func (r *Recorder) Flush() {
	if r.sampler != nil {
		r.sampler.flush()
	}
	written := make(chan struct{})
	select {
	case r.flushes <- written:
		<-written
	case <-r.stop:
	}
}

// Close ends recording: it writes everything, ends the goroutines and closes the files.
// Hooks that are still registered do nothing from now on but give contexts back. The
// error is what ended recording early, other than a limit; it has been written to
// Env.Warn already, unless closing itself found it.
func (r *Recorder) Close() error {
	r.closing.Do(func() {
		r.off.Store(true)
		close(r.stop)
		r.done.Wait()
		r.mu.Lock()
		r.closed = r.failed
		r.mu.Unlock()
		ended := "closed"
		if r.closed != nil {
			ended = r.closed.Error()
		}
		r.closed = errors.Join(r.closed, r.writer.meta.write(r.meta(ended)), r.sampler.close(), r.writer.close())
	})
	return r.closed
}

func (r *Recorder) wakeWriter() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// opsEnded is told when operations cannot be written any more.
func (r *Recorder) opsEnded(cause error) {
	r.off.Store(true)
	r.ended(cause, "no more operations are recorded")
}

// ended warns that a file has ended. What is no limit ends all of them, with one warning.
func (r *Recorder) ended(cause error, what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if limit := (*limitError)(nil); !errors.As(cause, &limit) {
		r.off.Store(true)
		if r.failed != nil {
			return
		}
		r.failed = cause
		what = "recording has ended"
	}
	r.warnLocked(fmt.Sprintf("%v: %s", cause, what))
}

func (r *Recorder) warn(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.warnLocked(text)
}

func (r *Recorder) warnLocked(text string) {
	if r.env.Warn != nil {
		fmt.Fprintf(r.env.Warn, "golnx op timer: %s\n", text)
	}
}

// broken says whether an error has ended recording.
func (r *Recorder) broken() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed != nil
}
