package lnx_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/internal/netns"
	"golnx/internal/twoproc"
	"golnx/lnx"
	"golnx/peer"
	"golnx/providers/fierr"
)

// farLife is how long a process may take for all that a test has it do.
const farLife = 60 * time.Second

// far is a process in a place of its own, with endpoints that send and receive at
// the same time.
type far struct{ *twoproc.Proc }

// farEP is an endpoint in such a process.
type farEP struct {
	far
	id   int
	blob []byte
}

// farFlow is a flow that an endpoint sends or receives.
type farFlow struct {
	far
	id int
}

// flow is a sequence of messages with one tag from one endpoint to another.
type flow struct {
	Send  bool
	Peer  lnx.Addr
	Count int
	Sizes []int // in turn, 4 at least
	// Window is how many are under way.
	Window int
}

// flowReport says how a flow went, when all its messages have come.
type flowReport struct {
	Took time.Duration
	// Order has the messages' numbers as received, in the order of the
	// receives: a receive takes the oldest message. Each occurs once.
	Order []uint32
}

type farOrder struct {
	Do   string
	ID   int // of the endpoint or flow
	Link farLink
	Blob []byte
	Flow flow
}

type farLink struct {
	Links, Policy  string
	DisableShm     bool
	ConnectTimeout time.Duration
}

type farAnswer struct {
	ID     int
	Blob   []byte
	Addr   lnx.Addr
	Done   int // messages of a flow
	Report flowReport
	Stats  []lnx.RailStats
	Error  string
	Unreachable,
	NoCommon bool // kinds of error
}

var farRole = netns.NewRole("far", func(c *twoproc.Child) {
	f := farSide{c: c}
	var o farOrder
	for ; c.Get(&o); o = (farOrder{}) {
		c.Put(f.act(o))
	}
	for _, ep := range f.eps {
		require.NoError(c, ep.Close())
	}
})

// farSide is the process's own side.
type farSide struct {
	c     *twoproc.Child
	eps   []*lnx.Endpoint
	flows []*running
}

func (f *farSide) act(o farOrder) (ans farAnswer) {
	switch o.Do {
	case "open":
		l, err := lnx.Links(lnx.Options{
			Links: o.Link.Links, Policy: o.Link.Policy, DisableShm: o.Link.DisableShm,
			ConnectTimeout: o.Link.ConnectTimeout, Lookup: noEnv,
		})
		require.NoError(f.c, err)
		ep, err := lnx.Open(l.Links[0])
		require.NoError(f.c, err)
		f.eps = append(f.eps, ep)
		ans.ID, ans.Blob = len(f.eps)-1, ep.Name()
	case "insert":
		var err error
		ans.Addr, err = f.eps[o.ID].AV().Insert(o.Blob)
		ans.setError(err)
	case "send": // one message, which may fail
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		ans.setError(f.eps[o.ID].Send(ctx, o.Flow.Peer, flowTag, make([]byte, o.Flow.Sizes[0])))
	case "start":
		r := &running{flow: o.Flow, t: f.c, ep: f.eps[o.ID], over: make(chan struct{})}
		r.moved.L = &r.mu
		f.flows = append(f.flows, r)
		ans.ID = len(f.flows) - 1
		go r.run()
	case "reach":
		ans.Done = f.flows[o.ID].reach(o.Flow.Count)
	case "finish":
		r := f.flows[o.ID]
		<-r.over
		ans.Report = r.report
	case "stats":
		ans.Stats = f.eps[o.ID].Stats()
	case "close":
		require.NoError(f.c, f.eps[o.ID].Close())
	default:
		require.Fail(f.c, "unknown order", o.Do)
	}
	return ans
}

func (a *farAnswer) setError(err error) {
	if err != nil {
		var noCommon *peer.NoCommonRailError
		a.Error, a.NoCommon = err.Error(), errors.As(err, &noCommon)
		a.Unreachable = errors.Is(err, fierr.EHostUnreach) || errors.Is(err, fierr.Errno(syscall.ENETUNREACH))
	}
}

const flowTag = 0x5eed

// running is a flow under way in this process.
type running struct {
	flow
	t      require.TestingT
	ep     *lnx.Endpoint
	over   chan struct{}
	report flowReport

	mu    sync.Mutex
	moved sync.Cond // done has changed
	done  int
}

// reach waits until n messages are done, or the limit is over, and answers how many are.
func (r *running) reach(n int) int {
	late := false
	defer time.AfterFunc(limit, func() {
		r.mu.Lock()
		late = true
		r.mu.Unlock()
		r.moved.Broadcast()
	}).Stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.done < n && !late {
		r.moved.Wait()
	}
	return r.done
}

