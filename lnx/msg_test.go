package lnx_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
	"golnx/providers/fierr"
)

// newCouple opens two nodes that know each other.
func newCouple(t *testing.T, opts lnx.Options) *couple {
	t.Helper()
	c := &couple{a: newNode(t, opts), b: newNode(t, opts)}
	c.toB, c.toA = c.a.insert(c.b.ep.Name()), c.b.insert(c.a.ep.Name())
	return c
}

// Every size arrives whole, over each link, from and to another process, whether
// its receive was posted before or not, by every call that sends.
func TestMsgSizes(t *testing.T) {
	onLinks(t, func(t *testing.T, c choice) {
		n, a, toA, toN := meet(t, c)
		seen := [2]uint64{}
		var msgs []message
		for i, m := range messagesOf(n.ep.Link()) {
			m.Tag, m.Untagged, m.Parts = 0, true, i/2%3*2
			if m.Size <= int(n.ep.Link().Info.InjectSize) && i%3 == 0 {
				m.Parts, m.Inject = 0, true
			}
			msgs = append(msgs, m)
		}
		for _, m := range msgs {
			one := []message{m}
			a.do(order{Do: "post", Addr: toN, Msgs: one})
			a.Put(order{Do: "collect", Addr: toN, Msgs: one})
			n.send(toA, m)
			n.during(a)
			a.Put(order{Do: "await", N: seen[0] + 1})
			p, err := n.start(toA, m)
			require.NoError(t, err)
			n.during(a)
			seen[0]++
			a.Put(order{Do: "recv", Addr: toN, Msgs: one})
			n.finish(p)
			n.during(a)
			require.Nil(t, p.err)

			r := n.postFor(m, toA)
			a.Put(order{Do: "send", Addr: toN, Msgs: one})
			n.finish(r)
			a.sent(t)
			check(t, r, m, toA)
			a.Put(order{Do: "send", Addr: toN, Msgs: one})
			seen[1]++
			n.await(seen[1], 0)
			check(t, n.mrecv(m, toA), m, toA)
			a.sent(t)
		}
		a.Wait()
		for i, s := range n.ep.Stats() {
			require.Zero(t, s.Errors, s)
			if i == 0 {
				require.NotZero(t, s.RxExpected*s.RxUnexpected*s.Sends, s)
			}
			require.Zero(t, s.TSends+s.TInjects, s)
		}
	})
}

// Untagged messages and tagged ones do not meet each other's receives, whatever these
// leave out, and each keeps its order.
func TestMsgApartFromTagged(t *testing.T) {
	onLinks(t, func(t *testing.T, ch choice) {
		c := newCouple(t, ch.options())
		all := c.b.post(100, lnx.AddrUnspec, 0, ^uint64(0))
		for i := range 3 {
			c.arrive(message{Size: 10 + i, Untagged: true, Seed: uint64(i)})
		}
		require.False(t, all.done)
		m := message{Size: 20, Tag: 7, Seed: 9}
		c.send(m)
		c.both(func() bool { return all.done })
		check(t, all, m, c.toA)
		c.arrive(m)
		for i := range 3 {
			m := message{Size: 10 + i, Untagged: true, Seed: uint64(i)}
			p := c.b.mpost(m.Size, []lnx.Addr{c.toA, lnx.AddrUnspec}[i%2])
			c.both(func() bool { return p.done })
			check(t, p, m, c.toA)
		}
		late := c.b.mpost(100, lnx.AddrUnspec)
		for range 100 {
			c.b.poll()
		}
		require.False(t, late.done, "an untagged receive took a tagged message")
		require.ErrorIs(t, c.b.ep.TRecvMsg(&lnx.Msg{Addr: c.toA}, lnx.FlagMultiRecv), fierr.EBadFlags)
	})
}

