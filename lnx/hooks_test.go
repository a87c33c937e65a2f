package lnx_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
	"golnx/providers/fierr"
	"golnx/rail/intercept"
)

// hookedPair is two nodes, of which the first one has hooks.
func hookedPair(t *testing.T, c choice, hooks ...*intercept.Hooks) (a, b *node, toB, toA lnx.Addr) {
	opts := c.options()
	opts.Hooks = hooks
	a, b = newNode(t, opts), newNode(t, c.options())
	return a, b, a.insert(b.ep.Name()), b.insert(a.ep.Name())
}

// exchange sends a message each way and checks it, which shows that all is well.
func exchangeOne(t *testing.T, a, b *node, toB, toA lnx.Addr) {
	for _, size := range []int{8, 100_000} {
		m := message{Size: size, Tag: 4711, Seed: uint64(size)}
		in := b.post(size, toA, m.Tag, 0)
		out, err := startWith(a, b, toB, m)
		require.NoError(t, err)
		sendBoth(a, b, out, in)
		require.Nil(t, out.err)
		check(t, in, m, toA)
		in = a.post(size, toB, m.Tag, 0)
		out, err = startWith(b, a, toA, m)
		require.NoError(t, err)
		sendBoth(b, a, out, in)
		check(t, in, m, toB)
	}
}

// startWith begins to send, and drives both ends until the rail takes the message.
func startWith(a, b *node, to lnx.Addr, m message) (*pending, error) {
	p := &pending{buf: payload(m.Seed, m.Size)}
	var err error
	a.until(func() bool {
		b.poll()
		err = a.startOnce(to, m, p)
		return !errors.Is(err, fierr.EAgain)
	})
	return p, err
}

// sendBoth drives both ends until both operations have ended.
func sendBoth(a, b *node, out, in *pending) {
	a.until(func() bool {
		b.poll()
		return out.done && in.done
	})
}

// A hook that drops: the send looks done, nothing arrives, and what is not dropped does.
func TestHookDrops(t *testing.T) {
	onLinks(t, func(t *testing.T, c choice) {
		var ended []intercept.Completion
		a, b, toB, toA := hookedPair(t, c, &intercept.Hooks{
			Name: "lossy",
			TSend: func(r *intercept.Rail, s *intercept.Send, next func(*intercept.Send) error) error {
				if s.Tag == 13 {
					return nil
				}
				return next(s)
			},
			Complete: func(_ *intercept.Rail, c *intercept.Completion) { ended = append(ended, *c) },
		})
		lost, err := startWith(a, b, toB, message{Size: 100_000, Tag: 13})
		require.NoError(t, err)
		a.finish(lost)
		require.Nil(t, lost.err)
		require.Len(t, ended, 1)
		require.Equal(t, uint64(13), ended[0].Tag)
		exchangeOne(t, a, b, toB, toA)
		require.Zero(t, b.unexpected(), "the dropped message")
	})
}

func TestHookRewritesTag(t *testing.T) {
	onLinks(t, func(t *testing.T, c choice) {
		rewrite := func(_ *intercept.Rail, s *intercept.Send, next func(*intercept.Send) error) error {
			s.Tag += 1000
			return next(s)
		}
		a, b, toB, toA := hookedPair(t, c, &intercept.Hooks{
			TSend: rewrite, TSendV: rewrite, TSendMsg: rewrite, TSendData: rewrite, TInject: rewrite, TInjectData: rewrite,
		})
		for i, m := range []message{
			{Size: 10}, {Size: 70_000}, {Size: 300, Parts: 3}, {Size: 300, Parts: 2, HasData: true, Data: 5},
			{Size: 90, HasData: true, Data: 7}, {Size: 9, Inject: true}, {Size: 8, Inject: true, HasData: true, Data: 1},
		} {
			m.Tag, m.Seed = uint64(i), uint64(i)
			in := b.post(m.Size, toA, m.Tag+1000, 0)
			out, err := startWith(a, b, toB, m)
			require.NoError(t, err)
			sendBoth(a, b, out, in)
			require.Nil(t, out.err)
			m.Tag += 1000
			check(t, in, m, toA)
		}
		require.Zero(t, b.unexpected())
	})
}

