package lnx

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golnx/rail/flags"
	"golnx/rail/intercept"
	"golnx/rail/timer"
)

// Recorders that the environment asks for belong to the process: endpoints come and go,
// and one file has what all of them did. They are found by what is configured.
var recorders struct {
	sync.Mutex
	flags  map[string]*flags.Recorder
	timers map[string]*timer.Recorder
	hooks  map[any]*intercept.Hooks
}

// recording answers the consumers that the variables INTERCEPT_FLAGS_DIR and
// INTERCEPT_TIMER_DIR, and those that go with them, turn on. The flags recorder is to be
// outermost, where it sees what the program asked for, and the timer innermost, where
// it sees what the provider takes.
func recording(lookup func(string) (string, bool)) (outer, inner []*intercept.Hooks, err error) {
	recorders.Lock()
	defer recorders.Unlock()
	if recorders.hooks == nil {
		recorders.flags, recorders.timers, recorders.hooks = map[string]*flags.Recorder{}, map[string]*timer.Recorder{}, map[any]*intercept.Hooks{}
	}
	cfg, err := timer.FromEnv(lookup)
	if err != nil {
		return nil, nil, err
	}
	if cfg != nil {
		key := fmt.Sprintf("%+v", *cfg)
		r := recorders.timers[key]
		if r == nil {
			if r, err = timer.New(*cfg, timerEnv()); err != nil {
				return nil, nil, err
			}
			recorders.timers[key], recorders.hooks[r] = r, r.Hooks()
		}
		inner = []*intercept.Hooks{recorders.hooks[r]}
	}
	dir, _ := lookup("INTERCEPT_FLAGS_DIR")
	most, _ := lookup("INTERCEPT_FLAGS_RESULTS_MAX")
	key := dir + "\x00" + most
	r := recorders.flags[key]
	if r == nil {
		if r, err = flags.FromEnv(lookup, os.Stderr); err != nil || r == nil {
			return nil, inner, err
		}
		recorders.flags[key], recorders.hooks[r] = r, r.Hooks()
	}
	return []*intercept.Hooks{recorders.hooks[r]}, inner, nil
}

func timerEnv() timer.Env {
	base := time.Now()
	unix := base.UnixNano()
	host, _ := os.Hostname() // what is not known is left out
	return timer.Env{
		Clock: func() int64 { return unix + int64(time.Since(base)) },
		Ticker: func(d time.Duration) (<-chan time.Time, func()) {
			t := time.NewTicker(d)
			return t.C, t.Stop
		},
		Warn: os.Stderr,
		Host: host,
		PID:  os.Getpid(),
	}
}

// StopRecording ends what INTERCEPT_TIMER_DIR and INTERCEPT_FLAGS_DIR turned on, and
// closes the files. A program that closes its endpoints has everything in the files
// without it; this adds the end of the recording to the description, and tells what
// went wrong. Endpoints that are still open go on unrecorded.
func StopRecording() error {
	recorders.Lock()
	defer recorders.Unlock()
	var errs []error
	for _, r := range recorders.timers {
		errs = append(errs, r.Close())
	}
	for _, r := range recorders.flags {
		errs = append(errs, r.Close())
	}
	recorders.timers, recorders.flags, recorders.hooks = nil, nil, nil
	return errors.Join(errs...)
}
