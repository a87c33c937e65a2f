package timer_test

import (
	"fmt"
	"os"
	"time"

	"golnx/rail/intercept"
	"golnx/rail/timer"
)

// A command that records if the environment asks for it.
func Example() {
	cfg, err := timer.FromEnv(os.LookupEnv)
	if err != nil {
		fmt.Println(err) // a variable has a bad value
		return
	}
	if cfg == nil {
		fmt.Println("INTERCEPT_TIMER_DIR is not set")
		return
	}
	base := time.Now()
	unix := base.UnixNano()
	host, _ := os.Hostname()
	r, err := timer.New(*cfg, timer.Env{
		Clock: func() int64 { return unix + int64(time.Since(base)) },
		Ticker: func(d time.Duration) (<-chan time.Time, func()) {
			t := time.NewTicker(d)
			return t.C, t.Stop
		},
		Warn: os.Stderr,
		Host: host,
		PID:  os.Getpid(),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	defer intercept.Register(r.Hooks())()
	// open endpoints, send, close them
	// Output: INTERCEPT_TIMER_DIR is not set
}