// The oldest receive wins, whoever it is for, and Cancel finds receives by Context.
func TestMsgBySource(t *testing.T) {
	onLinks(t, func(t *testing.T, ch choice) {
		c := newCouple(t, ch.options())
		third := newNode(t, ch.options())
		to, from := third.insert(c.b.ep.Name()), c.b.insert(third.ep.Name())
		byA, canceled, any1, byThird := c.b.mpost(8, c.toA), c.b.mpost(8, from), c.b.mpost(8, lnx.AddrUnspec), c.b.mpost(8, from)
		require.NoError(t, c.b.ep.Cancel(canceled))
		require.ErrorIs(t, c.b.ep.Cancel(canceled), fierr.ENoEnt)
		c.both(func() bool { return canceled.done })
		require.Equal(t, fierr.ECanceled, canceled.errno())
		require.Equal(t, lnx.FlagMsg|lnx.FlagRecv, canceled.entry.Flags)
		for i, p := range []*pending{any1, byThird} {
			m := message{Size: 8, Untagged: true, Seed: uint64(i)}
			s := &pending{buf: payload(m.Seed, m.Size)}
			c.both(func() bool { third.poll(); return third.startOnce(to, m, s) == nil })
			c.both(func() bool { third.poll(); return p.done })
			check(t, p, m, from)
		}
		m := message{Size: 8, Untagged: true, Seed: 5}
		c.send(m)
		c.both(func() bool { return byA.done })
		check(t, byA, m, c.toA)
	})
}

// A message that is too long fills the buffers and ends with both lengths, posted
// before or after.
func TestMsgTruncated(t *testing.T) {
	onLinks(t, func(t *testing.T, ch choice) {
		c := newCouple(t, ch.options())
		for _, size := range []int{9, 65, 4097, 8192, 100_000, 1 << 20} {
			for _, parts := range []int{1, c.b.ep.Link().Info.IOVLimit} {
				for _, posted := range []bool{true, false} {
					m := message{Size: size, Untagged: true, Seed: uint64(size)}
					p := &pending{buf: make([]byte, size-8)}
					if posted {
						require.NoError(t, c.b.ep.MRecvV(split(p.buf, parts), c.toA, p))
					}
					var s *pending
					if posted {
						s = c.send(m)
					} else {
						s = c.arrive(m)
						require.NoError(t, c.b.ep.MRecvV(split(p.buf, parts), c.toA, p))
					}
					c.both(func() bool { return p.done && s.done })
					require.Nil(t, s.err)
					require.Equal(t, fierr.ETrunc, p.errno())
					require.Equal(t, size-8, p.err.Len)
					require.Equal(t, 8, p.err.Olen)
					require.Equal(t, payload(m.Seed, size)[:size-8], p.buf)
					require.Contains(t, p.err.Error(), "untagged receive over")
				}
			}
		}
	})
}

// Messages to oneself arrive, empty ones too.
func TestMsgToSelf(t *testing.T) {
	onLinks(t, func(t *testing.T, ch choice) {
		n := newNode(t, ch.options())
		self := n.insert(n.ep.Name())
		for i := range 20 {
			m := message{Size: []int{0, 8, 4000}[i%3], Untagged: true, Seed: uint64(i), Inject: i%4 == 0 && i%3 == 0}
			if i%2 == 0 {
				p := n.postFor(m, self)
				n.send(self, m)
				n.finish(p)
				check(t, p, m, self)
				continue
			}
			before := n.unexpected()
			n.send(self, m)
			n.until(func() bool { return n.unexpected() > before })
			check(t, n.mrecv(m, self), m, self)
		}
	})
}

// Without FlagCompletion there is none, unless it fails.
func TestMsgSelective(t *testing.T) {
	onLinks(t, func(t *testing.T, ch choice) {
		c := newCouple(t, ch.options())
		in := make([]byte, 8)
		quiet, short := &pending{}, &pending{}
		require.NoError(t, c.b.ep.MRecvMsg(&lnx.Msg{IOV: [][]byte{in}, Addr: c.toA, Context: quiet}, 0))
		require.NoError(t, c.b.ep.MRecvMsg(&lnx.Msg{IOV: [][]byte{in[:4]}, Addr: c.toA, Context: short}, 0))
		last := c.b.mpost(8, c.toA)
		out := payload(3, 8)
		for range 2 {
			c.both(func() bool {
				return c.a.ep.MSendMsg(&lnx.Msg{IOV: [][]byte{out}, Addr: c.toB, Context: quiet}, lnx.FlagInject) == nil
			})
		}
		c.send(message{Size: 8, Untagged: true, Seed: 3})
		c.both(func() bool { return last.done })
		require.False(t, quiet.done)
		require.Equal(t, out, append(in[:4:4], in[4:]...))
		require.Equal(t, fierr.ETrunc, short.errno())
	})
}

