//go:build !race

package lnx_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
	"golnx/providers/fierr"
	"golnx/rail/intercept"
)

// The data path does not allocate with hooks either.
func TestNoAllocationWithHooks(t *testing.T) {
	opts := choice{Links: "shm"}.options()
	opts.Hooks = []*intercept.Hooks{{
		TSend: func(_ *intercept.Rail, s *intercept.Send, next func(*intercept.Send) error) error { return next(s) },
		TRecv: func(_ *intercept.Rail, s *intercept.Recv, next func(*intercept.Recv) error) error { return next(s) },
		Complete: func(*intercept.Rail, *intercept.Completion) {
		},
	}}
	allocatesNothing(t, opts)
}

// allocatesNothing sends messages from one endpoint to another.
func allocatesNothing(t *testing.T, opts lnx.Options) *lane {
	l := &lane{a: newNode(t, opts), b: newNode(t, opts), ctx: t}
	l.toB, l.toA = l.a.insert(l.b.ep.Name()), l.b.insert(l.a.ep.Name())
	out, in := make([]byte, 5000), make([]byte, 5000)
	round := func() {
		must(l.b.ep.TRecv(in, l.toA, 1, 0, l.ctx))
		l.send(out, 1, false)
		l.finish(1, 1)
	}
	round()
	require.Zero(t, testing.AllocsPerRun(300, round))
	return l
}

// The op timer adds no allocation.
func TestNoAllocationWithTimer(t *testing.T) {
	opts := recordingIn(t.TempDir(), choice{Links: "shm"}, "INTERCEPT_TIMER_CQGAP", "100")
	l := allocatesNothing(t, opts)
	require.NoError(t, l.a.ep.Close())
	require.NoError(t, l.b.ep.Close())
	require.NoError(t, lnx.StopRecording())
}

func TestNoAllocationInBatch(t *testing.T) {
	opts := choice{Links: "shm"}.options()
	l := &lane{a: newNode(t, opts), b: newNode(t, opts), ctx: t}
	l.toB, l.toA = l.a.insert(l.b.ep.Name()), l.b.insert(l.a.ep.Name())
	msgs, ins := make([]lnx.Msg, 10), make([]lnx.Msg, 10)
	for i := range msgs {
		msgs[i] = lnx.Msg{IOV: [][]byte{make([]byte, 8)}, Addr: l.toB, Tag: 1, Context: t}
		ins[i] = lnx.Msg{IOV: [][]byte{make([]byte, 8)}, Addr: l.toA, Tag: 1, Context: l.ctx}
	}
	round := func() {
		_, err := l.b.ep.TRecvBatch(ins, lnx.FlagCompletion)
		must(err)
		got := 0
		for rest := msgs; len(rest) > 0; {
			n, err := l.a.ep.TSendBatch(rest, lnx.FlagCompletion)
			if rest = rest[n:]; len(rest) > 0 && err != fierr.Again {
				must(err)
			}
			got += l.read(l.b)
		}
		l.finish(len(msgs), len(msgs)-got)
	}
	round()
	require.Zero(t, testing.AllocsPerRun(300, round))
}

// Reads and writes allocate nothing, and neither does what the target does.
func TestRMANoAllocation(t *testing.T) {
	for _, links := range []string{"shm", "tcp:lo", "shm+tcp:lo"} {
		for _, size := range []int{0, 8, 4096, 100_000} {
			t.Run(fmt.Sprintf("%s/size=%d", links, size), func(t *testing.T) {
				p := newRMAPair(t, choice{Links: links}.rma(), 1<<20)
				require.NoError(t, driven(t, func() error { return p.w.remote.WriteAt(context.Background(), []byte{1}, 0) }, p.b))
				l := &lane{a: p.a, b: p.b, ctx: t}
				buf := make([]byte, size)
				iov := [][]byte{buf[:size/2], buf[size/2:]}
				m := &lnx.RMAMsg{IOV: iov, Context: t, Data: 7, Remote: []lnx.RemoteRange{{p.w.remote, 0, uint64(size / 2)}, {p.w.remote, 5000, uint64(size - size/2)}}}
				run := func(what string, told int, call func() error) {
					t.Helper()
					once := func() {
						err := call()
						for err == fierr.Again {
							l.read(p.b)
							err = call()
						}
						must(err)
						l.finish(1, told)
					}
					once()
					require.Zero(t, testing.AllocsPerRun(200, once), what)
				}
				run("write", 0, func() error { return p.a.ep.Write(buf, p.w.remote, 8, t) })
				run("read", 0, func() error { return p.a.ep.Read(buf, p.w.remote, 8, t) })
				run("write with data", 1, func() error { return p.a.ep.WriteData(buf, 5, p.w.remote, 8, t) })
				run("message", 1, func() error { return p.a.ep.WriteMsg(m, lnx.FlagCompletion|lnx.FlagRemoteCQData) })
			})
		}
	}
}
