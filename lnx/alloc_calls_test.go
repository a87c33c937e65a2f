//go:build !race

package lnx_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
	"golnx/providers/fierr"
)

// allocLinks are the links whose calls must not allocate.
var allocLinks = []string{"shm", "tcp:lo", "shm+tcp:lo", "shm direct", "tcp:lo direct"}

// calls are all spellings of a send of one message, and of its receive.
type calls struct {
	sends, recvs map[string]func() error
	peek         func() error
}

// spell makes the calls between a lane's ends for one message of so many bytes.
func (l *lane) spell(size int) calls {
	out, in := make([]byte, size), make([]byte, size)
	small := out[:min(size, int(l.a.ep.Link().Info.InjectSize))]
	a, b := l.a.ep, l.b.ep
	send := &lnx.Msg{IOV: split(out, 2), Addr: l.toB, Tag: 1, Data: 3, Context: l.ctx}
	recv := &lnx.Msg{IOV: split(in, 2), Addr: l.toA, Tag: 1, Context: l.ctx}
	return calls{
		sends: map[string]func() error{
			"TSend":       func() error { return a.TSend(out, l.toB, 1, l.ctx) },
			"TSendData":   func() error { return a.TSendData(out, 3, l.toB, 1, l.ctx) },
			"TSendV":      func() error { return a.TSendV(send.IOV, l.toB, 1, l.ctx) },
			"TSendMsg":    func() error { return a.TSendMsg(send, lnx.FlagCompletion|lnx.FlagRemoteCQData) },
			"TInject":     func() error { return a.TInject(small, l.toB, 1) },
			"TInjectData": func() error { return a.TInjectData(small, 3, l.toB, 1) },
		},
		recvs: map[string]func() error{
			"TRecv":    func() error { return b.TRecv(in, l.toA, 1, 0, l.ctx) },
			"TRecvV":   func() error { return b.TRecvV(recv.IOV, l.toA, 1, 0, l.ctx) },
			"TRecvMsg": func() error { return b.TRecvMsg(recv, lnx.FlagCompletion) },
		},
		peek: func() error { return b.TRecvMsg(recv, lnx.FlagPeek) },
	}
}

// begin repeats a send until it is taken.
func (l *lane) begin(send func() error) {
	err := fierr.Again
	for err == fierr.Again {
		l.read(l.b)
		err = send()
	}
	must(err)
}

// complete reads so many completions, of whichever end.
func (l *lane) complete(n int) {
	for n > 0 {
		n -= l.read(l.a) + l.read(l.b)
	}
}

// No spelling of send, receive and peek allocates, over any link, whether the message
// is expected or not.
func TestNoAllocationInAnyCall(t *testing.T) {
	for _, links := range allocLinks {
		for _, size := range []int{8, 5000, 100_000} {
			t.Run(fmt.Sprintf("%s/size=%d", links, size), func(t *testing.T) {
				opts := choose(links).options()
				l := &lane{a: newNode(t, opts), b: newNode(t, opts), ctx: t}
				l.toB, l.toA = l.a.insert(l.b.ep.Name()), l.b.insert(l.a.ep.Name())
				spelled := l.spell(size)
				last := func() error { return l.a.ep.TInject(nil, l.toB, 2) }
				for s, send := range spelled.sends {
					ends := 2
					if strings.HasPrefix(s, "TInject") {
						ends = 1 // the send does not
					}
					for r, recv := range spelled.recvs {
						expected := func() {
							must(recv())
							l.begin(send)
							l.complete(ends)
						}
						unexpected := func() {
							must(l.b.ep.TRecv(nil, l.toA, 2, 0, l.ctx))
							l.begin(send)
							l.begin(last)
							for l.read(l.b) == 0 { // when the last one has come, so has the first
							}
							must(spelled.peek())
							must(recv())
							l.complete(ends + 1)
						}
						expected() // connects, and queues grow
						require.Zero(t, testing.AllocsPerRun(100, expected), "%s to %s", s, r)
						unexpected()
						most := 0.
						if size > 16384 && links == "tcp:lo" && r != "TRecv" {
							most = 1 // of a message that had to be fetched, the list of its buffers
						}
						require.LessOrEqual(t, testing.AllocsPerRun(100, unexpected), most, "unexpected %s to %s", s, r)
					}
				}
			})
		}
	}
}

// Neither do Send and Recv whose context cannot end. (One that can costs the
// watch over it when the call sleeps.)
func TestNoAllocationInBlockingCalls(t *testing.T) {
	for _, links := range allocLinks {
		for _, size := range []int{0, 8, 4096, 5000, 100_000} {
			t.Run(fmt.Sprintf("%s/size=%d", links, size), func(t *testing.T) {
				opts := choose(links).options()
				a, b := newNode(t, opts), openNode(t, opts)
				toB, toA := a.insert(b.ep.Name()), b.insert(a.ep.Name())
				ctx := context.Background()
				echoed := make(chan error, 1)
				go func() {
					buf := make([]byte, size)
					var err error
					for err == nil {
						if _, err = b.ep.Recv(ctx, toA, 1, 0, buf); err == nil {
							err = b.ep.Send(ctx, toA, 2, buf)
						}
					}
					echoed <- err
				}()
				out, in := make([]byte, size), make([]byte, size)
				both := func() {
					must(a.ep.Send(ctx, toB, 1, out))
					_, err := a.ep.Recv(ctx, toB, 2, 0, in)
					must(err)
				}
				both() // connects, and pools fill up
				require.Zero(t, testing.AllocsPerRun(200, both))
				require.NoError(t, b.ep.Close())
				require.ErrorIs(t, inTime(t, func() error { return <-echoed }), lnx.ErrClosed)
			})
		}
	}
}