// Wrong calls are refused and change nothing.
func TestMsgBadInput(t *testing.T) {
	opts := choice{Links: "shm+tcp:lo"}.options()
	opts.CQSize, opts.MaxPosted = 4, 3
	n := newNode(t, opts)
	self := n.insert(n.ep.Name())
	info := n.ep.Link().Info
	many := make([][]byte, info.IOVLimit+1)
	for what, err := range map[string]error{
		"send to nobody":         n.ep.MSend(nil, 99, nil),
		"receive from nobody":    n.ep.MRecv(nil, 99, nil),
		"multi from nobody":      n.ep.MRecvMsg(&lnx.Msg{IOV: [][]byte{make([]byte, 9)}, Addr: 99}, lnx.FlagMultiRecv),
		"send of many buffers":   n.ep.MSendV(many, self, nil),
		"receive in many":        n.ep.MRecvV(many, self, nil),
		"multi without a buffer": n.ep.MRecvMsg(&lnx.Msg{Addr: self}, lnx.FlagMultiRecv),
		"multi of an empty one":  n.ep.MRecvMsg(&lnx.Msg{IOV: [][]byte{{}}, Addr: self}, lnx.FlagMultiRecv),
		"multi of two":           n.ep.MRecvMsg(&lnx.Msg{IOV: [][]byte{{1}, {2}}, Addr: self}, lnx.FlagMultiRecv),
	} {
		require.ErrorIs(t, err, fierr.EInval, what)
		require.Regexp(t, "^M(Send|Recv)", err.Error(), what)
	}
	require.ErrorIs(t, n.ep.MInject(make([]byte, info.InjectSize+1), self), fierr.EMsgSize)
	for _, f := range []lnx.Flags{lnx.FlagPeek, lnx.FlagClaim, lnx.FlagDiscard, lnx.FlagInject, lnx.FlagMultiRecv | lnx.FlagPeek, lnx.FlagTagged, 1 << 40} {
		require.ErrorIs(t, n.ep.MRecvMsg(&lnx.Msg{IOV: [][]byte{make([]byte, 9)}, Addr: self}, f), fierr.EBadFlags)
	}
	for _, f := range []lnx.Flags{lnx.FlagPeek, lnx.FlagMultiRecv, lnx.FlagMsg, lnx.FlagTagged} {
		require.ErrorIs(t, n.ep.MSendMsg(&lnx.Msg{Addr: self}, f), fierr.EBadFlags)
	}
	// MaxPosted counts both kinds.
	p := []*pending{n.mpost(8, self), n.post(8, self, 1, 0)}
	m := &pending{buf: make([]byte, 100)}
	require.NoError(t, n.ep.MRecvMsg(&lnx.Msg{IOV: [][]byte{m.buf}, Addr: self, Context: m}, lnx.FlagMultiRecv))
	for _, err := range []error{
		n.ep.MRecv(nil, self, nil), n.ep.TRecv(nil, self, 0, 0, nil),
		n.ep.MRecvMsg(&lnx.Msg{IOV: [][]byte{m.buf}, Addr: self}, lnx.FlagMultiRecv),
	} {
		require.ErrorIs(t, err, fierr.EAgain)
	}
	for _, p := range append(p, m) {
		require.NoError(t, n.ep.Cancel(p))
	}
	// and the CQ is full now that nobody reads it
	require.NoError(t, n.ep.MRecv(nil, self, nil))
	require.NoError(t, n.ep.Cancel(n.mpost(1, self)))
	for _, err := range []error{n.ep.MRecv(nil, self, nil), n.ep.MSend(nil, self, nil)} {
		require.ErrorIs(t, err, fierr.EAgain)
	}
	require.NoError(t, n.ep.Close())
	for _, err := range []error{
		n.ep.MSend(nil, self, nil), n.ep.MRecv(nil, self, nil), n.ep.MInject(nil, self),
		n.ep.MRecvMsg(&lnx.Msg{IOV: [][]byte{{1}}}, lnx.FlagMultiRecv),
	} {
		require.ErrorIs(t, err, lnx.ErrClosed)
	}
}

