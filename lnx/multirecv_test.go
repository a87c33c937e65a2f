package lnx

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/providers/fierr"
)

const multiCanary = 0xee

// multiModel is what fi_msg(3) and MRecvMsg promise, with lists: receives oldest first,
// messages that met none oldest first, and the completions to come.
type multiModel struct {
	t        *testing.T
	r        *Endpoint
	least    int
	receives []*modelReceive
	arrived  []modelMessage
	sent     uint64
	// counts of what has happened, so that the test cannot miss a case
	alone, flagged, cut, unexpected, canceled int
}

type modelReceive struct {
	id    int
	from  Addr
	buf   []byte
	multi bool
	off   int
	want  []byte // what the buffer should have in the end
}

type modelMessage struct {
	from Addr
	data []byte
}

func (r *modelReceive) takes(m modelMessage) bool { return r.from == AddrUnspec || r.from == m.from }

func (m *multiModel) newReceive(id int, from Addr, size int, multi bool) *modelReceive {
	r := &modelReceive{id: id, from: from, buf: make([]byte, size), multi: multi}
	for i := range r.buf {
		r.buf[i] = multiCanary
	}
	r.want = slices.Clone(r.buf)
	return r
}

func (m *multiModel) post(r *modelReceive) {
	flags := FlagCompletion
	if r.multi {
		flags |= FlagMultiRecv
	}
	require.NoError(m.t, m.r.MRecvMsg(&Msg{IOV: [][]byte{r.buf}, Addr: r.from, Context: r}, flags))
	var want []Entry
	over := false
	for !over {
		i := slices.IndexFunc(m.arrived, r.takes)
		if i < 0 {
			break
		}
		e, fits := m.place(r, m.arrived[i])
		over = !fits || e.Flags&FlagMultiRecv != 0 || !r.multi
		if !fits { // the last message is told to have used up the buffer
			want[len(want)-1].Flags |= FlagMultiRecv
			break
		}
		want = append(want, e)
		m.arrived = slices.Delete(m.arrived, i, i+1)
		m.unexpected++
	}
	if !over {
		m.receives = append(m.receives, r)
	}
	for _, e := range want {
		m.next(e)
	}
	if over {
		m.settled(r)
	}
}

// place puts a message into a receive. Its Len of more than the room stands for ETRUNC.
func (m *multiModel) place(r *modelReceive, msg modelMessage) (e Entry, fits bool) {
	left := len(r.buf) - r.off
	if len(msg.data) > left && r.off > 0 {
		return e, false
	}
	e = Entry{Context: r, Flags: FlagMsg | FlagRecv, Len: len(msg.data), Src: msg.from, Off: r.off}
	copy(r.want[r.off:], msg.data)
	if r.multi {
		r.off += max(1, min(left, len(msg.data)))
		if left = len(r.buf) - r.off; left < m.least {
			e.Flags |= FlagMultiRecv
			m.flagged++
		}
	}
	return e, true
}

func (m *multiModel) send(ep *Endpoint, to, from Addr, size int) {
	m.sent++
	msg := modelMessage{from, simNoise(m.sent, size)}
	for {
		err := ep.MInject(msg.data, to)
		if err == nil {
			break
		}
		require.ErrorIs(m.t, err, fierr.Again)
		m.poll()
	}
	for m.r.arrivals < m.sent {
		m.poll()
	}
	for i := 0; i < len(m.receives); {
		r := m.receives[i]
		if !r.takes(msg) {
			i++
			continue
		}
		e, fits := m.place(r, msg)
		if !fits {
			m.receives = slices.Delete(m.receives, i, i+1)
			m.next(Entry{Context: r, Flags: FlagMultiRecv, Src: AddrUnspec})
			m.settled(r)
			m.alone++
			continue
		}
		m.next(e)
		if !r.multi || e.Flags&FlagMultiRecv != 0 {
			m.receives = slices.Delete(m.receives, i, i+1)
			m.settled(r)
		}
		return
	}
	m.arrived = append(m.arrived, msg)
}

