package lnx

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/mr"
	"golnx/providers/fierr"
	"golnx/rail"
	"golnx/rail/intercept"
)

// exiting runs f on a goroutine that it ends, and waits for the end.
func exiting(t *testing.T, f func()) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		result := errors.New("it returned")
		defer func() { done <- result }()
		defer func() {
			if v := recover(); v == nil {
				result = nil
			}
		}()
		f()
		result = errors.New("it returned")
		panic(result)
	}()
	require.NoError(t, outcome(t, done, "the goroutine"))
}

// gone asserts that an endpoint has closed itself: calls say why, and Close returns.
func gone(t *testing.T, ep *Endpoint, by string) {
	t.Helper()
	_, read := ep.CQ().Read(make([]Entry, 1))
	_, waited := ep.CQ().Wait(t.Context(), make([]Entry, 1))
	_, inserted := ep.AV().Insert(ep.Name())
	_, received := ep.Recv(t.Context(), AddrUnspec, 1, 0, nil)
	for _, err := range []error{read, waited, inserted, received, ep.TSend(nil, 0, 1, nil), ep.TRecv(nil, AddrUnspec, 1, 0, nil)} {
		require.ErrorIs(t, err, ErrClosed)
		require.ErrorIs(t, err, fierr.EBadF)
		require.ErrorContains(t, err, by+" ended its goroutine")
	}
	require.NoError(t, outcome(t, calling(ep.Close), "Close"))
	require.NoError(t, ep.Close())
	process.mu.Lock()
	defer process.mu.Unlock()
	require.NotContains(t, process.open, ep)
}

// hookExits are consumers that end the goroutine in one place, once armed, each with what
// gets it there. before and after are around next.
func hookExits(armed *atomic.Bool) map[string]*intercept.Hooks {
	exit := func() {
		if armed.CompareAndSwap(true, false) {
			runtime.Goexit()
		}
	}
	send := func(before bool) intercept.SendFunc {
		return func(_ *intercept.Rail, c *intercept.Send, next func(*intercept.Send) error) error {
			if before {
				exit()
			}
			err := next(c)
			exit()
			return err
		}
	}
	recv := func(before bool) intercept.RecvFunc {
		return func(_ *intercept.Rail, c *intercept.Recv, next func(*intercept.Recv) error) error {
			if before {
				exit()
			}
			err := next(c)
			exit()
			return err
		}
	}
	return map[string]*intercept.Hooks{
		"send before next": {TSend: send(true)},
		"send after next":  {TSend: send(false)},
		"recv before next": {TRecv: recv(true)},
		"recv after next":  {TRecv: recv(false)},
		"write": {Write: func(_ *intercept.Rail, c *intercept.RMA, next func(*intercept.RMA) error) error {
			err := next(c)
			exit()
			return err
		}},
		"atomic": {FetchAtomic: func(_ *intercept.Rail, c *intercept.Atomic, next func(*intercept.Atomic) error) error {
			err := next(c)
			exit()
			return err
		}},
	}
}

// A hook that ends the goroutine of the call, as t.FailNow does, leaves an endpoint that
// answers errors and closes, and peers that go on.
func TestHookEndsGoroutine(t *testing.T) {
	for _, links := range []string{"shm", "tcp:lo"} {
		var armed atomic.Bool
		for name, hooks := range hookExits(&armed) {
			if links == "tcp:lo" && (hooks.TRecv != nil || name == "send before next") {
				continue // the rail has no part in it
			}
			t.Run(links+"/"+name, func(t *testing.T) {
				ended := map[any]int{}
				all := &intercept.Hooks{Complete: func(_ *intercept.Rail, c *intercept.Completion) { ended[c.Context]++ }}
				b, c := opened(t, Options{Links: links, Caps: CapAtomic}), opened(t, Options{Links: links})
				a := opened(t, Options{Links: links, Caps: CapAtomic, Hooks: []*intercept.Hooks{hooks, all}})
				connect(t, a, b)
				connect(t, b, c)
				toB, err := a.AV().Insert(b.Name())
				require.NoError(t, err)
				region, err := b.Register(make([]byte, 64), mr.RemoteAccess)
				require.NoError(t, err)
				key, err := region.RemoteKey()
				require.NoError(t, err)
				mem, err := a.Import(toB, key)
				require.NoError(t, err)
				stop := driveAlways(t, b)
				require.NoError(t, a.TRecv(make([]byte, 100), toB, 99, 0, "stays"))

				armed.Store(true)
				exiting(t, func() {
					for armed.Load() {
						_ = a.TSend([]byte("hello"), toB, 1, nil)
						_ = a.TRecv(make([]byte, 5), toB, 1, 0, nil)
						_ = a.Write([]byte("hello"), mem, 0, nil)
						_, _ = FetchAdd[uint64](t.Context(), mem, 8, 1)
					}
				})
				stop()
				gone(t, a, "a hook")
				require.Equal(t, 1, ended["stays"], "Complete comes once")
				exchangeHere(t, b, c)
			})
		}
	}
}

