package timer

import (
	"sync/atomic"

	"golnx/rail/intercept"
)

// mostGaps is how many gaps wait for the writer.
const mostGaps = 4096

// lookout watches how often an endpoint's completion queue is looked after. Reads come
// from any goroutine, without a lock.
type lookout struct {
	last    atomic.Int64 // when it last was; 0 is never
	waiting atomic.Int32 // goroutines in CQ.Wait
}

// look notes that somebody looks after the queue now.
func (r *Recorder) look(ep *endpoint, now int64) {
	last := ep.gaps.last.Swap(now)
	if last != 0 && now-last > int64(r.cfg.CQGap) && ep.gaps.waiting.Load() == 0 {
		r.addGap(CQGap{Start: last, End: now, Endpoint: ep.id})
	}
}

func (r *Recorder) cqRead(e *intercept.Endpoint, entries []intercept.Entry, next func([]intercept.Entry) (int, error)) (int, error) {
	if ep := r.endpoint(e.ID); ep != nil {
		r.look(ep, r.clock())
	}
	return next(entries)
}

func (r *Recorder) cqWait(e *intercept.Endpoint, entries []intercept.Entry, next func([]intercept.Entry) (int, error)) (int, error) {
	ep := r.endpoint(e.ID)
	if ep == nil {
		return next(entries)
	}
	r.look(ep, r.clock())
	ep.gaps.waiting.Add(1)
	defer func() {
		ep.gaps.last.Store(r.clock())
		ep.gaps.waiting.Add(-1)
	}()
	return next(entries)
}
