package bench

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"golnx/lnx"
)

func init() {
	Register(Test{
		Name:       "lat",
		Help:       latHelp,
		Times:      true,
		Goroutines: true,
		Iters:      latIters,
		Lead:       leadLat,
		Follow:     followLat,
	})
}

// latHelp is what the test is with every operation.
const latHelp = "half round trip of one message at a time, or how long one operation takes that fetches something"

func latIters(size int) int { return min(100_000, max(100, 1<<30/max(size, 1))) }

// pingPong has one end's state of the test. Two receives are posted ahead, so that
// none is posted between a message and its answer.
type pingPong struct {
	*End
	p       Params
	out     slot
	in      [2]slot
	mine    uint64 // tags
	theirs  uint64
	shift   int      // of the numbers in them
	from    lnx.Addr // of the receives
	ignore  uint64
	arrived bool
	posted  int
	total   int // messages each way
}

func newPingPong(e *End, p Params, mine, theirs uint64) *pingPong {
	t := &pingPong{End: e, p: p, mine: mine, theirs: theirs, from: e.Peer, total: p.total()}
	t.out = e.newMessages(1, &p)[0]
	t.in = [2]slot(e.newMessages(2, &p))
	fill(t.out.buf, mine)
	return t
}

// postNext posts the next receive of the run, if there is one to come.
func (t *pingPong) postNext() error {
	if t.posted == t.total {
		return nil
	}
	s := &t.in[t.posted%2]
	t.posted++
	return t.postFrom(s, t.from, t.theirs|uint64(t.posted-1)<<t.shift, t.ignore)
}

// say sends message n.
func (t *pingPong) say(n int) error {
	tag := t.mine | uint64(n)<<t.shift
	if t.p.Verify {
		fill(t.out.buf, tag)
	}
	return t.send(&t.out, tag)
}

// hear waits for the next message and for the end of the send before it.
func (t *pingPong) hear() error {
	for !t.arrived || t.out.busy > 0 {
		if err := t.listen(); err != nil {
			return err
		}
	}
	t.arrived = false
	return nil
}

// listen looks for completions and notes the next message.
func (t *pingPong) listen() error {
	done, err := t.read()
	if err != nil {
		return err
	}
	return t.take(done)
}

func (t *pingPong) take(done []lnx.Entry) error {
	for i := range done {
		if done[i].Flags&lnx.FlagRecv == 0 || done[i].Tag&tagDecoy != 0 {
			continue
		}
		t.arrived = true
		if err := t.check(&done[i], &t.p); err != nil {
			return err
		}
	}
	return nil
}

// lead makes n round trips and records them, unless histogram is nil. Everything
// but the send happens while the message is under way.
func (t *pingPong) lead(first, n int, histogram *hdrhistogram.Histogram) (time.Duration, error) {
	start := time.Now()
	var last time.Duration
	for i := first; i < first+n; i++ {
		if err := t.say(i); err != nil {
			return 0, err
		}
		now := time.Since(start)
		if i > first {
			if err := record(histogram, now-last); err != nil {
				return 0, err
			}
			if err := t.postNext(); err != nil {
				return 0, err
			}
		}
		last = now
		if err := t.tell(i); err != nil {
			return 0, err
		}
		if err := t.hear(); err != nil {
			return 0, err
		}
	}
	total := time.Since(start)
	if n == 0 {
		return total, nil
	}
	if err := record(histogram, total-last); err != nil {
		return 0, err
	}
	return total, t.postNext()
}

// begin posts the first receives.
func (t *pingPong) begin() error {
	for range t.in {
		if err := t.postNext(); err != nil {
			return err
		}
	}
	return nil
}

// measure makes the round trips, the warm-up first.
func (t *pingPong) measure() (Result, error) {
	if _, err := t.lead(0, t.p.Warmup, nil); err != nil {
		return Result{}, err
	}
	t.mark()
	times := newTimes(2)
	took, err := t.lead(t.p.Warmup, t.p.Iters, times.Histogram)
	if err != nil {
		return Result{}, err
	}
	return latResult(took, t.p.Iters, times, t.railCounts()), nil
}

// follow answers every message.
func (t *pingPong) follow() error {
	for i := range t.total {
		if err := t.answer(i, t.hear); err != nil {
			return err
		}
	}
	return t.settle(&t.out)
}

// answer hears message i and answers it.
func (t *pingPong) answer(i int, hear func() error) error {
	if err := hear(); err != nil {
		return err
	}
	if err := t.say(i); err != nil {
		return err
	}
	if err := t.postNext(); err != nil {
		return err
	}
	return t.tell(i)
}

func leadLat(e *End, p Params) (Result, error) {
	if p.Goroutines > 0 {
		return leadBlockingLat(e, p)
	}
	t := newPingPong(e, p, tagLead, tagFollow)
	if err := t.begin(); err != nil {
		return Result{}, err
	}
	return t.measure()
}

func followLat(e *End, p Params) error {
	if p.Goroutines > 0 {
		return newBlocking(e, p, tagFollow, tagLead).follow((*worker).pong)
	}
	t := newPingPong(e, p, tagFollow, tagLead)
	if err := t.begin(); err != nil {
		return err
	}
	if err := e.Ready(); err != nil {
		return err
	}
	return t.follow()
}

// latResult has half round trips. The mean is that of the whole time.
func latResult(took time.Duration, iters int, times *Times, rails []RailCount) Result {
	return timed("half_rtt_us", took, iters, times, rails)
}

func timed(key string, took time.Duration, iters int, times *Times, rails []RailCount) Result {
	v := times.spread()
	v.Mean = times.us(float64(took.Nanoseconds()) / float64(iters))
	return Result{Key: key, Value: v, Rails: rails, Took: took, Times: times, Cells: v.cells("")}
}
