package bench

import (
	"cmp"
	"context"
	"errors"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/cmd/lnx/pair"
	"golnx/lnx"
)

const limit = 30 * time.Second

// open opens an endpoint that can do all operations.
func open(t *testing.T) *lnx.Endpoint {
	t.Helper()
	opts := lnx.Options{Links: "shm"}
	for _, o := range Ops() {
		opts.Caps |= o.Caps
	}
	listing, err := lnx.Links(opts)
	require.NoError(t, err)
	ep, err := lnx.Open(listing.Links[0])
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ep.Close()) })
	return ep
}

// channels answers the two ends of a connection.
func channels(t *testing.T) (lead, follow *pair.Channel) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	opened := make(chan error)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			follow, err = pair.Open(context.Background(), conn, limit)
		}
		opened <- err
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	lead, err = pair.Open(context.Background(), conn, limit)
	require.NoError(t, err)
	require.NoError(t, <-opened)
	t.Cleanup(func() { _, _ = lead.Close(), follow.Close() })
	return lead, follow
}

// sessions runs both ends in this process, the following one serving only the test
// named, if one is; its error comes out of the channel.
func sessions(t *testing.T, only Only) (*Session, <-chan error) {
	t.Helper()
	lead, follow := channels(t)
	ours, theirs := open(t), open(t)
	served := make(chan error, 1)
	go func() {
		s, err := Join(follow, theirs, limit)
		if err == nil {
			err = s.Serve(only)
		}
		served <- err
	}()
	s, err := Join(lead, ours, limit)
	require.NoError(t, err)
	return s, served
}

func TestEveryTestRuns(t *testing.T) {
	s, served := sessions(t, Only{})
	exchange, err := Lookup("exchange", "")
	require.NoError(t, err)
	for _, test := range append(Offered(), exchange) {
		if test.Alone { // see TestReg
			continue
		}
		for _, size := range []int{0, 9, 70_000} {
			size = test.fit(size)
			p := Params{Test: test.Name, Op: test.Op, Size: size, Iters: 90, Warmup: 7, Window: test.Window, Verify: true}
			if test.Matching {
				p.Kind = KindExact
			}
			requireRun(t, s, p)
			if test.Both {
				p.Both = true
				requireRun(t, s, p)
			}
			if test.Matching {
				requireMatching(t, s, p)
			}
			if test.Goroutines {
				requireGoroutines(t, s, p)
			}
		}
	}
	require.NoError(t, s.Bye())
	require.NoError(t, <-served)
}

// fit answers the nearest size that the test takes.
func (t Test) fit(size int) int { return min(max(size, t.MinSize), cmp.Or(t.MaxSize, MaxSize)) }

func requireRun(t *testing.T, s *Session, p Params) {
	t.Helper()
	r, err := s.Run(p)
	require.NoError(t, err, "%+v", p)
	require.NotEmpty(t, r.Key)
	require.NotNil(t, r.Value)
	require.Len(t, r.Rails, 1)
	require.Equal(t, int64(64), s.Done.Load()) // the last multiple of tellEvery
	if CapsOf(p.Op)&onMemory != 0 {
		require.EqualValues(t, p.Iters, r.Rails[0].Ops)
		return
	}
	require.GreaterOrEqual(t, r.Rails[0].Tx, uint64(p.Iters))
	if p.Both { // the other end may begin a window earlier
		require.Greater(t, r.Rails[0].Rx, uint64(p.Iters-p.Window))
	}
}

// onMemory are the capabilities of operations on the other end's memory.
const onMemory = lnx.CapRMA | lnx.CapAtomic

func requireMatching(t *testing.T, s *Session, p Params) {
	t.Helper()
	for _, kind := range Kinds {
		for _, depth := range []int{1, 500} {
			p.Kind, p.Posted, p.Unexpected = kind, depth, 0
			requireRun(t, s, p)
			p.Posted, p.Unexpected = 0, depth
			requireRun(t, s, p)
		}
	}
}

