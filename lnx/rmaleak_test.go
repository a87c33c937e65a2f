package lnx_test

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/internal/twoproc"
	"golnx/lnx"
	"golnx/mr"
)

// rmaLife opens two endpoints, registers, reads, writes, adds and counts, and closes them
// with regions open and operations under way, some of them on memory that is closed.
func rmaLife(t require.TestingT, c choice, round int) {
	opts := c.rma()
	opts.Caps |= lnx.CapAtomic
	a, b := openNode(t, opts), openNode(t, opts)
	toB := a.insert(b.ep.Name())
	b.insert(a.ep.Name())
	both := func(cond func() bool) { a.until(func() bool { b.poll(); return cond() }) }
	var windows []*windowed
	counts, err := a.ep.OpenCounter(lnx.EventRead | lnx.EventWrite)
	require.NoError(t, err)
	unclosed, err := b.ep.OpenCounter(lnx.EventSend)
	require.NoError(t, err)
	for i := range 10 {
		w := newWindow(t, b, a, toB, 100_000, mr.RemoteRead|mr.RemoteWrite)
		for _, size := range []int{8, 5000, 100_000} {
			for _, call := range []func(*pending) error{
				func(p *pending) error { return a.ep.Write(p.buf, w.remote, 0, p) },
				func(p *pending) error { return a.ep.Read(p.buf, w.remote, 0, p) },
				func(p *pending) error { return a.ep.WriteData(p.buf, 3, w.remote, 0, p) },
				func(p *pending) error {
					some := p.buf[:min(size, 1024)] // in the operation's block, and not
					return a.ep.FetchAtomic(some, some, w.remote, 0, lnx.Uint64, lnx.AtomicSum, p)
				},
			} {
				p := &pending{buf: make([]byte, size)}
				both(func() bool { return call(p) == nil })
				both(func() bool { return p.done })
			}
		}
		if i%2 == 0 {
			require.NoError(t, w.remote.Close())
			require.NoError(t, w.region.Close(), "all operations have completed")
		} else {
			windows = append(windows, w)
		}
	}
	require.EqualValues(t, 10*3*4, counts.Read())
	if round%3 == 0 {
		require.NoError(t, counts.Close())
	}
	local, err := a.ep.Register(make([]byte, 5000), mr.LocalAccess)
	require.NoError(t, err)
	// under way: nobody drives the target any more
	for i := range 12 {
		p, to := &pending{buf: make([]byte, 5000)}, windows[i%2].remote
		switch i % 3 {
		case 0:
			_ = a.ep.WriteData(p.buf, 1, to, 0, p)
		case 1:
			_ = a.ep.Read(p.buf, to, 0, p)
		case 2:
			_ = a.ep.FetchAtomic(p.buf[:8], p.buf[8:16], to, 0, lnx.Uint64, lnx.AtomicSum, p)
		}
	}
	closed := windows[1].region.Close()
	require.True(t, closed == nil || errors.Is(closed, mr.ErrBusy), "%v", closed)
	counted := make(chan error, 1)
	go func() { counted <- unclosed.Wait(context.Background(), 1) }() // ends by the Close
	future := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	initiator := windows[0].remote
	go func() {
		defer close(future)
		_ = initiator.ReadAt(ctx, make([]byte, 100), 0) // ends by the Close, at the latest
	}()
	if round%2 == 0 {
		a, b = b, a
	}
	require.NoError(t, a.ep.Close())
	require.NoError(t, b.ep.Close())
	<-future
	cancel()
	require.Error(t, <-counted)
	require.NoError(t, windows[0].region.Close(), "after its endpoint")
	require.ErrorIs(t, windows[0].region.Close(), mr.ErrClosed)
	require.NoError(t, local.Close())
	_, err = a.ep.Register(make([]byte, 1), mr.Read)
	require.ErrorIs(t, err, lnx.ErrClosed)
}

// rmaLives is lives of rmaLife.
var rmaLives = twoproc.NewRole("rma lives", func(c *twoproc.Child) {
	var l lives
	c.Get(&l)
	for i := range 10 {
		rmaLife(c, l.Choice, i) // pools fill up
	}
	taken := []holdings{settledHoldings(c)}
	for range 2 {
		for i := range l.Rounds {
			rmaLife(c, l.Choice, i)
		}
		taken = append(taken, settledHoldings(c))
	}
	// What grows once, as the pools of a provider may, is no leak: that grows each time.
	if taken[2].RSS-taken[1].RSS < taken[1].RSS-taken[0].RSS {
		taken = taken[1:]
	}
	c.Put(taken[:2])
})

// settledHoldings is what the process holds when goroutines that are through have ended.
func settledHoldings(c *twoproc.Child) (h holdings) {
	debug.FreeOSMemory()
	h = held(c)
	for late := deadline(); h.Goroutines > 3 && !late(); h = held(c) {
		runtime.Gosched()
	}
	return h
}

// Closing gives everything back, with regions open and operations under way.
func TestRMAOpenCloseLeak(t *testing.T) {
	onLinks(t, func(t *testing.T, c choice) {
		l := lives{Choice: c, Rounds: 60}
		if underRace || underASan {
			l.Rounds = 6
		}
		before, after := l.haveOf(t, rmaLives)
		l.freed(t, before, after)
	})
}
