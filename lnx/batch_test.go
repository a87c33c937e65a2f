package lnx_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
	"golnx/providers/fierr"
	"golnx/rail/intercept"
)

// sendBatch sends all messages in batches, and drives both ends where it has to.
func sendBatch(t *testing.T, a, b *node, msgs []lnx.Msg, flags lnx.Flags) {
	a.until(func() bool {
		b.poll()
		n, err := a.ep.TSendBatch(msgs, flags)
		require.LessOrEqual(t, n, len(msgs))
		msgs = msgs[n:]
		if err != nil {
			require.NotEmpty(t, msgs)
			require.ErrorIs(t, err, fierr.EAgain)
		}
		return len(msgs) == 0
	})
}

// Batches of all shapes arrive whole, once, and in order; many more than a provider
// takes at once, so that batches are refused in the middle.
func TestBatch(t *testing.T) {
	onMatchers(t, func(t *testing.T, c choice) {
		opts := c.options()
		opts.MaxSends = 300
		a, b := newNode(t, opts), newNode(t, c.options())
		toB, toA := a.insert(b.ep.Name()), b.insert(a.ep.Name())
		const count = 3000
		sizes := []int{0, 8, 64, 200, 4096, 5000, 20_000}
		var msgs []lnx.Msg
		var outs, ins []*pending
		var sent []message
		for i := range count {
			m := message{Size: sizes[i%len(sizes)], Tag: 7, Seed: uint64(i)}
			if i%5 == 4 && m.Size > 100 {
				m.Parts = 2
			}
			out := &pending{buf: payload(m.Seed, m.Size)}
			iov := [][]byte{out.buf}
			if m.Parts > 0 {
				iov = split(out.buf, m.Parts)
			}
			msgs = append(msgs, lnx.Msg{IOV: iov, Addr: toB, Tag: m.Tag, Context: out})
			ins = append(ins, b.post(m.Size, toA, m.Tag, 0))
			outs, sent = append(outs, out), append(sent, m)
		}
		sendBatch(t, a, b, msgs, lnx.FlagCompletion)
		open := func(p *pending) bool { return !p.done }
		a.until(func() bool { b.poll(); return !slices.ContainsFunc(outs, open) && !slices.ContainsFunc(ins, open) })
		for i, in := range ins {
			check(t, in, sent[i], toA)
			require.Nil(t, outs[i].err)
			require.Equal(t, 1, outs[i].times)
		}
	})
}

// What cannot be sent stops a batch at its place, and what is before it is sent.
func TestBatchStops(t *testing.T) {
	a, b, toB, toA := hookedPair(t, choices[2])
	exchangeOne(t, a, b, toB, toA)
	ok := lnx.Msg{IOV: [][]byte{[]byte("x")}, Addr: toB, Tag: 1}
	for _, bad := range []lnx.Msg{
		{IOV: ok.IOV, Addr: 99, Tag: 1},
		{IOV: make([][]byte, 99), Addr: toB, Tag: 1},
		{IOV: [][]byte{make([]byte, 100_000)}, Addr: toB, Tag: 1},
	} {
		n, err := a.ep.TSendBatch([]lnx.Msg{ok, ok, bad, ok}, lnx.FlagInject)
		require.Error(t, err)
		require.False(t, errors.Is(err, fierr.EAgain), err)
		require.Equal(t, 2, n)
		b.recv(1, toA, 1, 0)
		b.recv(1, toA, 1, 0)
	}
	n, err := a.ep.TSendBatch(nil, 0)
	require.NoError(t, err)
	require.Zero(t, n)
	_, err = a.ep.TSendBatch([]lnx.Msg{ok}, lnx.FlagPeek)
	require.ErrorIs(t, err, fierr.EBadFlags)
}

// Hooks see every message of a batch.
func TestBatchWithHooks(t *testing.T) {
	seen := 0
	a, b, toB, toA := hookedPair(t, choices[0], &intercept.Hooks{
		TSendMsg: func(_ *intercept.Rail, s *intercept.Send, next func(*intercept.Send) error) error {
			err := next(s)
			if err == nil {
				seen++
			}
			return err
		},
	})
	m := lnx.Msg{IOV: [][]byte{[]byte("x")}, Addr: toB, Tag: 1}
	sendBatch(t, a, b, []lnx.Msg{m, m, m}, lnx.FlagInject)
	for range 3 {
		b.recv(1, toA, 1, 0)
	}
	require.Equal(t, 3, seen)
}

// A batch of receives is posted in order, up to the one that cannot be.
func TestRecvBatch(t *testing.T) {
	onMatchers(t, func(t *testing.T, c choice) {
		opts := c.options()
		opts.MaxPosted = 5
		a, b := newNode(t, c.options()), newNode(t, opts)
		toB, toA := a.insert(b.ep.Name()), b.insert(a.ep.Name())
		var ins []*pending
		var msgs []lnx.Msg
		for range 7 {
			in := &pending{buf: make([]byte, 10)}
			ins, msgs = append(ins, in), append(msgs, lnx.Msg{IOV: [][]byte{in.buf}, Addr: toA, Tag: 7, Ignore: 1, Context: in})
		}
		n, err := b.ep.TRecvBatch(msgs, lnx.FlagCompletion)
		require.ErrorIs(t, err, fierr.EAgain)
		require.Equal(t, 5, n, "MaxPosted")
		for i, in := range ins[:5] {
			m := message{Size: 10, Tag: 6, Seed: uint64(i)}
			out, err := a.startTo(toB, m, b)
			require.NoError(t, err)
			a.until(func() bool { b.poll(); return out.done && in.done })
			check(t, in, m, toA)
		}
		n, err = b.ep.TRecvBatch(msgs[5:], lnx.FlagCompletion)
		require.NoError(t, err)
		require.Equal(t, 2, n)

		n, err = b.ep.TRecvBatch([]lnx.Msg{msgs[0], {IOV: make([][]byte, 99), Addr: toA}, msgs[1]}, 0)
		require.ErrorIs(t, err, fierr.EInval)
		require.Equal(t, 1, n)
		_, err = b.ep.TRecvBatch(msgs[:1], lnx.FlagCompletion|lnx.FlagPeek)
		require.ErrorIs(t, err, fierr.EBadFlags)
	})
}

// Hooks see every receive of a batch.
func TestRecvBatchWithHooks(t *testing.T) {
	seen := 0
	a, _, toB, _ := hookedPair(t, choices[0], &intercept.Hooks{
		TRecvMsg: func(_ *intercept.Rail, r *intercept.Recv, next func(*intercept.Recv) error) error {
			seen++
			return next(r)
		},
	})
	m := lnx.Msg{IOV: [][]byte{make([]byte, 1)}, Addr: toB, Tag: 1}
	n, err := a.ep.TRecvBatch([]lnx.Msg{m, m, m}, lnx.FlagCompletion)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	require.Equal(t, 3, seen)
}
