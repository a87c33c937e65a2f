package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golnx/cmd/lnx/pair"
	"golnx/lnx"
	"golnx/providers/fierr"
)

// Kinds of messages between the ends. Either end begins with hello; then the
// leading end sends run for each test, which the other answers with ready and
// over, and bye. In tests of memory both send key after ready.
const (
	kindHello = "hello"
	kindRun   = "run"
	kindKey   = "key"
	kindReady = "ready"
	kindOver  = "over"
	kindBye   = "bye"
)

// hello says how the sender can be reached.
type hello struct {
	Blob []byte `json:"blob"` // lnx.Endpoint.Name
}

// key is for the sender's memory.
type key struct {
	Key []byte `json:"key"` // lnx.Region.RemoteKey
}

// nap is how long an end that waits for a message of the channel drives the rails
// before it looks for the message.
const nap = time.Millisecond

// Session is one end of a connection that runs tests. It belongs to one goroutine.
type Session struct {
	// Done counts the finished messages of the present run, about.
	Done atomic.Int64

	ch  *pair.Channel
	end End
}

// Join introduces the two ends to each other. limit is how long either end may
// make no progress.
func Join(ch *pair.Channel, ep *lnx.Endpoint, limit time.Duration) (*Session, error) {
	s := &Session{ch: ch}
	s.end = End{EP: ep, Done: &s.Done, ctx: ch.Context(), limit: limit}
	s.end.Ready = func() error { return ch.Send(kindReady, nil) }
	s.end.Swap = s.swap
	return s, s.report(s.join())
}

func (s *Session) join() error {
	if err := s.ch.Send(kindHello, hello{s.end.EP.Name()}); err != nil {
		return err
	}
	m, err := s.await(kindHello)
	if err != nil {
		return err
	}
	var theirs hello
	if err := m.Decode(&theirs); err != nil {
		return err
	}
	s.end.Peer, err = s.end.EP.AV().Insert(theirs.Blob)
	return err
}

// swap gives the other end a key and answers its.
func (s *Session) swap(mine []byte) ([]byte, error) {
	if err := s.ch.Send(kindKey, key{mine}); err != nil {
		return nil, err
	}
	m, err := s.await(kindKey)
	if err != nil {
		return nil, err
	}
	var theirs key
	err = m.Decode(&theirs)
	return theirs.Key, err
}

// Run runs a test with the other end and answers what was measured. After an error
// the session is over.
func (s *Session) Run(p Params) (r Result, err error) {
	defer func() { err = s.reason(err) }()
	if err := p.Validate(); err != nil {
		return r, err
	}
	test, err := Lookup(p.Test, p.Op)
	if err != nil {
		return r, err
	}
	s.begin(p)
	if err := s.ch.Send(kindRun, p); err != nil {
		return r, err
	}
	if _, err := s.await(kindReady); err != nil {
		return r, err
	}
	if r, err = test.Lead(&s.end, p); err != nil {
		return r, err
	}
	_, err = s.await(kindOver)
	return r, errors.Join(err, s.end.freeMemory())
}

// RunFor is Run with as many iterations as take some time, about, and answers what
// was run in the end. Shorter runs come before, to learn how many those are, and again
// where something held one up. The warm-up is a tenth of the iterations if warmup is nil.
func (s *Session) RunFor(p Params, d time.Duration, warmup *int) (Params, Result, error) {
	of := func(iters int) Params {
		p.Iters, p.Warmup = iters, iters/10
		if warmup != nil {
			p.Warmup = *warmup
		}
		return p
	}
	pilot := of(pilotIters)
	pilot.Warmup = pilotIters // connecting is no part of what is learned
	for {
		r, err := s.Run(pilot)
		if err != nil {
			return pilot, r, err
		}
		next, known := nextPilot(pilot.Iters, r.Took, d)
		if known {
			pilot = of(next)
			break
		}
		pilot.Iters, pilot.Warmup = next, next/10
	}
	for try := 0; ; try++ {
		r, err := s.Run(pilot)
		if err != nil || r.Took >= d/2 || pilot.Iters == MaxIters || try == finalTries {
			return pilot, r, err
		}
		next, _ := nextPilot(pilot.Iters, r.Took, d)
		pilot = of(next)
	}
}

// finalTries are how many more runs there are for one that was too short.
const finalTries = 5

