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
	running map[string]recorder
}

type recorder struct {
	hooks *intercept.Hooks
	close func() error
}

// recording answers the hooks of the recorder with these settings. If none runs, it is
// started.
func recording(settings string, start func() (recorder, error)) ([]*intercept.Hooks, error) {
	recorders.Lock()
	defer recorders.Unlock()
	r, ok := recorders.running[settings]
	if !ok {
		var err error
		if r, err = start(); err != nil {
			return nil, err
		}
		if recorders.running == nil {
			recorders.running = map[string]recorder{}
		}
		recorders.running[settings] = r
	}
	return []*intercept.Hooks{r.hooks}, nil
}

// timerConfig is what INTERCEPT_TIMER_DIR, and the variables that go with it, ask for;
// nil if that is nothing.
func timerConfig(lookup func(string) (string, bool)) (*timer.Config, error) {
	cfg, err := timer.FromEnv(lookup)
	if cfg == nil || err != nil {
		return nil, err
	}
	return cfg, cfg.Check(nil)
}

// timerHooks are those of the op timer. Its files are made when the first endpoint opens:
// who only looks at what there is leaves the files of an earlier run alone.
func timerHooks(cfg *timer.Config) ([]*intercept.Hooks, error) {
	if cfg == nil {
		return nil, nil
	}
	return recording(fmt.Sprintf("timer %+v", *cfg), func() (recorder, error) {
		r, err := timer.New(*cfg, timerEnv())
		if err != nil {
			return recorder{}, err
		}
		return recorder{r.Hooks(), r.Close}, nil
	})
}

// flagsHooks are those of the recorder that INTERCEPT_FLAGS_DIR turns on, which begins
// with the first call of Links.
func flagsHooks(lookup func(string) (string, bool)) ([]*intercept.Hooks, error) {
	dir, _ := lookup("INTERCEPT_FLAGS_DIR")
	if dir == "" {
		return nil, nil
	}
	most, _ := lookup("INTERCEPT_FLAGS_RESULTS_MAX")
	return recording(fmt.Sprintf("flags %q %q", dir, most), func() (recorder, error) {
		r, err := flags.FromEnv(lookup, os.Stderr)
		if err != nil {
			return recorder{}, err
		}
		return recorder{r.Hooks(), r.Close}, nil
	})
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
// went wrong. Endpoints that are still open go on unrecorded. One that is opened later
// begins a new recording, which replaces the files.
func StopRecording() error {
	recorders.Lock()
	defer recorders.Unlock()
	var errs []error
	for _, r := range recorders.running {
		errs = append(errs, r.close())
	}
	recorders.running = nil
	return errors.Join(errs...)
}
