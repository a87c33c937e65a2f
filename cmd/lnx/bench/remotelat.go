package bench

import (
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// remoteLat is the test lat with an operation that answers something: one at a time, from
// its call to its completion.
func remoteLat(op *remoteOp) Test {
	return Test{
		Name: "lat", Op: op.name, Help: latHelp, MinSize: op.minSize, MaxSize: op.maxSize, Times: true, Iters: latIters,
		Lead:   func(e *End, p Params) (Result, error) { return leadRemoteLat(e, p, op) },
		Follow: func(e *End, p Params) error { return followRemoteStream(e, p, op) },
	}
}

func leadRemoteLat(e *End, p Params, op *remoteOp) (Result, error) {
	t, err := openRemote(e, p, op, true)
	if err != nil {
		return Result{}, err
	}
	if _, err := t.oneByOne(p.Warmup, nil); err != nil {
		return Result{}, err
	}
	t.mark()
	times := newTimes(1)
	took, err := t.oneByOne(p.total(), times.Histogram)
	if err != nil {
		return Result{}, err
	}
	rails := t.railCounts()
	return timed("op_us", took, p.Iters, times, rails), t.close()
}

// oneByOne does operations until the first end are over, and records how long each took,
// unless histogram is nil. The clock is read when one has been started.
func (t *remote) oneByOne(end int, histogram *hdrhistogram.Histogram) (time.Duration, error) {
	start := time.Now()
	var last time.Duration
	first := t.started
	for t.started < end {
		if err := t.begin(t.next()); err != nil {
			return 0, err
		}
		now := time.Since(start)
		if t.started > first+1 {
			if err := record(histogram, now-last); err != nil {
				return 0, err
			}
		}
		last = now
		for !t.idleNow() {
			if err := t.listen(); err != nil {
				return 0, err
			}
		}
		if t.p.Verify && t.op.seen != nil {
			if err := t.inspect(t.started); err != nil {
				return 0, err
			}
		}
	}
	took := time.Since(start)
	if first == end {
		return took, nil
	}
	return took, record(histogram, took-last)
}

// writeLat is the test lat with writes: there and back, each end waiting for the last
// byte in its memory.
func writeLat(op *remoteOp) Test {
	return Test{
		Name: "lat", Op: op.name, Help: latHelp, MinSize: op.minSize, MaxSize: op.maxSize, Times: true, Iters: latIters,
		Lead:   func(e *End, p Params) (Result, error) { return leadWriteLat(e, p, op) },
		Follow: func(e *End, p Params) error { return followWriteLat(e, p, op) },
	}
}

// writePing is one end of it. Every end reads the memory that the other writes: what
// counts as arrived is the last byte, as with fi_rma_pingpong, because the rails that
// there are write it last.
type writePing struct{ *remote }

// marker is the last byte of write n. It is not that of the one before, nor the 0 that is
// there at first.
func marker(n int) byte { return byte(n%255) + 1 }

func openWritePing(e *End, p Params, op *remoteOp, leads bool) (writePing, error) {
	plain := *op
	plain.before = nil // say does that
	t, err := openRemote(e, p, &plain, leads)
	return writePing{t}, err
}

// say writes number n.
func (t writePing) say(n int) error {
	s := t.next()
	if t.p.Verify {
		fill(s.buf, t.mine|uint64(n))
	}
	s.buf[len(s.buf)-1] = marker(n)
	return t.begin(s)
}

// hear waits for write n of the other end, and for this end's before it.
func (t writePing) hear(n int) error {
	last := len(t.mem) - 1
	for t.mem[last] != marker(n) || !t.idleNow() {
		if err := t.listen(); err != nil {
			return err
		}
	}
	if !t.p.Verify {
		return nil
	}
	if err := verify(t.mem[:last], t.theirs|uint64(n)); err != nil {
		return fmt.Errorf("write %d: %w", n, err)
	}
	return nil
}

// lead makes round trips until the first end are over, and records them, unless histogram
// is nil.
func (t writePing) lead(end int, histogram *hdrhistogram.Histogram) (time.Duration, error) {
	start := time.Now()
	var last time.Duration
	first := t.started
	for n := first; n < end; n++ {
		if err := t.say(n); err != nil {
			return 0, err
		}
		now := time.Since(start)
		if n > first {
			if err := record(histogram, now-last); err != nil {
				return 0, err
			}
		}
		last = now
		if err := t.hear(n); err != nil {
			return 0, err
		}
	}
	took := time.Since(start)
	if first == end {
		return took, nil
	}
	return took, record(histogram, took-last)
}

func leadWriteLat(e *End, p Params, op *remoteOp) (Result, error) {
	t, err := openWritePing(e, p, op, true)
	if err != nil {
		return Result{}, err
	}
	if _, err := t.lead(p.Warmup, nil); err != nil {
		return Result{}, err
	}
	t.mark()
	times := newTimes(2)
	took, err := t.lead(p.total(), times.Histogram)
	if err != nil {
		return Result{}, err
	}
	rails := t.railCounts()
	return latResult(took, p.Iters, times, rails), t.close()
}

func followWriteLat(e *End, p Params, op *remoteOp) error {
	t, err := openWritePing(e, p, op, false)
	if err != nil {
		return err
	}
	for n := range p.total() {
		if err := t.hear(n); err != nil {
			return err
		}
		if err := t.say(n); err != nil {
			return err
		}
	}
	for !t.idleNow() {
		if err := t.listen(); err != nil {
			return err
		}
	}
	return t.close()
}
