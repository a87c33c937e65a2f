package lnx

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/internal/oracle"
	"golnx/providers/fierr"
)

// The whole way of matching, from the lane in C through the queues in Go, gives
// what a search through lists gives. Random receives are posted and canceled and
// random messages sent, at depths that the lane holds and at others.
func TestMatchingAgainstOracle(t *testing.T) {
	const senders, steps = 2, 60_000
	listing, err := Links(Options{Links: "shm", Lookup: env(nil)})
	require.NoError(t, err)
	open := func() *Endpoint {
		ep, err := Open(listing.Links[0])
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, ep.Close()) })
		return ep
	}
	r := open()
	var from [senders]Addr // at the receiver
	var eps [senders]*Endpoint
	var to [senders]Addr
	for i := range senders {
		eps[i] = open()
		var err error
		from[i], err = r.AV().Insert(eps[i].Name())
		require.NoError(t, err)
		to[i], err = eps[i].AV().Insert(r.Name())
		require.NoError(t, err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	w := &matchWorld{t: t, r: r, done: map[int]uint64{}}
	for step := range steps {
		depth := []int{2, 7, 9, 20, 90}[step/500%5] // about how many receives wait
		src, tag := random.IntN(senders), uint64(random.IntN(6))
		switch n := random.IntN(100); {
		case n < 5 && len(w.posted) > 0:
			w.cancel(random.IntN(len(w.posted)))
		case len(w.posted) < depth && n < 60 || len(w.posted) == 0 && n < 75:
			addr, ignore := from[src], []uint64{0, 0, 1, 3, ^uint64(0)}[random.IntN(5)]
			if random.IntN(2) == 0 {
				addr = AddrUnspec
			}
			w.post(step, addr, tag, ignore)
		default:
			w.send(eps[src], to[src], from[src], tag)
		}
	}
	require.Positive(t, w.expected)
	require.Positive(t, w.unexpected)
}

type matchWorld struct {
	t                    *testing.T
	r                    *Endpoint
	posted               []matchReceive // oldest first
	arrived              []matchMessage
	sent                 uint64
	done                 map[int]uint64 // receive to the message that it got
	expected, unexpected int
}

type matchReceive struct {
	id  int
	buf []byte
	oracle.Receive
}

type matchMessage struct {
	number uint64
	oracle.Message
}

func (w *matchWorld) post(id int, src Addr, tag, ignore uint64) {
	p := matchReceive{id: id, buf: make([]byte, 8), Receive: oracle.Receive{Src: uint64(src), Tag: tag, Ignore: ignore}}
	require.NoError(w.t, w.r.TRecv(p.buf, src, tag, ignore, p.buf[:0:8]))
	for i, m := range w.arrived {
		if oracle.Matches(p.Receive, m.Message) {
			w.arrived = append(w.arrived[:i], w.arrived[i+1:]...)
			w.unexpected++
			w.completes(p, m)
			return
		}
	}
	w.posted = append(w.posted, p)
}

func (w *matchWorld) send(ep *Endpoint, to, from Addr, tag uint64) {
	w.sent++
	m := matchMessage{w.sent, oracle.Message{Src: uint64(from), Tag: tag}}
	buf := []byte{byte(w.sent), byte(w.sent >> 8), byte(w.sent >> 16), byte(w.sent >> 24), 0, 0, 0, 0}
	for {
		err := ep.TInject(buf, to, tag)
		if err == nil {
			break
		}
		require.ErrorIs(w.t, err, fierr.Again)
		w.poll()
	}
	for w.r.arrivals < w.sent {
		w.poll()
	}
	for i, p := range w.posted {
		if oracle.Matches(p.Receive, m.Message) {
			w.posted = append(w.posted[:i], w.posted[i+1:]...)
			w.expected++
			w.completes(p, m)
			return
		}
	}
	w.arrived = append(w.arrived, m)
}

// poll drives the receiver without taking completions.
func (w *matchWorld) poll() {
	w.r.lock()
	w.r.takeAll()
	w.r.mu.Unlock()
}

// completes requires that receive p is the next to complete, with message m.
func (w *matchWorld) completes(p matchReceive, m matchMessage) {
	var e [1]Entry
	n, err := w.r.CQ().Read(e[:])
	require.NoError(w.t, err)
	require.Equal(w.t, 1, n)
	require.Equal(w.t, 8, e[0].Len)
	require.Same(w.t, &p.buf[0], &e[0].Context.([]byte)[:1][0], "message %d took another receive", m.number)
	got := uint64(p.buf[0]) | uint64(p.buf[1])<<8 | uint64(p.buf[2])<<16 | uint64(p.buf[3])<<24
	require.Equal(w.t, m.number, got, "receive %d got another message", p.id)
	require.Equal(w.t, m.Src, uint64(e[0].Src))
	require.Equal(w.t, m.Tag, e[0].Tag)
}

func (w *matchWorld) cancel(i int) {
	p := w.posted[i]
	w.r.lock()
	w.r.settle()
	for slot := range w.r.posted.All() {
		if b, ok := w.r.rx.at(slot).ctx.([]byte); ok && &b[:1][0] == &p.buf[0] {
			w.r.cancel(slot, fierr.ECanceled)
			break
		}
	}
	w.r.mu.Unlock()
	w.posted = append(w.posted[:i], w.posted[i+1:]...)
	e, err := w.r.CQ().ReadErr()
	require.NoError(w.t, err)
	require.Equal(w.t, fierr.ECanceled, e.Err)
	require.Same(w.t, &p.buf[0], &e.Context.([]byte)[:1][0])
}