// A hook that sends something else in place of what it was given.
func TestHookReplacesSend(t *testing.T) {
	onLinks(t, func(t *testing.T, c choice) {
		m := message{Size: 50_000, Seed: 77, Tag: 5}
		other := payload(77, m.Size)
		a, b, toB, toA := hookedPair(t, c, &intercept.Hooks{
			TSend: func(_ *intercept.Rail, s *intercept.Send, next func(*intercept.Send) error) error {
				return next(&intercept.Send{Op: s.Op, To: s.To, IOV: [][]byte{other[:10], other[10:]}, Tag: 5, Context: s.Context})
			},
		})
		in := b.post(m.Size, toA, 5, 0)
		out, err := startWith(a, b, toB, message{Size: 3, Tag: 6})
		require.NoError(t, err)
		sendBoth(a, b, out, in)
		require.Nil(t, out.err)
		check(t, in, m, toA)
		require.Zero(t, b.unexpected(), "the message that was replaced")
		sent := uint64(0)
		for _, r := range a.ep.Stats() {
			sent += r.TSends
			require.Contains(t, []uint64{0, uint64(m.Size)}, r.TxBytes, "what was sent counts")
		}
		require.Equal(t, uint64(1), sent)
	})
}

// A receive that a hook answers itself completes at once, with what the hook says.
func TestHookAnswersReceive(t *testing.T) {
	a, b, toB, toA := hookedPair(t, choices[0], &intercept.Hooks{
		TRecv: func(_ *intercept.Rail, r *intercept.Recv, next func(*intercept.Recv) error) error {
			if r.Tag != 99 {
				return next(r)
			}
			r.Result = intercept.Entry{Len: copy(r.IOV[0], "from the cache"), Tag: r.Tag, Src: r.From}
			return nil
		},
	})
	p := a.recv(100, toB, 99, 0)
	require.Nil(t, p.err)
	require.Equal(t, "from the cache", string(p.buf[:p.entry.Len]))
	info, err := a.ep.Recv(t.Context(), toB, 99, 0, make([]byte, 20))
	require.NoError(t, err)
	require.Equal(t, lnx.RecvInfo{Len: 14, Tag: 99, From: toB}, info)
	exchangeOne(t, a, b, toB, toA)
}

// An error of a hook is the call's; EAGAIN makes callers try again.
func TestHookRefuses(t *testing.T) {
	why := errors.New("not on Sundays")
	again := 3
	a, b, toB, toA := hookedPair(t, choices[2], &intercept.Hooks{
		TSend: func(_ *intercept.Rail, s *intercept.Send, next func(*intercept.Send) error) error {
			switch {
			case s.Tag == 1:
				return why
			case s.Tag == 2 && again > 0:
				again--
				return fierr.Again
			}
			return next(s)
		},
		TRecv: func(_ *intercept.Rail, r *intercept.Recv, next func(*intercept.Recv) error) error {
			if r.Tag == 1 {
				return why
			}
			return next(r)
		},
	})
	exchangeOne(t, a, b, toB, toA)
	require.ErrorIs(t, a.ep.TSend(make([]byte, 100_000), toB, 1, nil), why)
	require.ErrorIs(t, a.ep.Send(t.Context(), toB, 1, nil), why)
	require.ErrorIs(t, a.ep.TRecv(nil, toB, 1, 0, nil), why)
	_, err := a.ep.Recv(t.Context(), toB, 1, 0, nil)
	require.ErrorIs(t, err, why)
	require.NoError(t, a.ep.Send(t.Context(), toB, 2, []byte("x")))
	require.Zero(t, again)
	b.recv(1, toA, 2, 0)
	exchangeOne(t, a, b, toB, toA)
}