func requireGoroutines(t *testing.T, s *Session, p Params) {
	t.Helper()
	p.Both = false
	for _, n := range []int{1, 8, 100} { // some with nothing to do in the warm-up, or at all
		p.Goroutines = n
		r, err := s.Run(p)
		require.NoError(t, err, "%+v", p)
		require.GreaterOrEqual(t, r.Rails[0].Tx, uint64(p.Iters))
		if r.Times != nil {
			require.EqualValues(t, p.Iters, r.Times.TotalCount())
		}
	}
}

func TestRunFor(t *testing.T) {
	s, served := sessions(t, Only{})
	const d = 20 * time.Millisecond
	p, r, err := s.RunFor(Params{Test: "lat", Size: 8, Iters: 1, Verify: true}, d, nil)
	require.NoError(t, err)
	require.EqualValues(t, p.Iters, r.Times.TotalCount())
	require.Equal(t, p.Iters/10, p.Warmup)
	require.GreaterOrEqual(t, r.Took, d/2)
	three := 3
	p, _, err = s.RunFor(Params{Test: "lat", Size: 8, Iters: 1}, d, &three)
	require.NoError(t, err)
	require.Equal(t, 3, p.Warmup)
	require.NoError(t, s.Bye())
	require.NoError(t, <-served)
}

func TestNextPilot(t *testing.T) {
	const d = time.Second
	for _, c := range []struct {
		iters int
		took  time.Duration
		next  int
		known bool
	}{
		{10, time.Millisecond, 100, false},
		{100, 49 * time.Millisecond, 1000, false},
		{100, 50 * time.Millisecond, 2000, true},
		{10, 3 * time.Second, 3, true},
		{10, time.Hour, 1, true},
		{MaxIters / 2, 1, MaxIters, false},
		{MaxIters, 0, MaxIters, true},
	} {
		next, known := nextPilot(c.iters, c.took, d)
		require.Equal(t, c.next, next, "%+v", c)
		require.Equal(t, c.known, known, "%+v", c)
	}
}

// A goroutine that fails takes the others along, at both ends.
func TestFailureOfOneGoroutine(t *testing.T) {
	e := &End{EP: open(t), Done: new(atomic.Int64), ctx: t.Context(), limit: limit}
	b := newBlocking(e, Params{Goroutines: 4}, tagLead, tagFollow)
	err := b.run(4, func(t *worker, ctx context.Context, n int) error {
		if t == b.workers[2] {
			return errBroken
		}
		<-ctx.Done()
		return ctx.Err()
	})
	require.Equal(t, errBroken, err)
}

func TestGoroutinesWithoutProgress(t *testing.T) {
	e := &End{EP: open(t), Done: new(atomic.Int64), ctx: t.Context(), limit: time.Millisecond}
	b := newBlocking(e, Params{Goroutines: 2}, tagLead, tagFollow)
	err := b.run(2, func(_ *worker, ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() })
	require.ErrorContains(t, err, "no message came or went for 1ms")
}

// broken is a test whose following end fails when the leading end waits for it.
var errBroken = errors.New("broken on purpose")

func init() {
	Register(Test{
		Name: "broken", Iters: func(int) int { return 1 },
		Lead: func(e *End, p Params) (Result, error) {
			_, err := e.poll()
			return Result{}, err
		},
		Follow: func(e *End, p Params) error { return errors.Join(e.Ready(), errBroken) },
	})
}

func TestFailureOfTheOtherEndIsTheReason(t *testing.T) {
	s, served := sessions(t, Only{})
	_, err := s.Run(Params{Test: "broken", Iters: 1})
	var theirs *pair.PeerError
	require.ErrorAs(t, err, &theirs)
	require.Equal(t, errBroken.Error(), theirs.Text)
	err = <-served
	require.ErrorIs(t, err, errBroken)
	require.True(t, pair.Told(err))
}

func TestOtherTestIsRefused(t *testing.T) {
	for want, p := range map[string]Params{
		`the test asked for is "lat", this end runs "bw"`:                              {Test: "lat", Size: 8, Iters: 1},
		`the operation asked for is "read", the listening end was started with --op w`: {Test: "bw", Op: OpRead, Size: 8, Iters: 1, Window: 1},
		`the operation asked for is "tsend"`:                                           {Test: "bw", Size: 8, Iters: 1, Window: 1},
	} {
		s, served := sessions(t, Only{"bw", OpWrite})
		_, err := s.Run(p)
		require.ErrorContains(t, err, want)
		require.Error(t, <-served)
	}
}