func (m *multiModel) cancel(i int) {
	r := m.receives[i]
	m.receives = slices.Delete(m.receives, i, i+1)
	require.NoError(m.t, m.r.Cancel(r))
	e, err := m.r.CQ().ReadErr()
	require.NoError(m.t, err)
	want := Entry{Context: r, Flags: FlagMsg | FlagRecv, Src: r.from}
	if r.multi {
		want.Flags |= FlagMultiRecv
	}
	require.Equal(m.t, ErrEntry{Entry: want, Err: fierr.ECanceled}, *e)
	m.settled(r)
	m.canceled++
}

// settled requires that a receive which is over has got its messages and nothing else.
func (m *multiModel) settled(r *modelReceive) {
	require.Equal(m.t, r.want, r.buf, "receive %d", r.id)
}

func (m *multiModel) poll() {
	m.r.lock()
	m.r.takeAll()
	m.r.mu.Unlock()
}

// next requires that this is the next completion.
func (m *multiModel) next(want Entry) {
	r := want.Context.(*modelReceive)
	if room := len(r.buf) - want.Off; want.Len > room {
		var none [1]Entry
		_, err := m.r.CQ().Read(none[:])
		require.ErrorIs(m.t, err, fierr.Avail)
		e, err := m.r.CQ().ReadErr()
		require.NoError(m.t, err)
		require.Equal(m.t, want.Len-room, e.Olen)
		require.Equal(m.t, fierr.ETrunc, e.Err)
		want.Len = room
		require.Equal(m.t, want, e.Entry)
		m.cut++
		return
	}
	var got [1]Entry
	n, err := m.r.CQ().Read(got[:])
	require.NoError(m.t, err)
	require.Equal(m.t, 1, n)
	require.Equal(m.t, want, got[0])
}

// Untagged receives, of one message or of many, do what the model does: which receive
// a message goes to, where it lies, which completion releases the buffer.
func TestMultiRecvAgainstModel(t *testing.T) {
	const senders, steps = 2, 20_000
	for _, least := range []int{1, 64, 300} {
		t.Run(fmt.Sprintf("least=%d", least), func(t *testing.T) {
			opts := Options{Links: "shm", MinMultiRecv: least, Lookup: env(nil)}
			if least == 1 {
				opts.MinMultiRecv = 1000 // OptMinMultiRecv has the last word
			}
			listing, err := Links(opts)
			require.NoError(t, err)
			open := func() *Endpoint {
				ep, err := Open(listing.Links[0])
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, ep.Close()) })
				return ep
			}
			m := &multiModel{t: t, r: open(), least: least}
			room, err := OptMinMultiRecv.Get(m.r)
			require.NoError(t, err)
			require.EqualValues(t, opts.MinMultiRecv, room)
			require.NoError(t, OptMinMultiRecv.Set(m.r, uint64(least)))
			var from, to [senders]Addr
			var eps [senders]*Endpoint
			for i := range senders {
				eps[i] = open()
				from[i], err = m.r.AV().Insert(eps[i].Name())
				require.NoError(t, err)
				to[i], err = eps[i].AV().Insert(m.r.Name())
				require.NoError(t, err)
			}
			random := rand.New(rand.NewPCG(3, uint64(least)))
			for step := range steps {
				depth := []int{0, 2, 8, 100}[step/500%4] // about how many receives wait
				src := random.IntN(senders)
				switch n := random.IntN(100); {
				case n < 3 && len(m.receives) > 0:
					m.cancel(random.IntN(len(m.receives)))
				case len(m.receives) < depth && n < 60 || len(m.arrived) > 0 && n < 40:
					addr := from[src]
					if random.IntN(2) == 0 {
						addr = AddrUnspec
					}
					multi := random.IntN(2) == 0
					size := random.IntN(300)
					if multi {
						size = 1 + random.IntN(2000)
					}
					m.post(m.newReceive(step, addr, size, multi))
				default:
					m.send(eps[src], to[src], from[src], []int{0, 1, 8, 63, 64, 65, 200, 700}[random.IntN(8)])
				}
			}
			for what, n := range map[string]int{
				"released alone": m.alone, "released with a message": m.flagged, "too long": m.cut,
				"unexpected": m.unexpected, "canceled": m.canceled,
			} {
				require.Positive(t, n, what)
			}
		})
	}
}