// exchangeHere sends a large message from one endpoint to the other.
func exchangeHere(t *testing.T, from, to *Endpoint) {
	t.Helper()
	addr, err := from.AV().Insert(to.Name())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), pairLimit)
	defer cancel()
	sent := calling(func() error { return from.Send(ctx, addr, 5, make([]byte, 100_000)) })
	info, err := to.Recv(ctx, AddrUnspec, 5, 0, make([]byte, 100_000))
	require.NoError(t, err)
	require.Equal(t, 100_000, info.Len)
	require.NoError(t, outcome(t, sent, "Send"))
}

// A Complete hook may end the goroutine that drives the rails while others wait: the one
// whose operation it was, and those who wait for something else.
func TestCompleteEndsGoroutine(t *testing.T) {
	for _, links := range []string{"shm", "tcp:lo"} {
		t.Run(links, func(t *testing.T) {
			exited := make(chan struct{})
			var once atomic.Bool
			a := opened(t, Options{Links: links, Hooks: []*intercept.Hooks{{Complete: func(_ *intercept.Rail, c *intercept.Completion) {
				if c.Tag == 7 && c.Err == 0 && once.CompareAndSwap(false, true) {
					defer close(exited)
					runtime.Goexit()
				}
			}}}})
			b := opened(t, Options{Links: links})
			connect(t, a, b)
			toA, err := b.AV().Insert(a.Name())
			require.NoError(t, err)

			// Who drives the rails is not known; whoever it is, its goroutine is ended.
			ends := make(chan error, 3)
			wait := func(f func() error) {
				go func() {
					err := errors.New("ended")
					defer func() { ends <- err }()
					err = f()
				}()
			}
			future, err := a.RecvAsync(t.Context(), AddrUnspec, 7, 0, make([]byte, 8))
			require.NoError(t, err)
			wait(func() error { _, err := future.Wait(t.Context()); return err })
			wait(func() error { _, err := a.Recv(t.Context(), AddrUnspec, 8, 0, make([]byte, 8)); return err })
			wait(func() error { _, err := a.CQ().Wait(t.Context(), make([]Entry, 1)); return err })
			soon(t, func() bool { return b.TInject([]byte{1}, toA, 7) == nil }, "TInject")
			soon(t, func() bool {
				_, _ = b.CQ().Read(nil)
				select {
				case <-exited:
					return true
				default:
					return false
				}
			}, "the hook")
			quitters := 0
			for range 3 {
				if err := outcome(t, ends, "a waiting call"); !errors.Is(err, ErrClosed) {
					require.EqualError(t, err, "ended")
					quitters++
				}
			}
			require.Equal(t, 1, quitters)
			gone(t, a, "a hook")
		})
	}
}

// While an endpoint closes it goes on to the end, whatever its hooks do, and those of
// others of the process.
func TestHooksEndGoroutineOfClose(t *testing.T) {
	exit := func(*intercept.Endpoint) { runtime.Goexit() }
	complete := func(_ *intercept.Rail, c *intercept.Completion) {
		if c.Err != 0 {
			runtime.Goexit()
		}
	}
	for name, hooks := range map[string]*intercept.Hooks{"closing": {EndpointClosing: exit, CQClosing: exit}, "complete": {Complete: complete}} {
		t.Run(name, func(t *testing.T) {
			a := opened(t, Options{Links: "shm", Hooks: []*intercept.Hooks{hooks}})
			for i := range 3 {
				require.NoError(t, a.TRecv(make([]byte, 100), AddrUnspec, 1, 0, i))
			}
			if name == "closing" {
				exiting(t, func() { _ = a.Close() })
			} else {
				require.NoError(t, a.Close())
			}
			require.NoError(t, a.Close())
			process.mu.Lock()
			defer process.mu.Unlock()
			require.False(t, slices.Contains(process.open, a))
			require.ErrorIs(t, a.TSend(nil, 0, 1, nil), ErrClosed)
		})
	}
	t.Run("another's", func(t *testing.T) {
		a, b := opened(t, Options{Links: "shm", Hooks: []*intercept.Hooks{{Complete: complete}}}), opened(t, Options{Links: "shm"})
		connect(t, a, b)
		toB, err := a.AV().Insert(b.Name())
		require.NoError(t, err)
		require.NoError(t, a.TRecv(make([]byte, 100), toB, 1, 0, "of b"))
		require.NoError(t, outcome(t, calling(b.Close), "Close"))
		gone(t, a, "a hook")
	})
	t.Run("created", func(t *testing.T) {
		listing, err := Links(Options{Links: "shm", Lookup: env(nil), Hooks: []*intercept.Hooks{{EndpointCreated: exit}}})
		require.NoError(t, err)
		process.mu.Lock()
		before := len(process.open)
		process.mu.Unlock()
		exiting(t, func() { _, _ = Open(listing.Links[0]) })
		process.mu.Lock()
		defer process.mu.Unlock()
		require.Len(t, process.open, before)
	})
}

