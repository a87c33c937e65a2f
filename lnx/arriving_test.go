package lnx_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
	"golnx/providers/fierr"
)

// greet sends a first message, which connects.
func greet(t *testing.T, from, to *node, dst, src lnx.Addr) {
	m := message{Size: 8, Tag: 1}
	in := to.post(m.Size, src, m.Tag, 0)
	out, err := from.startTo(dst, m, to)
	require.NoError(t, err)
	from.until(func() bool { to.poll(); return out.done && in.done })
}

// Who does nothing but send small messages, and finds each completion in the CQ at once,
// drives the rails all the same: what peers send arrives.
func TestSmallSendsDrive(t *testing.T) {
	a, b := newNode(t, lnx.Options{Links: "shm"}), newNode(t, lnx.Options{Links: "shm"})
	toB, toA := a.insert(b.ep.Name()), b.insert(a.ep.Name())
	greet(t, b, a, toA, toB)
	greet(t, a, b, toB, toA)

	const size, most = 1 << 20, 500 // what shm queues without the receiver
	in := a.post(size, toB, 2, 0)
	_, err := b.start(toA, message{Size: size, Tag: 2, Seed: 3})
	require.NoError(t, err)
	entries := make([]lnx.Entry, 1)
	for n := 0; !in.done; n++ {
		require.Less(t, n, most, "nothing has driven the rails")
		require.NoError(t, a.ep.TSend(make([]byte, 8), toB, 3, nil))
		got, err := a.ep.CQ().Read(entries)
		require.NoError(t, err, "each send is complete when it returns")
		require.Equal(t, 1, got)
		if entries[0].Context == in {
			in.done, in.entry = true, entries[0]
		}
	}
	check(t, in, message{Size: size, Tag: 2, Seed: 3}, toB)
}

// A small message is over when its call returns, with a completion if one is asked for,
// and counted; a full CQ refuses the next.
func TestSmallSendsAtOnce(t *testing.T) {
	a, b := newNode(t, lnx.Options{Links: "shm", CQSize: 4}), newNode(t, lnx.Options{Links: "shm"})
	toB, toA := a.insert(b.ep.Name()), b.insert(a.ep.Name())
	greet(t, a, b, toB, toA)
	before := a.ep.Stats()[0]

	require.NoError(t, a.ep.TInject(make([]byte, 8), toB, 1))
	require.NoError(t, a.ep.TSendMsg(&lnx.Msg{IOV: [][]byte{make([]byte, 8)}, Addr: toB, Tag: 1}, 0))
	for i := range 4 {
		require.NoError(t, a.ep.TSendData(make([]byte, 8), 5, toB, 1, i))
	}
	require.ErrorIs(t, a.ep.TSend(nil, toB, 1, nil), fierr.EAgain)
	entries := make([]lnx.Entry, 8)
	n, err := a.ep.CQ().Read(entries)
	require.NoError(t, err)
	require.Equal(t, 4, n, "without FlagCompletion there is none")
	for i, e := range entries[:n] {
		require.Equal(t, lnx.Entry{Context: i, Flags: lnx.FlagTagged | lnx.FlagSend, Tag: 1, Src: lnx.AddrUnspec}, e)
	}
	now := a.ep.Stats()[0].Sub(before.Stats)
	require.EqualValues(t, 1, now.TInjects)
	require.EqualValues(t, 5, now.TSends)
	require.EqualValues(t, 48, now.TxBytes)
	for i := range 6 {
		in := b.recv(8, lnx.AddrUnspec, 1, 0)
		b.finish(in)
		require.Equal(t, i >= 2, in.entry.Flags&lnx.FlagRemoteCQData != 0)
	}
}
