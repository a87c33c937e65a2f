package lnx_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
	"golnx/providers/fierr"
)

// A canceled receive ends once, with ECANCELED, and the message that it would have
// got goes to the next.
func TestCancel(t *testing.T) {
	onMatchers(t, func(t *testing.T, c choice) {
		n, a, toA, toN := meet(t, c)
		for i, size := range []int{8, 5000, 1 << 20} {
			var posted []*pending
			for range 100 { // more than the flat queue holds
				posted = append(posted, n.post(size, toA, 1, 0))
			}
			for _, p := range posted[:99] {
				require.NoError(t, n.ep.Cancel(p))
			}
			require.ErrorIs(t, n.ep.Cancel(posted[0]), fierr.ENoEnt)
			n.finish(posted[:99]...)
			for _, p := range posted[:99] {
				require.Equal(t, fierr.ECanceled, p.errno())
			}
			m := message{Size: size, Tag: 1, Seed: uint64(i)}
			a.Put(order{Do: "send", Addr: toN, Msgs: []message{m}})
			n.finish(posted[99])
			check(t, posted[99], m, toA)
			require.ErrorIs(t, n.ep.Cancel(posted[99]), fierr.ENoEnt)
			a.sent(t)
			for _, p := range posted {
				require.Equal(t, 1, p.times)
			}
		}
		require.ErrorIs(t, n.ep.Cancel(nil), fierr.EInval)
		require.ErrorIs(t, n.ep.Cancel([]int{}), fierr.EInval)
		a.Wait()
	})
}

// Contexts end blocking receives, at any moment relative to the message, and no
// message is lost: what one receive does not take the next one does.
func TestRecvContext(t *testing.T) {
	onMatchers(t, func(t *testing.T, c choice) {
		n, a, toA, toN := meet(t, c)
		for _, size := range []int{8, 5000, 1 << 20} {
			const count = 40
			var msgs []message
			for i := range count {
				msgs = append(msgs, message{Size: size, Tag: 1, Seed: uint64(i)})
			}
			a.Put(order{Do: "send", Addr: toN, Msgs: msgs})
			canceled := 0
			for got := 0; got < count; {
				ctx, cancel := context.WithCancel(t.Context())
				buf := make([]byte, size)
				go cancel() // races with the message
				info, err := n.ep.Recv(ctx, toA, 1, 0, buf)
				if err != nil {
					require.ErrorIs(t, err, context.Canceled)
					canceled++
					require.Less(t, canceled, 1_000_000)
					continue
				}
				require.Equal(t, lnx.RecvInfo{Len: size, Tag: 1, From: toA}, info)
				require.Equal(t, payload(uint64(got), size), buf)
				got++
			}
			n.during(a)
		}
		a.Wait()
	})
}

// Futures: canceled or met, never both.
func TestFuture(t *testing.T) {
	onMatchers(t, func(t *testing.T, c choice) {
		n, a, toA, toN := meet(t, c)
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		buf := make([]byte, 8)
		f, err := n.ep.RecvAsync(ctx, toA, 1, 0, buf)
		require.NoError(t, err)
		require.False(t, f.Done())
		short, stop := context.WithCancel(ctx)
		stop()
		_, err = f.Wait(short)
		require.ErrorIs(t, err, context.Canceled)
		require.False(t, f.Done(), "a wait that ends leaves the receive posted")
		require.True(t, f.Cancel())
		require.False(t, f.Cancel())
		_, err = f.Wait(ctx)
		require.ErrorIs(t, err, fierr.ECanceled)

		f, err = n.ep.RecvAsync(ctx, toA, 1, 0, buf)
		require.NoError(t, err)
		m := message{Size: 8, Tag: 1, Seed: 1, HasData: true, Data: 5}
		a.Put(order{Do: "send", Addr: toN, Msgs: []message{m}})
		info, err := f.Wait(ctx)
		require.NoError(t, err)
		require.Equal(t, lnx.RecvInfo{Len: 8, Tag: 1, From: toA, Data: 5, HasData: true}, info)
		require.False(t, f.Cancel())
		a.sent(t)

		// A receive posted by TRecv in the slot of an ended future is not its.
		require.NoError(t, n.ep.TRecv(buf, toA, 1, 0, "other"))
		require.False(t, f.Cancel())
		require.NoError(t, n.ep.Cancel("other"))

		// Sends are not canceled.
		big := payload(2, 1<<20)
		f, err = n.ep.SendAsync(ctx, toA, 2, big)
		require.NoError(t, err)
		require.False(t, f.Cancel())
		a.Put(order{Do: "recv", Addr: toN, Msgs: []message{{Size: 1 << 20, Tag: 2, Seed: 2}}})
		_, err = f.Wait(ctx)
		require.NoError(t, err)
		n.during(a)
		a.Wait()
	})
}