// unruly is a policy that does what it is told to, once, before it answers.
type unruly struct {
	lastRail
	pick, heard func()
}

func (u *unruly) Pick(r *rail.Rails, p *rail.Peer, c rail.Call) (int, rail.Why) {
	u.once(&u.pick)
	return u.lastRail.Pick(r, p, c)
}

func (u *unruly) Heard(*rail.Rails, *rail.Peer, int) { u.once(&u.heard) }

func (u *unruly) once(f *func()) {
	if do := *f; do != nil {
		*f = nil
		do()
	}
}

// unrulies are those that were made.
var unrulies []*unruly

var registerUnruly = sync.OnceValue(func() error {
	return rail.RegisterPolicy("UNRULY", func([]rail.Info, rail.Options) (rail.Policy, error) {
		unrulies = append(unrulies, new(unruly))
		return unrulies[len(unrulies)-1], nil
	})
})

// A policy that panics makes an error of the send that asked it, and the next one goes.
// One that ends the goroutine closes the endpoint. It is not told of who was heard while C
// calls back, where nothing may unwind.
func TestUnrulyPolicy(t *testing.T) {
	require.NoError(t, registerUnruly())
	for _, in := range []string{"pick", "heard"} {
		for how, do := range map[string]func(){"panic": func() { panic("no idea") }, "exit": runtime.Goexit} {
			t.Run(in+"/"+how, func(t *testing.T) {
				a, b := opened(t, Options{Links: "tcp:lo", Policy: "UNRULY"}), opened(t, Options{Links: "tcp:lo"})
				u := unrulies[len(unrulies)-1] // of a
				if in == "pick" {
					u.pick = do
				} else {
					u.heard = do
				}
				toB, err := a.AV().Insert(b.Name())
				require.NoError(t, err)
				toA, err := b.AV().Insert(a.Name())
				require.NoError(t, err)
				sent := calling(func() error { return b.Send(t.Context(), toA, 1, []byte("hello")) })
				_, err = a.Recv(t.Context(), toB, 1, 0, make([]byte, 5))
				require.NoError(t, err)
				require.NoError(t, outcome(t, sent, "Send"))
				require.True(t, u.pick != nil || u.heard != nil, "it was asked too early")

				if how == "exit" {
					exiting(t, func() { _ = a.TSend(nil, toB, 1, nil) })
					gone(t, a, "policy UNRULY")
					return
				}
				err = a.Send(t.Context(), toB, 1, nil)
				require.ErrorIs(t, err, rail.ErrBadPick)
				var panicked *rail.PanicError
				require.ErrorAs(t, err, &panicked)
				require.Equal(t, "no idea", panicked.Value)
				require.Contains(t, string(panicked.Stack), "unruly")
				require.ErrorContains(t, err, "policy UNRULY panicked: no idea")
				exchangeHere(t, a, b)
			})
		}
	}
}

// A context of the user's may panic while its call drives the rails for all.
func TestUnrulyContext(t *testing.T) {
	a, b, toB, _ := connected(t, Options{Links: "shm"})
	ctx := &unrulyContext{Context: t.Context()}
	require.PanicsWithValue(t, "no idea", func() { _, _ = b.CQ().Wait(ctx, make([]Entry, 1)) })
	require.True(t, b.wait.lead.TryLock())
	b.wait.lead.Unlock()
	sent := calling(func() error { return a.Send(t.Context(), toB, 1, make([]byte, 100_000)) })
	_, err := b.Recv(t.Context(), AddrUnspec, 1, 0, make([]byte, 100_000))
	require.NoError(t, err)
	require.NoError(t, outcome(t, sent, "Send"))
}

type unrulyContext struct{ context.Context }

func (*unrulyContext) Err() error { panic("no idea") }