func (r *running) run() {
	defer close(r.over)
	defer func(begin time.Time) { r.report.Took = time.Since(begin) }(time.Now())
	ctx, cancel := context.WithTimeout(context.Background(), farLife)
	defer cancel()
	longest := 0
	for _, size := range r.Sizes {
		longest = max(longest, size)
	}
	bufs := make([][]byte, r.Window)
	ops := make([]*lnx.Future, r.Window)
	seen := make([]bool, r.Count)
	for i := range r.Count + r.Window {
		at := i % r.Window
		if old := i - r.Window; old >= 0 && old < r.Count {
			info, err := ops[at].Wait(ctx)
			require.NoError(r.t, err, "message %d of %d; rails: %v", old, r.Count, r.ep.Stats())
			if !r.Send {
				r.check(bufs[at][:info.Len], info, seen)
			}
			r.mu.Lock()
			r.done++
			r.mu.Unlock()
			r.moved.Broadcast()
		}
		if i >= r.Count {
			continue
		}
		if bufs[at] == nil {
			bufs[at] = make([]byte, longest)
		}
		var err error
		if r.Send {
			n := r.Sizes[i%len(r.Sizes)]
			fill(bufs[at][:n], uint32(i))
			ops[at], err = r.ep.SendAsync(ctx, r.Peer, flowTag, bufs[at][:n])
		} else {
			ops[at], err = r.ep.RecvAsync(ctx, r.Peer, flowTag, 0, bufs[at])
		}
		require.NoError(r.t, err, "message %d of %d", i, r.Count)
	}
}

// check asserts that a message is one that has not come yet, whole.
func (r *running) check(buf []byte, info lnx.RecvInfo, seen []bool) {
	require.GreaterOrEqual(r.t, len(buf), 4)
	n := binary.LittleEndian.Uint32(buf)
	if int(n) >= len(seen) || seen[n] || len(buf) != r.Sizes[int(n)%len(r.Sizes)] || !filled(buf, n) || info.From != r.Peer || info.Tag != flowTag {
		require.Fail(r.t, "not a message of this flow, or a second time", "number %d of %d, %+v", n, len(seen), info)
	}
	seen[n] = true
	r.report.Order = append(r.report.Order, n)
}

// fillers is a text with a period that no buffer size has.
var fillers = func() []byte {
	b := make([]byte, 1<<17)
	for i := range b {
		b[i] = byte(i % 251)
	}
	return b
}()

// fill writes message n: its number, and bytes that depend on it.
func fill(buf []byte, n uint32) {
	binary.LittleEndian.PutUint32(buf, n)
	copy(buf[4:], fillers[n%251:])
}

func filled(buf []byte, n uint32) bool {
	return bytes.Equal(buf[4:], fillers[n%251:][:len(buf)-4])
}

func startFar(t *testing.T, p netns.Place) far {
	t.Helper()
	return far{farRole.Start(t, p, farLife)}
}

// do has an order carried out.
func (f far) do(o farOrder) (ans farAnswer) {
	f.Put(o)
	f.Get(&ans)
	return ans
}

func (f far) open(l farLink) *farEP {
	ans := f.do(farOrder{Do: "open", Link: l})
	return &farEP{f, ans.ID, ans.Blob}
}

func (e *farEP) close() { e.do(farOrder{Do: "close", ID: e.id}) }

func (e *farEP) insert(o *farEP) farAnswer {
	return e.do(farOrder{Do: "insert", ID: e.id, Blob: o.blob})
}

func (e *farEP) stats() []lnx.RailStats { return e.do(farOrder{Do: "stats", ID: e.id}).Stats }

func (e *farEP) start(f flow) *farFlow {
	return &farFlow{e.far, e.do(farOrder{Do: "start", ID: e.id, Flow: f}).ID}
}

func (f *farFlow) done() int { return f.reach(0) }

// reach waits until n messages are done, or the limit is over, and answers how many are.
func (f *farFlow) reach(n int) int {
	return f.do(farOrder{Do: "reach", ID: f.id, Flow: flow{Count: n}}).Done
}

func (f *farFlow) finish() flowReport { return f.do(farOrder{Do: "finish", ID: f.id}).Report }

// pairing is two endpoints that know each other.
type pairing struct {
	a, b     *farEP
	toB, toA lnx.Addr
}

func introduce(t *testing.T, a, b *farEP) pairing {
	t.Helper()
	toB, toA := a.insert(b), b.insert(a)
	require.Empty(t, toB.Error)
	require.Empty(t, toA.Error)
	return pairing{a, b, toB.Addr, toA.Addr}
}

// start begins a flow from a to b.
func (p pairing) start(f flow) (send, recv *farFlow) {
	f.Peer = p.toA
	recv = p.b.start(f)
	f.Peer, f.Send = p.toB, true
	return p.a.start(f), recv
}

// run sends a flow from a to b.
func (p pairing) run(f flow) flowReport {
	send, recv := p.start(f)
	report := recv.finish()
	send.finish()
	return report
}

func (p pairing) reverse() pairing { return pairing{p.b, p.a, p.toA, p.toB} }

// delta is what the rails did since an earlier look.
func delta(now, earlier []lnx.RailStats) []lnx.RailStats {
	for i := range now {
		now[i].Stats = now[i].Sub(earlier[i].Stats)
	}
	return now
}

// disorder counts the messages that came after one with a higher number.
func disorder(order []uint32) (n int) {
	highest := uint32(0)
	for _, i := range order {
		if i < highest {
			n++
		}
		highest = max(highest, i)
	}
	return n
}
