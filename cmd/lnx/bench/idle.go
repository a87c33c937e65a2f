package bench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

func init() {
	Register(Test{
		Name:   "idle",
		Help:   "processor time of a waiting end, and how soon a message wakes it",
		Times:  true,
		Iters:  func(int) int { return 200 },
		Lead:   leadIdle,
		Follow: followIdle,
	})
}

// idleFor is how long an end is idle for its processor time to be measured: longest,
// and for each message that is to wake the other end, where those are few.
const (
	idleFor     = time.Second
	idleForEach = 10 * time.Millisecond
)

// polling is the test before this one, which tells what a round trip takes that wakes
// nobody.
func polling(p Params) Params {
	return Params{Test: "lat", Op: p.Op, Size: p.Size, Iters: 1000, Warmup: 100, Verify: p.Verify}
}

// Pauses between the messages that wake the other end, which by then sleeps as deeply
// as it will. They differ, so as not to be in step with its sleep.
const (
	shortestPause = 5 * time.Millisecond
	pauseSpread   = 10 * time.Millisecond
)

// Idle is what waiting costs.
type Idle struct {
	// CPUPercent is the processor time of the whole process, of one processor.
	CPUPercent float64 `json:"cpu_percent"`
	// WakeUp is the time from a send to an end that sleeps until its answer is
	// here, in microseconds: the way there, the wake-up, and the way back.
	WakeUp Spread `json:"wakeup_us"`
	// HalfRTT is half a round trip while both ends poll, the median, in
	// microseconds: about what either way has in WakeUp.
	HalfRTT float64 `json:"half_rtt_us"`
}

func leadIdle(e *End, p Params) (Result, error) {
	polled, err := leadLat(e, polling(p))
	if err != nil {
		return Result{}, err
	}
	t := newPingPong(e, p, tagLead, tagFollow)
	if err := t.begin(); err != nil {
		return Result{}, err
	}
	if _, err := t.lead(0, p.Warmup, nil); err != nil {
		return Result{}, err
	}
	cpu, err := e.idleCPU(min(idleFor, time.Duration(p.Iters)*idleForEach))
	if err != nil {
		return Result{}, err
	}
	e.mark()
	start := time.Now()
	woken := newTimes(1)
	for i := range p.Iters {
		if err := e.pause(pauseBefore(i)); err != nil {
			return Result{}, err
		}
		took, err := t.lead(p.Warmup+i, 1, nil)
		if err != nil {
			return Result{}, err
		}
		if err := record(woken.Histogram, took); err != nil {
			return Result{}, err
		}
	}
	return idleResult(time.Since(start), cpu, woken, polled.Times, e.railCounts()), nil
}

func idleResult(took time.Duration, cpu float64, woken, polled *Times, rails []RailCount) Result {
	v := Idle{CPUPercent: math.Round(cpu*100) / 100, WakeUp: woken.spread(), HalfRTT: polled.spread().P50}
	return Result{
		Key: "idle", Value: v, Rails: rails, Took: took, Times: woken,
		Cells: slices.Concat([]Cell{{"idle CPU [%]", fmt.Sprintf("%.2f", v.CPUPercent)}}, v.WakeUp.cells("wake-up "),
			[]Cell{{"polling half RTT [us]", fmt.Sprintf("%.3f", v.HalfRTT)}}),
	}
}

// followIdle waits for messages, but polls during the warm-up and before it.
func followIdle(e *End, p Params) error {
	if err := followLat(e, polling(p)); err != nil {
		return err
	}
	t := newPingPong(e, p, tagFollow, tagLead)
	if err := t.begin(); err != nil {
		return err
	}
	for i := range p.total() {
		hear := t.hear
		if i >= p.Warmup {
			hear = t.hearAsleep
		}
		if err := t.answer(i, hear); err != nil {
			return err
		}
	}
	return t.settle(&t.out)
}

// hearAsleep is hear that waits where hear polls.
func (t *pingPong) hearAsleep() error {
	ctx, cancel := context.WithTimeoutCause(t.ctx, t.limit, fmt.Errorf("no message came for %v", t.limit))
	defer cancel()
	for !t.arrived || t.out.busy > 0 {
		done, err := t.wait(ctx)
		if err != nil {
			return err
		}
		if err := t.take(done); err != nil {
			return err
		}
	}
	t.arrived = false
	return nil
}

// pauseBefore answers the pause before message i, spread evenly over the span.
func pauseBefore(i int) time.Duration {
	const golden = 0x9e3779b9 // of 1<<32
	return shortestPause + time.Duration(uint64(uint32(i)*golden)*uint64(pauseSpread)>>32)
}

// pause is idle for some time: nothing is under way.
func (e *End) pause(d time.Duration) error {
	ctx, cancel := context.WithTimeout(e.ctx, d)
	defer cancel()
	done, err := e.wait(ctx)
	switch {
	case len(done) > 0:
		return fmt.Errorf("message %#x came when none was expected", done[0].Tag)
	case ctx.Err() != nil:
		return e.stopped()
	}
	return err
}

// idleCPU answers the processor time while an end is idle for so long, in percent.
func (e *End) idleCPU(d time.Duration) (float64, error) {
	before, err := cpuTime()
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := e.pause(d); err != nil {
		return 0, err
	}
	took := time.Since(start)
	after, err := cpuTime()
	if err != nil {
		return 0, err
	}
	return 100 * float64(after-before) / float64(took), nil
}

// cpuTime is the processor time of this process so far.
func cpuTime() (time.Duration, error) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, err
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