func TestBadParamsOfTheOtherEnd(t *testing.T) {
	lead, follow := channels(t)
	ep := open(t)
	served := make(chan error, 1)
	go func() {
		s, err := Join(follow, ep, limit)
		if err == nil {
			err = s.Serve(Only{})
		}
		served <- err
	}()
	require.NoError(t, lead.Send(kindHello, hello{open(t).Name()}))
	require.NoError(t, lead.Send(kindRun, Params{Test: "bw", Size: 1 << 40, Iters: 1, Window: 1}))
	require.ErrorContains(t, <-served, "--size 1099511627776")
}

func TestNoProgressEndsTheTest(t *testing.T) {
	e := &End{EP: open(t), Done: new(atomic.Int64), ctx: context.Background(), limit: time.Millisecond}
	_, err := e.poll()
	require.ErrorContains(t, err, "no message came or went for 1ms")
}

func TestCheckRefuses(t *testing.T) {
	e := &End{EP: open(t), Peer: 1}
	p := Params{Size: 16, Verify: true}
	s := &new(End).newSlots(1, 16)[0]
	fill(s.buf, 9)
	require.NoError(t, e.check(&lnx.Entry{Context: &slot{buf: s.buf, untagged: true, tag: 9}, Len: 16, Src: 1}, &p))
	require.ErrorContains(t, e.check(&lnx.Entry{Context: &slot{buf: s.buf, untagged: true, tag: 8}, Len: 16, Src: 1}, &p), "byte 0 is")
	good := lnx.Entry{Context: s, Len: 16, Tag: 9, Src: 1}
	require.NoError(t, e.check(&good, &p))
	for want, change := range map[string]func(c *lnx.Entry){
		"has 15 bytes":     func(c *lnx.Entry) { c.Len = 15 },
		"came from Addr 2": func(c *lnx.Entry) { c.Src = 2 },
		"byte 0 is":        func(c *lnx.Entry) { c.Tag = 10 },
	} {
		bad := good
		change(&bad)
		require.ErrorContains(t, e.check(&bad, &p), want)
	}
}

// The measured loops must not measure the garbage collector.
func TestLoopsDoNotAllocate(t *testing.T) {
	a, b := open(t), open(t)
	end := func(ep, other *lnx.Endpoint) *End {
		addr, err := ep.AV().Insert(other.Name())
		require.NoError(t, err)
		return &End{EP: ep, Peer: addr, Done: new(atomic.Int64), ctx: context.Background(), limit: limit, Ready: func() error { return nil }}
	}
	lead, follow := end(a, b), end(b, a)
	const n = 5000
	p := Params{Test: "lat", Size: 64, Warmup: n, Iters: n}
	followed := make(chan error)
	go func() { followed <- followLat(follow, p) }()
	pp := newPingPong(lead, p, tagLead, tagFollow)
	require.NoError(t, errors.Join(pp.postNext(), pp.postNext()))
	_, err := pp.lead(0, n, nil)
	require.NoError(t, err)
	requireFewMallocs(t, n, func() { _, err = pp.lead(n, n, nil) })
	require.NoError(t, err)
	require.NoError(t, <-followed)

	p = Params{Test: "rate", Size: 64, Warmup: n, Iters: n, Window: 16}
	go func() { followed <- followStream(follow, p) }()
	s := newStream(lead, p, tagLead, tagFollow, true)
	require.NoError(t, s.begin())
	require.NoError(t, s.run(n))
	requireFewMallocs(t, n, func() { err = s.run(2 * n) })
	require.NoError(t, err)
	require.NoError(t, <-followed)
}

// requireFewMallocs counts what both ends allocate. (testing.AllocsPerRun leaves
// them one processor, on which two ends that poll take turns of milliseconds.)
func requireFewMallocs(t *testing.T, messages int, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	require.Less(t, after.Mallocs-before.Mallocs, uint64(messages/50), "the runtime's own are few")
}
