package lnx_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
	"golnx/providers"
	"golnx/providers/fierr"
	"golnx/rail/intercept"
)

// msgHooks sees the calls for untagged messages, puts a context of its own into each
// and takes it out again.
type msgHooks struct {
	t     *testing.T
	calls []string
	open  map[*hookMark]int // completions
	ended []intercept.Completion
}

type hookMark struct {
	op   intercept.Op
	user any
	over bool
}

func (h *msgHooks) hooks() *intercept.Hooks {
	h.open = map[*hookMark]int{}
	send := func(_ *intercept.Rail, s *intercept.Send, next func(*intercept.Send) error) error {
		m := &hookMark{op: s.Op, user: s.Context}
		s.Context = m
		err := next(s)
		if err == nil {
			h.calls = append(h.calls, s.Op.String())
			if _, seen := h.open[m]; !seen {
				h.open[m] = 0
			}
		}
		return err
	}
	recv := func(_ *intercept.Rail, r *intercept.Recv, next func(*intercept.Recv) error) error {
		m := &hookMark{op: r.Op, user: r.Context}
		r.Context = m
		h.calls = append(h.calls, r.Op.String())
		h.open[m] = 0
		return next(r)
	}
	never := func(_ *intercept.Rail, s *intercept.Send, next func(*intercept.Send) error) error {
		require.Fail(h.t, "a tagged send", s.Op)
		return next(s)
	}
	return &intercept.Hooks{
		Name: "marks",
		Send: send, SendV: send, SendMsg: send, SendData: send, Inject: send, InjectData: send,
		Recv: recv, RecvV: recv, RecvMsg: recv, TSend: never, TInject: never, TSendMsg: never,
		Complete: func(_ *intercept.Rail, c *intercept.Completion) {
			h.ended = append(h.ended, *c)
			if m, ok := c.Context.(*hookMark); ok {
				require.False(h.t, m.over, "a completion after the last")
				c.Context = m.user
				h.open[m]++
				m.over = m.op != intercept.OpRecvMsg || lnx.Flags(c.Flags)&lnx.FlagMultiRecv != 0
			}
		},
	}
}

// Hooks see every call for untagged messages and every completion, those of a
// multi-receive as often as they come.
func TestMsgHooks(t *testing.T) {
	onLinks(t, func(t *testing.T, ch choice) {
		h := &msgHooks{t: t}
		opts := ch.options()
		opts.Hooks = []*intercept.Hooks{h.hooks()}
		c := newCouple(t, opts)
		multi := &pending{buf: make([]byte, 100_000)}
		require.NoError(t, c.b.ep.MRecvMsg(&lnx.Msg{IOV: [][]byte{multi.buf}, Addr: c.toA, Context: multi}, lnx.FlagCompletion|lnx.FlagMultiRecv))
		off := 0
		for i, m := range []message{
			{Size: 10}, {Size: 30_000}, {Size: 300, Parts: 3}, {Size: 300, Parts: 2, HasData: true, Data: 5},
			{Size: 90, HasData: true, Data: 7}, {Size: 9, Inject: true}, {Size: 8, Inject: true, HasData: true, Data: 1},
		} {
			m.Untagged, m.Seed = true, uint64(i)
			multi.done = false
			s := c.send(m)
			c.both(func() bool { return multi.done && s.done })
			require.Equal(t, off, multi.entry.Off)
			require.Equal(t, payload(m.Seed, m.Size), multi.buf[off:off+m.Size])
			off += m.Size
		}
		last := &pending{buf: make([]byte, 100_000)}
		require.NoError(t, c.b.ep.MRecvV(split(last.buf, 2), c.toA, last))
		multi.done = false
		m := message{Size: 80_000, Untagged: true, Seed: 9}
		c.send(m)
		c.both(func() bool { return last.done })
		require.True(t, multi.done)
		require.Equal(t, lnx.Entry{Context: multi, Flags: lnx.FlagMultiRecv, Src: lnx.AddrUnspec}, multi.entry)
		check(t, last, m, c.toA)
		require.Equal(t, []string{
			"recvmsg", "send", "send", "sendv", "sendmsg", "senddata", "inject", "injectdata", "recvv", "send",
		}, h.calls)
		c.both(func() bool {
			for _, n := range h.open {
				if n == 0 {
					return false
				}
			}
			return true
		})
		require.Equal(t, 8, multi.times) // seven messages and the release
		for _, d := range h.ended {
			require.NotZero(t, d.Flags&(providers.FlagMsg|1<<16))
			require.Zero(t, d.Err)
		}
		// canceled, and under way when the endpoint closes
		canceled, open := &pending{buf: make([]byte, 1000)}, &pending{buf: make([]byte, 1000)}
		for _, p := range []*pending{canceled, open} {
			require.NoError(t, c.b.ep.MRecvMsg(&lnx.Msg{IOV: [][]byte{p.buf}, Addr: c.toA, Context: p}, lnx.FlagMultiRecv))
		}
		require.NoError(t, c.b.ep.Cancel(canceled))
		c.b.finish(canceled)
		require.Equal(t, fierr.ECanceled, canceled.errno())
		c.send(message{Size: 900, Untagged: true})
		c.both(func() bool { return open.buf[0] != 0 })
		require.NoError(t, c.b.ep.Close())
		for m := range h.open {
			require.True(t, m.over || m.op == intercept.OpRecvMsg)
		}
	})
}

// A hook answers a receive itself, also one for many messages; a hook that fails a
// multi-receive after it was posted fails a message of it.
func TestMsgHookAnswers(t *testing.T) {
	opts := choice{Links: "shm"}.options()
	bad := errors.New("after next")
	opts.Hooks = []*intercept.Hooks{{
		Recv: func(_ *intercept.Rail, r *intercept.Recv, _ func(*intercept.Recv) error) error {
			r.Result = intercept.Entry{Len: copy(r.IOV[0], "cached"), Src: r.From}
			return nil
		},
		RecvMsg: func(_ *intercept.Rail, r *intercept.Recv, next func(*intercept.Recv) error) error {
			if len(r.IOV[0]) == 77 {
				return nil
			}
			if err := next(r); err != nil {
				return err
			}
			return bad
		},
	}}
	n := newNode(t, opts)
	self := n.insert(n.ep.Name())
	p := n.mpost(10, self)
	n.finish(p)
	require.Equal(t, lnx.Entry{Context: p, Flags: lnx.FlagMsg | lnx.FlagRecv, Len: 6, Src: self}, p.entry)
	for range 3 {
		p = &pending{buf: make([]byte, 77)}
		require.NoError(t, n.ep.MRecvMsg(&lnx.Msg{IOV: [][]byte{p.buf}, Addr: self, Context: p}, lnx.FlagMultiRecv|lnx.FlagCompletion))
		n.finish(p)
		require.Equal(t, lnx.FlagMsg|lnx.FlagRecv|lnx.FlagMultiRecv, p.entry.Flags)
	}
	p = &pending{buf: make([]byte, 80)}
	require.NoError(t, n.ep.MRecvMsg(&lnx.Msg{IOV: [][]byte{p.buf}, Addr: self, Context: p}, lnx.FlagMultiRecv|lnx.FlagCompletion))
	n.send(self, message{Size: 10, Untagged: true})
	n.finish(p)
	require.ErrorIs(t, p.err, bad)
	p.done, p.err, p.times = false, nil, 0
	n.send(self, message{Size: 10, Untagged: true})
	n.finish(p)
	require.Nil(t, p.err)
	require.Equal(t, lnx.FlagMsg|lnx.FlagRecv|lnx.FlagMultiRecv, p.entry.Flags)
}