// A send whose context ends while the provider has the buffer says so, and can be
// waited for.
func TestSendContext(t *testing.T) {
	onLinks(t, func(t *testing.T, c choice) {
		n, a, toA, toN := meet(t, c)
		a.Put(order{Do: "await", N: 1, Tag: 9})
		n.send(toA, message{Size: 1, Tag: 9}) // connects
		n.during(a)
		ctx, cancel := context.WithCancel(t.Context())
		big := payload(1, 4<<20)
		errc := make(chan error, 1)
		go func() { errc <- n.ep.Send(ctx, toA, 1, big) }()
		a.do(order{Do: "await", N: 2, Tag: 1}) // it is with the peer now, and nobody receives it
		cancel()
		err := inTime(t, func() error { return <-errc })
		require.ErrorIs(t, err, context.Canceled)
		var inFlight *lnx.InFlightError
		require.ErrorAs(t, err, &inFlight)
		require.False(t, inFlight.Future.Done())
		a.Put(order{Do: "recv", Addr: toN, Msgs: []message{{Size: 4 << 20, Tag: 1, Seed: 1}}})
		wait, stop := context.WithTimeout(t.Context(), limit)
		defer stop()
		_, err = inFlight.Future.Wait(wait)
		require.NoError(t, err)
		n.during(a)

		// One that has ended before sends nothing.
		before := n.ep.Stats()
		require.ErrorIs(t, n.ep.Send(ctx, toA, 1, big[:8]), context.Canceled)
		require.Equal(t, before, n.ep.Stats())
		a.Wait()
	})
}

// Receives whose contexts have ended, waiting or about to, are no longer posted, and
// their buffers stay as they are when messages come that would have matched.
func TestRecvContextLeavesNothingPosted(t *testing.T) {
	onMatchers(t, func(t *testing.T, c choice) {
		const most, callers, rounds = 4, 3, 50
		opts := c.options()
		opts.MaxPosted = most
		n := newNode(t, opts)
		self := n.insert(n.ep.Name())
		var bufs [][]byte
		for round := range rounds {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, callers)
			for range callers {
				buf := make([]byte, 5000)
				bufs = append(bufs, buf)
				go func() { _, err := n.ep.Recv(ctx, self, 1, 0, buf); ended <- err }()
			}
			if round%2 == 0 {
				runtime.Gosched() // most of them wait by then, in the other rounds few
			}
			cancel()
			for range callers {
				require.ErrorIs(t, inTime(t, func() error { return <-ended }), context.Canceled)
			}
		}
		var posted []*pending
		for range most {
			posted = append(posted, n.post(5000, self, 1, 0))
		}
		require.ErrorIs(t, n.ep.TRecv(nil, self, 1, 0, nil), fierr.EAgain)
		m := message{Size: 5000, Tag: 1, Seed: 1}
		for _, p := range posted {
			n.send(self, m)
			n.finish(p)
			check(t, p, m, self)
		}
		for _, buf := range bufs {
			require.Equal(t, make([]byte, len(buf)), buf)
		}
	})
}
