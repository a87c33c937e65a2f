package lnx

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/providers/fierr"
	"golnx/providers/sim"
	"golnx/rail"
	"golnx/rail/intercept"
)

func openCounter(t *testing.T, ep *Endpoint, events Events) *Counter {
	t.Helper()
	c, err := ep.OpenCounter(events)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// Every send and receive counts once, whatever its form and rail: plain, vectored,
// injected, quiet, blocking, expected or not, small or large.
func TestCounterCounts(t *testing.T) {
	for _, links := range []string{"shm", "tcp:lo", "shm+tcp:lo", "shm direct", "tcp:lo direct"} {
		t.Run(links, func(t *testing.T) {
			a, b, toB, toA := connected(t, Options{Links: links})
			ctx, cancel := context.WithTimeout(t.Context(), pairLimit)
			defer cancel()
			sends, recvs := openCounter(t, a, EventSend), openCounter(t, b, EventRecv)
			both, none := openCounter(t, a, EventSend|EventRecv), openCounter(t, a, EventRead|EventWrite)
			forms := []func(i int, buf []byte) error{
				func(i int, buf []byte) error { return a.TSend(buf, toB, uint64(i), i) },
				func(i int, buf []byte) error { return a.TSendV([][]byte{buf[:4], buf[4:]}, toB, uint64(i), i) },
				func(i int, buf []byte) error { return a.TInject(buf[:8], toB, uint64(i)) },
				func(i int, buf []byte) error {
					return a.TSendMsg(&Msg{IOV: [][]byte{buf}, Addr: toB, Tag: uint64(i)}, 0)
				},
				func(i int, buf []byte) error { return a.Send(ctx, toB, uint64(i), buf) },
			}
			const n = 60
			sizes := []int{8, 64, 5000, 100_000}
			post := func(from int) {
				for i := from; i < n; i += 2 {
					require.NoError(t, b.TRecvMsg(&Msg{IOV: [][]byte{make([]byte, 100_000)}, Addr: toA, Tag: uint64(i)}, 0))
				}
			}
			post(0)
			done := make(chan error, 1)
			go func() {
				var err error
				for i := 0; i < n && err == nil; i++ {
					for err = fierr.Again; err == fierr.Again; {
						if err = forms[i%len(forms)](i, make([]byte, sizes[i%len(sizes)])); err == fierr.Again {
							_, _ = a.CQ().Read(nil)
						}
					}
				}
				done <- errors.Join(err, sends.Wait(ctx, n))
			}()
			require.NoError(t, recvs.Wait(ctx, n/2))
			post(1)
			require.NoError(t, recvs.Wait(ctx, n))
			require.NoError(t, outcome(t, done, "sends"))
			require.NoError(t, both.Wait(ctx, n))
			turns := func(ep *Endpoint) {
				for range 100 {
					_, _ = ep.CQ().Read(nil)
				}
			}
			turns(a)
			turns(b)
			require.EqualValues(t, n, sends.Read())
			require.EqualValues(t, n, recvs.Read())
			require.EqualValues(t, n, both.Read())
			require.Zero(t, none.Read())
			for _, c := range []*Counter{sends, recvs, both, none} {
				require.Zero(t, c.ReadErr())
			}
		})
	}
}

// Failures count apart, and Wait answers them.
func TestCounterErrors(t *testing.T) {
	onRails(t, func(t *testing.T, links string) {
		a, b, toB, toA := connected(t, Options{Links: links})
		ctx, cancel := context.WithTimeout(t.Context(), pairLimit)
		defer cancel()
		recvs := openCounter(t, b, EventRecv)
		require.NoError(t, b.TRecv(make([]byte, 4), toA, 1, 0, "short"))
		waited := make(chan error, 2)
		for range 2 {
			go func() { waited <- recvs.Wait(ctx, 1) }()
		}
		soon(t, func() bool { return recvs.waits.Load() == 2 }, "waiters")
		require.NoError(t, a.Send(ctx, toB, 1, make([]byte, 100)))
		for range 2 {
			require.ErrorIs(t, outcome(t, waited, "Wait"), fierr.EAvail)
		}
		require.Zero(t, recvs.Read())
		require.EqualValues(t, 1, recvs.ReadErr())
		// it was told of: the next Wait waits for a success
		require.NoError(t, b.TRecv(make([]byte, 4), toA, 2, 0, "good"))
		go func() { waited <- recvs.Wait(ctx, 1) }()
		require.NoError(t, a.Send(ctx, toB, 2, make([]byte, 4)))
		require.NoError(t, outcome(t, waited, "Wait"))
		// one that came before Wait is answered as well
		require.NoError(t, b.TRecv(nil, toA, 3, 0, "canceled"))
		require.NoError(t, b.Cancel("canceled"))
		require.ErrorIs(t, recvs.Wait(ctx, 2), fierr.EAvail)
		require.EqualValues(t, 2, recvs.ReadErr())
		require.EqualValues(t, 1, recvs.Read())
	})
}

// Peeks, claims and discards move nothing; receiving what was claimed does.
func TestCounterPeeks(t *testing.T) {
	for _, links := range []string{"shm", "shm direct"} {
		t.Run(links, func(t *testing.T) {
			a, b, toB, toA := connected(t, Options{Links: links})
			recvs := openCounter(t, b, EventRecv)
			ctx := t.Context()
			require.NoError(t, b.TRecvMsg(&Msg{Addr: toA, Tag: 1}, FlagPeek)) // ENOMSG
			require.NoError(t, a.Send(ctx, toB, 1, []byte("12")))
			require.NoError(t, a.Send(ctx, toB, 1, []byte("34")))
			require.NoError(t, b.TRecvMsg(&Msg{Addr: toA, Tag: 1}, FlagPeek|FlagDiscard))
			require.NoError(t, b.TRecvMsg(&Msg{Addr: toA, Tag: 1, Context: 5}, FlagPeek|FlagClaim))
			require.Zero(t, recvs.Read())
			require.Zero(t, recvs.ReadErr())
			require.NoError(t, b.TRecvMsg(&Msg{IOV: [][]byte{make([]byte, 2)}, Context: 5}, FlagClaim))
			require.NoError(t, recvs.Wait(ctx, 1))
			require.NoError(t, a.Send(ctx, toB, 1, nil))
			require.NoError(t, b.TRecvMsg(&Msg{Addr: toA, Tag: 1, Context: 5}, FlagPeek|FlagClaim))
			require.NoError(t, b.TRecvMsg(&Msg{Context: 5}, FlagClaim|FlagDiscard))
			require.EqualValues(t, 1, recvs.Read())
			require.Zero(t, recvs.ReadErr())
		})
	}
}

// Set, SetErr, Add and AddErr change the numbers and end waits.
func TestCounterSet(t *testing.T) {
	a, _, _, _ := pair(t, Options{Links: "tcp:lo", Lookup: env(nil)})
	c := openCounter(t, a, EventSend)
	ctx, cancel := context.WithTimeout(t.Context(), pairLimit)
	defer cancel()
	wait := func(change func()) error {
		t.Helper()
		waited := make(chan error, 1)
		go func() { waited <- c.Wait(ctx, 10) }()
		soon(t, func() bool { return a.wait.sleeping.Load() && c.waits.Load() == 1 }, "a waiter that sleeps")
		change()
		return outcome(t, waited, "Wait")
	}
	require.ErrorIs(t, wait(func() { c.AddErr(2) }), fierr.EAvail)
	require.ErrorIs(t, wait(func() { c.SetErr(7) }), fierr.EAvail)
	require.NoError(t, wait(func() { c.Add(9); c.Add(1) }))
	require.EqualValues(t, 10, c.Read())
	require.EqualValues(t, 7, c.ReadErr())
	c.Set(3)
	require.EqualValues(t, 3, c.Read())
	require.NoError(t, wait(func() { c.Set(10) }))
	c.Set(0)
	other, stop := context.WithCancel(ctx)
	waited := make(chan error, 1)
	go func() { waited <- c.Wait(other, 1) }()
	stop()
	require.ErrorIs(t, outcome(t, waited, "Wait"), context.Canceled)
	require.ErrorIs(t, c.Wait(other, 1), context.Canceled)
	require.ErrorIs(t, wait(func() { require.NoError(t, a.Close()) }), ErrClosed)
	require.ErrorIs(t, c.Wait(ctx, 1), ErrClosed)
	require.NoError(t, c.Wait(ctx, 0))
	c.Add(1)
	require.EqualValues(t, 1, c.Read())
	_, err := a.OpenCounter(EventSend)
	require.ErrorIs(t, err, ErrClosed)
}

func TestCounterBadInput(t *testing.T) {
	a, _, _, _ := pair(t, Options{Links: "shm", Lookup: env(nil)})
	for _, events := range []Events{0, 1, EventSend | 1<<40} {
		_, err := a.OpenCounter(events)
		require.ErrorIs(t, err, fierr.EInval, "%#x", uint64(events))
	}
	// remote events take a capability that the link was not asked for
	_, err := a.OpenCounter(EventRemoteRead | EventSend)
	require.ErrorIs(t, err, fierr.EOpNotSupp)
	require.ErrorContains(t, err, "rail shm")
	require.ErrorContains(t, err, "FI_RMA_EVENT")
	require.Empty(t, a.counters.list)
}

// A closed counter stays as it is; others go on.
func TestCounterClose(t *testing.T) {
	a, b, toB, _ := connected(t, Options{Links: "shm"})
	one, other := openCounter(t, a, EventSend), openCounter(t, a, EventSend)
	send := func() {
		require.NoError(t, a.TInject(nil, toB, 1))
		soon(t, func() bool {
			_, _ = b.CQ().Read(nil)
			_, _ = a.CQ().Read(nil)
			return a.Stats()[0].TInjects == other.Read()
		}, "a send")
	}
	before := a.Stats()[0].TInjects
	other.Set(before)
	one.Set(before)
	send()
	require.NoError(t, one.Close())
	require.NoError(t, one.Close())
	send()
	require.Equal(t, before+1, one.Read())
	require.Equal(t, before+2, other.Read())
}

// Waiting for a counter wakes those who wait for completions too, and many can wait.
func TestCounterManyWaiters(t *testing.T) {
	a, b, toB, toA := connected(t, Options{Links: "shm+tcp:lo"})
	ctx, cancel := context.WithTimeout(t.Context(), pairLimit)
	defer cancel()
	recvs := openCounter(t, b, EventRecv)
	const n = 200
	var wg sync.WaitGroup
	errs := make(chan error, 2*n)
	for i := range n {
		wg.Go(func() { errs <- recvs.Wait(ctx, uint64(i+1)) })
		if i%10 == 0 {
			wg.Go(func() {
				_, err := b.Recv(ctx, toA, uint64(i), 0, nil)
				errs <- err
			})
		} else {
			require.NoError(t, b.TRecvMsg(&Msg{Addr: toA, Tag: uint64(i)}, 0))
		}
	}
	for i := range n {
		require.NoError(t, a.Send(ctx, toB, uint64(i), nil))
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	require.EqualValues(t, n, recvs.Read())
}

// What a hook makes of an operation counts.
func TestCounterHooks(t *testing.T) {
	drop := &intercept.Hooks{Name: "drop",
		TSend: func(r *intercept.Rail, c *intercept.Send, next func(*intercept.Send) error) error {
			if c.Tag == 1 {
				return nil
			}
			return next(c)
		},
		Complete: func(r *intercept.Rail, c *intercept.Completion) {
			if c.Tag == 2 {
				c.Err = int(fierr.EIO)
			}
		},
	}
	a, b, toB, _ := connected(t, Options{Links: "shm", Hooks: []*intercept.Hooks{drop}})
	c := openCounter(t, a, EventSend)
	for tag := range uint64(4) {
		require.NoError(t, a.TSend(nil, toB, tag, nil))
	}
	soon(t, func() bool { _, _ = b.CQ().Read(nil); return c.Read() == 3 && c.ReadErr() == 1 }, "3 successes and a failure: %d, %d", c.Read(), c.ReadErr())
}

// Sends that fail with their peer's end count as failures.
func TestCounterSimFailures(t *testing.T) {
	w := newSimWorld(t, 2, simRails(2, sim.Rail{Rate: 80e9, Latency: 450}), Options{Policy: rail.PerMsg})
	sends, recvs := openCounter(t, w.nodes[0].ep, EventSend), openCounter(t, w.nodes[1].ep, EventRecv)
	var ops []*simOp
	for i := range 20 {
		ops = append(ops, w.recv(1, 0, uint64(i), 8))
		_, err := w.send(0, 1, uint64(i), make([]byte, 8+i%2*8)) // half of them too long
		require.NoError(t, err)
	}
	w.settle()
	require.EqualValues(t, 20, sends.Read())
	require.EqualValues(t, 10, recvs.Read())
	require.EqualValues(t, 10, recvs.ReadErr())
	require.Len(t, ops, 20)
}