// pilotIters are the iterations of the first run that tells how long others take.
const pilotIters = 10

// nextPilot answers how many iterations take the time d, when so many took that
// long, or, if that was too short to be sure, how many are to be tried next.
func nextPilot(iters int, took, d time.Duration) (next int, known bool) {
	const grow = 10
	if took < d/(2*grow) && iters < MaxIters {
		return min(iters*grow, MaxIters), false
	}
	return int(min(max(1, float64(iters)*float64(d)/float64(max(1, took))), MaxIters)), true
}

func (s *Session) begin(p Params) {
	s.Done.Store(0)
	s.end.huge = p.Huge
	s.end.idle, s.end.patient = 0, false
	s.end.mark()
}

// Bye ends the session in good order, from the leading end.
func (s *Session) Bye() error { return s.ch.Send(kindBye, nil) }

// Only is the one test that the other end may ask for, and the one operation; empty is
// any.
type Only struct{ Test, Op string }

func (o Only) check(p Params) error {
	if o.Test != "" && p.Test != o.Test {
		return fmt.Errorf("the test asked for is %q, this end runs %q", p.Test, o.Test)
	}
	if op := cmp.Or(p.Op, OpTSend); o.Op != "" && op != o.Op {
		return fmt.Errorf("the operation asked for is %q, the listening end was started with --op %s: start both with the same", op, o.Op)
	}
	return nil
}

// Serve does what the leading end asks for, until it says bye.
func (s *Session) Serve(only Only) error { return s.reason(s.serve(only)) }

func (s *Session) serve(only Only) error {
	for {
		m, err := s.await(kindRun, kindBye)
		if err != nil || m.Kind == kindBye {
			return err
		}
		var p Params
		if err := m.Decode(&p); err != nil {
			return err
		}
		if err := s.follow(p, only); err != nil {
			return err
		}
		if err := s.ch.Send(kindOver, nil); err != nil {
			return err
		}
	}
}

func (s *Session) follow(p Params, only Only) error {
	if err := only.check(p); err != nil {
		return err
	}
	if err := p.Validate(); err != nil {
		return err
	}
	test, err := Lookup(p.Test, p.Op)
	if err != nil {
		return err
	}
	s.begin(p)
	if err := test.Follow(&s.end, p); err != nil {
		return err
	}
	return s.end.freeMemory()
}

// await waits for a message of one of the kinds. Meanwhile it drives the rails,
// because the other end may still need that.
func (s *Session) await(kinds ...string) (pair.Message, error) {
	ctx, cancel := context.WithTimeoutCause(s.ch.Context(), s.end.limit,
		fmt.Errorf("no %q from the other end within %v", kinds[0], s.end.limit))
	defer cancel()
	for {
		ended := ctx.Err() != nil // before the look: what came before the end counts
		select {
		case m := <-s.ch.Messages():
			if slices.Contains(kinds, m.Kind) {
				return m, nil
			}
			return m, fmt.Errorf("the other end sent %q where %q was expected", m.Kind, kinds)
		default:
		}
		if ended {
			return pair.Message{}, context.Cause(ctx)
		}
		if err := s.drive(ctx); err != nil {
			return pair.Message{}, err
		}
	}
}

// drive drives the rails for a moment. No operation is under way.
func (s *Session) drive(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, nap)
	defer cancel()
	n, err := s.end.EP.CQ().Wait(ctx, s.end.entries[:])
	switch {
	case ctx.Err() != nil && n == 0:
		return nil
	case err != nil:
		return s.end.failure(err)
	}
	return fmt.Errorf("message %#x came when none was expected", s.end.entries[0].Tag)
}

// reason is report for an error of a run. If an operation failed, what is seen here
// may be only that the other end is gone, and it is about to say why.
func (s *Session) reason(err error) error {
	if _, failed := fierr.Of(err); failed {
		t := time.NewTimer(time.Second)
		defer t.Stop()
		select {
		case <-s.ch.Context().Done():
		case <-t.C:
		}
	}
	return s.report(err)
}

// report tells the other end of an error, unless it has told us of one: that is the
// reason then.
func (s *Session) report(err error) error {
	if err == nil {
		return nil
	}
	var theirs *pair.PeerError
	if errors.As(context.Cause(s.ch.Context()), &theirs) {
		err = theirs
	}
	return s.ch.Fail(err)
}
