package bench

import (
	"fmt"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"golnx/lnx"
)

func init() {
	Register(Test{
		Name:   "lat",
		Help:   "half round trip of one message at a time",
		Iters:  latIters,
		Lead:   leadLat,
		Follow: followLat,
	})
}

func latIters(size int) int { return min(100_000, max(100, 1<<30/max(size, 1))) }

// longest bounds what the histogram tells apart, in ns; more counts as that much.
const longest = int64(100 * time.Second)

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
}

func newPingPong(e *End, p Params, mine, theirs uint64) *pingPong {
	t := &pingPong{End: e, p: p, mine: mine, theirs: theirs, from: e.Peer}
	t.out = newSlots(1, p.Size)[0]
	t.in = [2]slot(newSlots(2, p.Size))
	fill(t.out.buf, mine)
	return t
}

// postNext posts the next receive of the run, if there is one to come.
func (t *pingPong) postNext() error {
	if t.posted == t.p.total() {
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

func record(h *hdrhistogram.Histogram, d time.Duration) error {
	if h == nil {
		return nil
	}
	return h.RecordValue(min(int64(d), longest))
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
	histogram := hdrhistogram.New(1, longest, 3)
	total, err := t.lead(t.p.Warmup, t.p.Iters, histogram)
	if err != nil {
		return Result{}, err
	}
	return latResult(total, t.p.Iters, histogram, t.railCounts()), nil
}

// follow answers every message.
func (t *pingPong) follow() error {
	for i := range t.p.total() {
		if err := t.hear(); err != nil {
			return err
		}
		if err := t.say(i); err != nil {
			return err
		}
		if err := t.postNext(); err != nil {
			return err
		}
		if err := t.tell(i); err != nil {
			return err
		}
	}
	return t.settle(&t.out)
}

func leadLat(e *End, p Params) (Result, error) {
	t := newPingPong(e, p, tagLead, tagFollow)
	if err := t.begin(); err != nil {
		return Result{}, err
	}
	return t.measure()
}

func followLat(e *End, p Params) error {
	t := newPingPong(e, p, tagFollow, tagLead)
	if err := t.begin(); err != nil {
		return err
	}
	if err := e.Ready(); err != nil {
		return err
	}
	return t.follow()
}

// HalfRTT has half round trips in microseconds.
type HalfRTT struct {
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	Mean float64 `json:"mean"`
}

func latResult(total time.Duration, iters int, h *hdrhistogram.Histogram, rails []RailCount) Result {
	half := func(ns float64) float64 { return math.Round(ns/2*10) / 1e4 } // to 0.1 ns
	v := HalfRTT{
		P50:  half(float64(h.ValueAtQuantile(50))),
		P99:  half(float64(h.ValueAtQuantile(99))),
		Mean: half(float64(total.Nanoseconds()) / float64(iters)),
	}
	return Result{
		Key: "half_rtt_us", Value: v, Rails: rails,
		Cells: []Cell{
			{"p50 [us]", fmt.Sprintf("%.3f", v.P50)},
			{"p99 [us]", fmt.Sprintf("%.3f", v.P99)},
			{"mean [us]", fmt.Sprintf("%.3f", v.Mean)},
		},
	}
}
