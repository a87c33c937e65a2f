package bench

import "time"

// remoteRate is the test rate with an operation on memory.
func remoteRate(op *remoteOp) Test {
	return remoteStream(op, Test{Name: "rate", Help: rateHelp, Window: rateWindow, Iters: rateIters},
		func(p Params, took time.Duration, rails []RailCount) Result {
			return rateResult(p, took, rails, "ops_per_s", "op")
		})
}

// remoteBW is the test bw with an operation on memory.
func remoteBW(op *remoteOp) Test {
	return remoteStream(op, Test{Name: "bw", Help: bwHelp, Size: bwSize, Window: bwWindow, Iters: bwIters}, bwResult)
}

func remoteStream(op *remoteOp, t Test, result func(Params, time.Duration, []RailCount) Result) Test {
	t.Op, t.MinSize, t.MaxSize, t.Both = op.name, op.minSize, op.maxSize, true
	t.Lead = func(e *End, p Params) (Result, error) {
		took, rails, err := leadRemoteStream(e, p, op)
		if err != nil {
			return Result{}, err
		}
		return result(p, took, rails), nil
	}
	t.Follow = func(e *End, p Params) error { return followRemoteStream(e, p, op) }
	return t
}

// run goes on until the first end operations are over, and those of the other end, if
// they are verified.
func (t *remote) run(end int) error {
	if !t.p.Verify || t.op.seen == nil {
		return t.burst(end)
	}
	for t.checked < end {
		next := min(t.checked+len(t.out), end)
		if err := t.burst(next); err != nil {
			return err
		}
		if err := t.inspect(next); err != nil {
			return err
		}
	}
	return nil
}

// inspect has both ends check what was done to their memory, and go on together.
func (t *remote) inspect(end int) error {
	first := t.checked
	t.checked = end
	if err := t.meet(); err != nil {
		return err
	}
	if t.suffers {
		if err := t.op.seen(t, first, end); err != nil {
			return err
		}
	}
	return t.meet()
}

// burst keeps a window of operations under way until the first end are over.
func (t *remote) burst(end int) error {
	if !t.acts {
		return nil
	}
	for t.started < end || !t.idleNow() {
		for t.started < end && len(t.free) > 0 {
			if err := t.begin(t.next()); err != nil {
				return err
			}
		}
		if err := t.listen(); err != nil {
			return err
		}
	}
	return nil
}

// leadRemoteStream measures how long Params.Iters operations take, of each end that has
// any.
func leadRemoteStream(e *End, p Params, op *remoteOp) (time.Duration, []RailCount, error) {
	t, err := openRemote(e, p, op, true)
	if err != nil {
		return 0, nil, err
	}
	if err := t.run(p.Warmup); err != nil {
		return 0, nil, err
	}
	t.mark()
	start := time.Now()
	if err := t.run(p.total()); err != nil {
		return 0, nil, err
	}
	rails := t.railCounts()
	if p.Both {
		if err := t.meet(); err != nil {
			return 0, nil, err
		}
	}
	return time.Since(start), rails, t.close()
}

// followRemoteStream is the other end.
func followRemoteStream(e *End, p Params, op *remoteOp) error {
	t, err := openRemote(e, p, op, false)
	if err != nil {
		return err
	}
	for _, end := range []int{p.Warmup, p.total()} {
		if err := t.run(end); err != nil {
			return err
		}
	}
	if p.Both {
		if err := t.meet(); err != nil {
			return err
		}
	}
	return t.close()
}