// Unexpected untagged messages beyond the limits wait with their senders.
func TestMsgMaxUnexpected(t *testing.T) {
	onLinks(t, func(t *testing.T, c choice) {
		const most, count = 20, 1000
		opts := c.options()
		opts.MaxUnexpected, opts.MaxUnexpectedBytes = most, 200_000
		n := newNode(t, opts)
		a := startAgent(t, c, 2*limit)
		toA := n.insert(a.name)
		toN := a.do(order{Do: "insert", Blob: n.ep.Name()}).Addr
		var msgs []message
		for i := range count {
			msgs = append(msgs, message{Size: 8 + i%10*1000 + i%100/99*50_000, Untagged: i%4 > 0, Tag: 1, Seed: uint64(i)})
			if msgs[i].Untagged {
				msgs[i].Tag = 0
			}
		}
		a.Put(order{Do: "send", Addr: toN, Msgs: msgs})
		n.until(func() bool { return n.unexpected() >= most })
		brought := n.unexpected()
		for range 1000 {
			n.poll()
		}
		require.Equal(t, brought, n.unexpected())
		_, err := n.ep.CQ().Read(make([]lnx.Entry, 1))
		require.ErrorIs(t, err, lnx.ErrUnexpectedFull)
		for _, m := range msgs {
			check(t, n.mrecv(m, toA), m, toA)
		}
		a.sent(t)
		a.Wait()
	})
}

// A message from a peer that is inserted later is known as the peer's then; receives
// from any take it before that.
func TestMsgFromUnknown(t *testing.T) {
	onLinks(t, func(t *testing.T, ch choice) {
		c := &couple{a: newNode(t, ch.options()), b: newNode(t, ch.options())}
		c.toB = c.a.insert(c.b.ep.Name())
		var msgs []message
		for i, size := range []int{8, 0, 4000, 100, 100_000} {
			msgs = append(msgs, message{Size: size, Untagged: true, Seed: uint64(i)})
		}
		var sends []*pending
		for _, m := range msgs {
			sends = append(sends, c.arrive(m))
		}
		p := c.b.mpost(8, lnx.AddrUnspec)
		c.both(func() bool { return p.done })
		check(t, p, msgs[0], lnx.AddrUnspec)
		c.toA = c.b.insert(c.a.ep.Name())
		for _, m := range msgs[1:] {
			p := c.b.mpost(m.Size, c.toA)
			c.both(func() bool { return p.done })
			check(t, p, m, c.toA)
		}
		c.both(func() bool { return sends[len(sends)-1].done })
	})
}

// The calls for goroutines.
func TestMsgBlocking(t *testing.T) {
	onLinks(t, func(t *testing.T, ch choice) {
		a, b := newNode(t, ch.options()), newNode(t, ch.options())
		toB, toA := a.insert(b.ep.Name()), b.insert(a.ep.Name())
		sent := make(chan error, 1)
		go func() {
			for i := range 100 {
				if err := a.ep.Untagged().Send(t.Context(), toB, payload(uint64(i), i*100)); err != nil {
					sent <- err
					return
				}
			}
			sent <- nil
		}()
		buf := make([]byte, 10_000)
		for i := range 100 {
			if i%2 == 0 {
				info, err := b.ep.Untagged().Recv(t.Context(), toA, buf)
				require.NoError(t, err)
				require.Equal(t, lnx.RecvInfo{Len: i * 100, From: toA}, info)
			} else {
				f, err := b.ep.Untagged().RecvAsync(t.Context(), lnx.AddrUnspec, buf)
				require.NoError(t, err)
				info, err := f.Wait(t.Context())
				require.NoError(t, err)
				require.Equal(t, i*100, info.Len)
			}
			require.Equal(t, payload(uint64(i), i*100), buf[:i*100])
		}
		require.NoError(t, <-sent)
		f, err := b.ep.Untagged().RecvAsync(t.Context(), toA, buf)
		require.NoError(t, err)
		require.True(t, f.Cancel())
		_, err = f.Wait(t.Context())
		require.ErrorIs(t, err, fierr.ECanceled)
		short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err = b.ep.Untagged().Recv(short, toA, buf)
		require.ErrorIs(t, err, short.Err())
		f, err = a.ep.Untagged().SendAsync(t.Context(), toB, buf[:8])
		require.NoError(t, err)
		info, err := b.ep.Untagged().Recv(t.Context(), toA, buf)
		require.NoError(t, err, "the receive that was taken back has it")
		require.Equal(t, 8, info.Len)
		_, err = f.Wait(t.Context())
		require.NoError(t, err)
	})
}

