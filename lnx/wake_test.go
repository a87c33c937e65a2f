package lnx

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"golnx/providers/fierr"
)

// promptly is how soon a call ends that is ended, as a rule; what is slower has
// waited for a processor.
const promptly = 100 * time.Millisecond

// sleepLong makes an endpoint sleep for so long that only what wakes it ends a wait.
func sleepLong(ep *Endpoint) {
	ep.wait.nap, ep.bells.nap = time.Hour, time.Hour
}

// wakes are what ends CQ.Wait of b while it sleeps: each is made from another
// goroutine, and answers what Wait should.
var wakes = []struct {
	name string
	end  func(t *testing.T, b *Endpoint, self Addr, cancel func()) (want error)
}{
	{"the context", func(_ *testing.T, _ *Endpoint, _ Addr, cancel func()) error {
		cancel()
		return context.Canceled
	}},
	{"CQ.Signal", func(_ *testing.T, b *Endpoint, _ Addr, _ func()) error {
		b.CQ().Signal()
		return fierr.EAgain
	}},
	{"a message that another goroutine sends", func(t *testing.T, b *Endpoint, self Addr, _ func()) error {
		return sendToWaiter(t, b, self, 1)
	}},
	{"a large one", func(t *testing.T, b *Endpoint, self Addr, _ func()) error {
		return sendToWaiter(t, b, self, bigSend)
	}},
}

const wakeTag = 7

func sendToWaiter(t *testing.T, b *Endpoint, self Addr, size int) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), pairLimit)
	defer cancel()
	require.NoError(t, b.Send(ctx, self, wakeTag, make([]byte, size)))
	return nil
}

// A call of CQ.Wait that sleeps ends at once when its context ends, when it is
// signaled and when another goroutine brings it a completion; with nothing else
// going on, whether it drives the rails itself or leaves that to another call.
func TestWaitIsWoken(t *testing.T) {
	for _, links := range []string{"shm", "tcp:lo", "shm+tcp:lo"} {
		t.Run(links, func(t *testing.T) {
			_, b, _, _ := connected(t, Options{Links: links})
			self, _ := connect(t, b, b)
			sleepLong(b)
			for _, w := range wakes {
				for _, leads := range []bool{true, false} {
					t.Run(fmt.Sprintf("%s/leads=%v", w.name, leads), func(t *testing.T) {
						var took []time.Duration
						for range 15 {
							took = append(took, wakeOnce(t, b, self, leads, w.end))
						}
						slices.Sort(took)
						t.Logf("%v, at most %v", took[len(took)/2], took[len(took)-1])
						require.Less(t, took[len(took)/2], promptly, "the median of %v", took)
					})
				}
			}
		})
	}
}

// wakeOnce answers how long a wait lasts after end was called.
func wakeOnce(t *testing.T, b *Endpoint, self Addr, leads bool, end func(*testing.T, *Endpoint, Addr, func()) error) time.Duration {
	t.Helper()
	p := &leadPair{t: t, b: b}
	leaderCtx, leaderStop := context.WithCancel(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var leader <-chan error
	if !leads {
		leader = calling(func() error { _, err := b.Recv(leaderCtx, self, wakeTag+1, 0, nil); return err })
		soon(t, p.leads, "the other call drives the rails")
	}
	var e [1]Entry
	require.NoError(t, b.TRecv(make([]byte, bigSend), self, wakeTag, 0, "recv"))
	wait := calling(func() error { _, err := b.CQ().Wait(ctx, e[:]); return err })
	soon(t, p.leads, "the rails are driven by a call that sleeps")
	soon(t, func() bool { return leads || p.others() == 1 }, "Wait leaves it to the other call")

	begun := time.Now()
	want := end(t, b, self, cancel)
	err := outcome(t, wait, "Wait")
	took := time.Since(begun)
	require.ErrorIs(t, err, want)
	if want == nil {
		require.Equal(t, "recv", e[0].Context)
	} else {
		require.NoError(t, b.Cancel("recv"))
		_, err := b.CQ().ReadErr()
		require.NoError(t, err)
	}
	leaderStop()
	if leader != nil {
		require.ErrorIs(t, outcome(t, leader, "Recv"), context.Canceled)
	}
	return took
}

// Where every rail has a descriptor, messages alone wake a sleeper, from the first on.
func TestDescriptorsWake(t *testing.T) {
	a, b, toB, toA := pair(t, Options{Links: "tcp:lo", Lookup: env(nil)})
	sleepLong(a)
	sleepLong(b)
	for _, size := range []int{0, 8, 16_384, 16_385, 1 << 20, 4 << 20} {
		var e [1]Entry
		require.NoError(t, b.TRecv(make([]byte, size), toA, wakeTag, 0, size))
		wait := calling(func() error { _, err := b.CQ().Wait(t.Context(), e[:]); return err })
		soon(t, b.wait.sleeping.Load, "it sleeps")
		sent := calling(func() error { return a.Send(t.Context(), toB, wakeTag, make([]byte, size)) })
		require.NoError(t, outcome(t, wait, "Wait for %d bytes", size))
		require.NoError(t, outcome(t, sent, "Send of %d bytes", size))
		require.Equal(t, Entry{Context: size, Flags: FlagTagged | FlagRecv, Len: size, Tag: wakeTag, Src: toA}, e[0])
	}
}

// A call that waits in vain sleeps nearly all of the time.
func TestIdleWaitSleeps(t *testing.T) {
	for _, links := range []string{"shm", "tcp:lo", "shm+tcp:lo"} {
		t.Run(links, func(t *testing.T) {
			_, b, _, _ := connected(t, Options{Links: links})
			const while = 400 * time.Millisecond
			ctx, cancel := context.WithTimeout(t.Context(), while)
			defer cancel()
			before := processorTime(t)
			_, err := b.CQ().Wait(ctx, make([]Entry, 1))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			used := processorTime(t) - before
			t.Logf("%v of %v", used, while)
			require.Less(t, used, while*3/10)
		})
	}
}

// processorTime is what the process has used.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u unix.Rusage
	require.NoError(t, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