// A panic before the operation is handed over is the call's error; after it, the
// completion's, for the provider has the buffer. The layer stays usable.
func TestHookPanics(t *testing.T) {
	onLinks(t, func(t *testing.T, c choice) {
		cause := errors.New("index out of range, say")
		a, b, toB, toA := hookedPair(t, c, &intercept.Hooks{Name: "outer"}, &intercept.Hooks{
			Name: "clumsy",
			TSend: func(_ *intercept.Rail, s *intercept.Send, next func(*intercept.Send) error) error {
				if s.Tag == 1 {
					panic(cause)
				}
				err := next(s)
				if s.Tag == 2 && err == nil {
					panic("after the fact")
				}
				return err
			},
			TRecv: func(_ *intercept.Rail, r *intercept.Recv, next func(*intercept.Recv) error) error {
				if r.Tag == 1 {
					panic(cause)
				}
				return next(r)
			},
			Complete: func(_ *intercept.Rail, c *intercept.Completion) {
				if c.Tag == 3 {
					panic(cause)
				}
			},
			CQRead: func(_ *intercept.Endpoint, e []intercept.Entry, next func([]intercept.Entry) (int, error)) (int, error) {
				if len(e) == 0 {
					panic(cause)
				}
				return next(e)
			},
		})
		var p *intercept.PanicError
		for _, err := range []error{
			a.ep.TSend(make([]byte, 100_000), toB, 1, nil),
			a.ep.Send(t.Context(), toB, 1, nil),
			a.ep.TRecv(nil, toB, 1, 0, nil),
			func() error { _, err := a.ep.CQ().Read(nil); return err }(),
		} {
			require.ErrorAs(t, err, &p)
			require.Equal(t, "clumsy", p.Consumer)
			require.ErrorIs(t, err, cause)
			require.ErrorContains(t, err, `hook "clumsy"`)
		}
		for _, tag := range []uint64{2, 3} { // the message arrives, and its sender is told
			m := message{Size: 60_000, Tag: tag, Seed: tag}
			in := b.post(m.Size, toA, m.Tag, 0)
			out, err := startWith(a, b, toB, m)
			require.NoError(t, err)
			sendBoth(a, b, out, in)
			check(t, in, m, toA)
			require.ErrorAs(t, out.err, &p)
			require.Equal(t, fierr.EOther, out.err.Err)
			require.ErrorContains(t, out.err, `hook "clumsy"`)
		}
		exchangeOne(t, a, b, toB, toA)
	})
}

// next works once; a second success would send the message twice.
func TestHookCallsNextTwice(t *testing.T) {
	var second, late error
	var kept func(*intercept.Send) error
	a, b, toB, toA := hookedPair(t, choices[2], &intercept.Hooks{
		TSend: func(_ *intercept.Rail, s *intercept.Send, next func(*intercept.Send) error) error {
			err := next(s)
			if err == nil {
				second, kept = next(s), next
			}
			return err
		},
		TRecv: func(_ *intercept.Rail, r *intercept.Recv, next func(*intercept.Recv) error) error {
			err := next(r)
			if e := next(r); err == nil && !errors.Is(e, fierr.EOpBadState) {
				return errors.New("posted twice")
			}
			return err
		},
	})
	exchangeOne(t, a, b, toB, toA)
	require.ErrorIs(t, second, fierr.EOpBadState)
	late = kept(&intercept.Send{})
	require.ErrorIs(t, late, fierr.EOpBadState)
	require.Zero(t, b.unexpected())
}