// A peer's end fails the receives that only it could meet, and sends to it.
func TestMsgDeadPeer(t *testing.T) {
	c := choice{Links: "shm"}
	n, a, toA, toN := meet(t, c)
	m := message{Size: 8, Untagged: true, Seed: 1}
	a.Put(order{Do: "send", Addr: toN, Msgs: []message{m, m}})
	n.await(2, 0)
	a.sent(t)
	first := &pending{buf: make([]byte, 8)}
	require.NoError(t, n.ep.MRecvMsg(&lnx.Msg{IOV: [][]byte{first.buf}, Addr: toA, Context: first}, lnx.FlagMultiRecv|lnx.FlagCompletion))
	n.finish(first)
	require.Equal(t, lnx.FlagMsg|lnx.FlagRecv|lnx.FlagMultiRecv, first.entry.Flags)
	multi := &pending{buf: make([]byte, 1000)}
	require.NoError(t, n.ep.MRecvMsg(&lnx.Msg{IOV: [][]byte{multi.buf}, Addr: toA, Context: multi}, lnx.FlagMultiRecv|lnx.FlagCompletion))
	n.finish(multi)
	require.Equal(t, lnx.FlagMsg|lnx.FlagRecv, multi.entry.Flags)
	p, others := n.mpost(8, toA), n.mpost(8, lnx.AddrUnspec)
	multi.done, multi.times = false, 0
	a.Wait()
	n.finish(p, multi)
	require.Equal(t, fierr.EHostDown, p.errno())
	require.Equal(t, fierr.EHostDown, multi.errno())
	require.Equal(t, lnx.FlagMsg|lnx.FlagRecv|lnx.FlagMultiRecv, multi.entry.Flags)
	require.False(t, others.done)
	err := n.ep.MSend(nil, toA, nil)
	require.True(t, errors.Is(err, lnx.ErrPeerDead), "%v", err)
	require.ErrorIs(t, n.ep.MRecv(nil, toA, nil), lnx.ErrPeerDead)
	require.ErrorIs(t, n.ep.MRecvMsg(&lnx.Msg{IOV: [][]byte{{1}}, Addr: toA}, lnx.FlagMultiRecv), lnx.ErrPeerDead)
}

// Messages of another process fill one buffer after the other, in order.
func TestMultiRecvFromProcess(t *testing.T) {
	onLinks(t, func(t *testing.T, c choice) {
		n, a, toA, toN := meet(t, c)
		var msgs []message
		for i := range 300 {
			m := message{Size: []int{0, 8, 65, 5000, 17_000, 70_000}[i%6], Untagged: true, Seed: uint64(i)}
			if i%2 == 0 {
				m.HasData, m.Data = true, uint64(i)
			}
			msgs = append(msgs, m)
		}
		type buffer struct {
			data []byte
			id   int
		}
		buffers := 0
		post := func() {
			b := &buffer{make([]byte, 200_000), buffers}
			buffers++
			require.NoError(t, n.ep.MRecvMsg(&lnx.Msg{IOV: [][]byte{b.data}, Addr: toA, Context: b}, lnx.FlagMultiRecv|lnx.FlagCompletion))
		}
		post()
		post()
		a.Put(order{Do: "send", Addr: toN, Msgs: msgs})
		released := 0
		var got []lnx.Entry
		for len(got) < len(msgs) {
			n.until(func() bool { return len(n.odd) > 0 })
			e := n.odd[0]
			n.odd = n.odd[1:]
			if e.Flags&lnx.FlagMultiRecv != 0 {
				released++
				post()
			}
			if e.Flags&lnx.FlagRecv != 0 {
				got = append(got, e)
			}
		}
		// Transfers end in another order than messages are matched in, which is where they lie.
		slices.SortFunc(got, func(x, y lnx.Entry) int {
			return cmp.Or(x.Context.(*buffer).id-y.Context.(*buffer).id, x.Off-y.Off)
		})
		for i, e := range got {
			p := &pending{buf: e.Context.(*buffer).data[e.Off:], done: true, entry: e}
			p.entry.Flags &^= lnx.FlagMultiRecv
			check(t, p, msgs[i], toA)
		}
		require.Greater(t, released, 10)
		n.during(a)
		a.Wait()
	})
}
