package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golnx/lnx"
)

// Blocking calls: pairs of goroutines, one at each end, that use Endpoint.Send and
// Endpoint.Recv. All goroutines of an end share its endpoint; each pair has tags of
// its own. The messages of a run are shared out among the pairs.

// pairShift is that of a pair's number in its tags.
const pairShift = 40

// worker is one goroutine's part.
type worker struct {
	*End
	p            *Params
	mine, theirs uint64
	out, in      slot
	next         int // message
	times        *Times
}

// blocking is one end of all pairs.
type blocking struct {
	*End
	p       Params
	workers []*worker
}

func newBlocking(e *End, p Params, mine, theirs uint64) *blocking {
	b := &blocking{End: e, p: p}
	for i := range p.Goroutines {
		t := &worker{End: e, p: &b.p, mine: mine | uint64(i)<<pairShift, theirs: theirs | uint64(i)<<pairShift, times: newTimes(2)}
		t.out, t.in = e.newSlots(1, p.Size)[0], e.newSlots(1, p.Size)[0]
		fill(t.out.buf, t.mine)
		b.workers = append(b.workers, t)
	}
	return b
}

// run has every goroutine do its share of n messages. The first to fail ends the
// others, and so does a time without progress.
func (b *blocking) run(n int, do func(t *worker, ctx context.Context, n int) error) error {
	ctx, cancel := context.WithCancelCause(b.ctx)
	defer cancel(nil)
	stop := b.watch(cancel)
	defer stop()
	errs := make([]error, len(b.workers))
	var all sync.WaitGroup
	for i, t := range b.workers {
		share := n / len(b.workers)
		if i < n%len(b.workers) {
			share++
		}
		all.Go(func() {
			if errs[i] = do(t, ctx, share); errs[i] != nil {
				cancel(errs[i])
			}
		})
	}
	all.Wait()
	if errors.Join(errs...) != nil {
		return context.Cause(ctx)
	}
	return nil
}

// watch cancels what makes no progress.
func (b *blocking) watch(cancel context.CancelCauseFunc) (stop func()) {
	seen := b.Done.Load()
	var look *time.Timer
	look = time.AfterFunc(b.limit, func() {
		now := b.Done.Load()
		if now == seen {
			cancel(fmt.Errorf("no message came or went for %v", b.limit))
			return
		}
		seen = now
		look.Reset(b.limit)
	})
	return func() { look.Stop() }
}

// say sends message n of the pair, which carries no payload if it acknowledges.
func (t *worker) say(ctx context.Context, n int, ack bool) error {
	tag, buf := t.mine|uint64(n), t.out.buf
	if ack {
		tag, buf = tag|tagAck, nil
	} else if t.p.Verify {
		fill(buf, tag)
	}
	t.Done.Add(1)
	return t.EP.Send(ctx, t.Peer, tag, buf)
}

// hear receives message n of the other goroutine.
func (t *worker) hear(ctx context.Context, n int, ack bool) error {
	tag, buf := t.theirs|uint64(n), t.in.buf
	if ack {
		tag, buf = tag|tagAck, nil
	}
	got, err := t.EP.Recv(ctx, t.Peer, tag, 0, buf)
	if err != nil || ack {
		return err
	}
	return t.check(&lnx.Entry{Context: &t.in, Len: got.Len, Tag: got.Tag, Src: got.From}, t.p)
}

// ping makes n round trips, pong answers them.
func (t *worker) ping(ctx context.Context, n int) error {
	for range n {
		start := time.Now()
		if err := t.say(ctx, t.next, false); err != nil {
			return err
		}
		if err := t.hear(ctx, t.next, false); err != nil {
			return err
		}
		if err := record(t.times.Histogram, time.Since(start)); err != nil {
			return err
		}
		t.next++
	}
	return nil
}

func (t *worker) pong(ctx context.Context, n int) error {
	for range n {
		if err := t.hear(ctx, t.next, false); err != nil {
			return err
		}
		if err := t.say(ctx, t.next, false); err != nil {
			return err
		}
		t.next++
	}
	return nil
}

// source sends n messages and waits for an acknowledgement after every window and
// after the last; sink receives and acknowledges.
func (t *worker) source(ctx context.Context, n int) error {
	return t.stream(n, func(ack bool) error {
		if ack {
			return t.hear(ctx, t.next, true)
		}
		return t.say(ctx, t.next, false)
	})
}

func (t *worker) sink(ctx context.Context, n int) error {
	return t.stream(n, func(ack bool) error {
		if ack {
			return t.say(ctx, t.next, true)
		}
		return t.hear(ctx, t.next, false)
	})
}

func (t *worker) stream(n int, do func(ack bool) error) error {
	for i := range n {
		if err := do(false); err != nil {
			return err
		}
		if (i+1)%t.p.Window == 0 || i == n-1 {
			if err := do(true); err != nil {
				return err
			}
		}
		t.next++
	}
	return nil
}

// lead measures what the goroutines do.
func (b *blocking) lead(do func(*worker, context.Context, int) error) (time.Duration, []RailCount, error) {
	if err := b.run(b.p.Warmup, do); err != nil {
		return 0, nil, err
	}
	for _, t := range b.workers {
		t.times.Reset()
	}
	b.mark()
	start := time.Now()
	err := b.run(b.p.Iters, do)
	return time.Since(start), b.railCounts(), err
}

// follow does the other end's part. Messages may come before their receives.
func (b *blocking) follow(do func(*worker, context.Context, int) error) error {
	if err := b.Ready(); err != nil {
		return err
	}
	for _, n := range []int{b.p.Warmup, b.p.Iters} {
		if err := b.run(n, do); err != nil {
			return err
		}
	}
	return nil
}

func leadBlockingLat(e *End, p Params) (Result, error) {
	b := newBlocking(e, p, tagLead, tagFollow)
	took, rails, err := b.lead((*worker).ping)
	if err != nil {
		return Result{}, err
	}
	times := newTimes(2)
	for _, t := range b.workers {
		times.Merge(t.times.Histogram)
	}
	v := times.spread()
	return Result{Key: "half_rtt_us", Value: v, Rails: rails, Took: took, Times: times, Cells: v.cells("")}, nil
}

func leadBlockingStream(e *End, p Params) (time.Duration, []RailCount, error) {
	return newBlocking(e, p, tagLead, tagFollow).lead((*worker).source)
}