// Consumers chain in order, see what the operation really is, and each finds the context
// that it put in; the application sees its own. Blocked calls and injects count too.
func TestHooksChain(t *testing.T) {
	onMatchers(t, func(t *testing.T, c choice) {
		type mark struct {
			name  string
			under any
		}
		var calls []string
		open := map[*mark]bool{}
		consumer := func(name string) *intercept.Hooks {
			enter := func(r *intercept.Rail, op intercept.Op, context *any) *mark {
				calls = append(calls, name+" "+op.String())
				m := &mark{name, *context}
				*context, open[m] = m, true
				return m
			}
			send := func(r *intercept.Rail, s *intercept.Send, next func(*intercept.Send) error) error {
				m := enter(r, s.Op, &s.Context)
				err := next(s)
				if err != nil {
					s.Context = m.under
					delete(open, m)
					calls = calls[:len(calls)-1]
				}
				return err
			}
			recv := func(r *intercept.Rail, s *intercept.Recv, next func(*intercept.Recv) error) error {
				enter(r, s.Op, &s.Context)
				return next(s)
			}
			return &intercept.Hooks{
				Name: name, TSend: send, TSendV: send, TSendMsg: send, TSendData: send, TInject: send, TInjectData: send,
				TRecv: recv, TRecvV: recv, TRecvMsg: recv,
				Complete: func(_ *intercept.Rail, c *intercept.Completion) {
					m := c.Context.(*mark)
					if m.name != name || !open[m] {
						panic("somebody else's context")
					}
					delete(open, m)
					c.Context = m.under
				},
			}
		}
		a, b, toB, toA := hookedPair(t, c, consumer("one"), consumer("two"))
		in := b.post(8, toA, 1, 0)
		out, err := startWith(a, b, toB, message{Size: 8, Tag: 1})
		require.NoError(t, err)
		sendBoth(a, b, out, in)
		require.True(t, out.done && out.err == nil)
		require.Equal(t, []string{"one tsend", "two tsend"}, calls)
		require.Empty(t, open)

		calls = nil
		in = b.post(8, toA, 2, 0)
		_, err = startWith(a, b, toB, message{Size: 8, Tag: 2, Inject: true})
		require.NoError(t, err)
		a.until(func() bool { b.poll(); return in.done && len(open) == 0 })
		require.Equal(t, []string{"one tinject", "two tinject"}, calls)

		calls = nil
		require.NoError(t, a.ep.TRecvMsg(&lnx.Msg{Addr: toB, Tag: 3, Context: t}, lnx.FlagPeek))
		a.until(func() bool { return len(a.oddErr) == 1 })
		require.Equal(t, fierr.ENoMsg, a.oddErr[0].Err)
		require.Same(t, t, a.oddErr[0].Context)
		require.Equal(t, []string{"one trecvmsg", "two trecvmsg"}, calls)
		require.Empty(t, open)

		p := a.post(10, toB, 4, 0)
		require.NoError(t, a.ep.Cancel(p))
		a.finish(p)
		require.Equal(t, fierr.ECanceled, p.errno())
		require.Empty(t, open)

		ctx, cancel := context.WithCancel(t.Context())
		cancelled := make(chan error, 1)
		go func() { _, err := a.ep.Recv(ctx, toB, 5, 0, make([]byte, 9)); cancelled <- err }()
		cancel()
		require.ErrorIs(t, inTime(t, func() error { return <-cancelled }), context.Canceled)
		require.Empty(t, open)

		future, err := a.ep.RecvAsync(t.Context(), toB, 6, 0, make([]byte, 9))
		require.NoError(t, err)
		last := a.post(10, toB, 7, 0)
		require.Len(t, open, 4)
		require.NoError(t, a.ep.Close())
		require.Empty(t, open, "the end of the endpoint ends what was under way")
		_, err = future.Wait(t.Context())
		require.ErrorIs(t, err, lnx.ErrClosed)
		require.False(t, last.done)
	})
}

// CQ.Read and CQ.Wait can be observed and changed.
func TestHooksOfCQ(t *testing.T) {
	var reads, waits, seen int
	count := func(n *int) intercept.ReadFunc {
		return func(_ *intercept.Endpoint, e []intercept.Entry, next func([]intercept.Entry) (int, error)) (int, error) {
			*n++
			k, err := next(e)
			for i := range e[:max(k, 0)] {
				seen++
				e[i].Data = 42
			}
			return k, err
		}
	}
	a, b, toB, _ := hookedPair(t, choices[0], &intercept.Hooks{CQRead: count(&reads), CQWait: count(&waits)})
	in := b.post(8, lnx.AddrUnspec, 1, 0)
	out, err := startWith(a, b, toB, message{Size: 8, Tag: 1})
	require.NoError(t, err)
	sendBoth(a, b, out, in)
	require.Equal(t, uint64(42), out.entry.Data)
	require.Positive(t, reads)
	require.NoError(t, a.ep.TSend(nil, toB, 2, t))
	entries := make([]lnx.Entry, 4)
	n, err := a.ep.CQ().Wait(t.Context(), entries)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, uint64(42), entries[0].Data)
	require.Equal(t, 1, waits)
	require.Equal(t, 2, seen)
}
