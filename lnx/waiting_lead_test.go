package lnx

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/providers/fierr"
)

// leadPair is two endpoints, of which b is driven only by the calls that wait on it.
type leadPair struct {
	t        *testing.T
	a, b     *Endpoint
	toB, toA Addr
}

// waitingCall is a call that waits on b.
type waitingCall struct {
	end  func()       // makes it end, without driving b
	done <-chan error // its outcome
	want error
}

// waitKinds start calls of every kind that can wait.
var waitKinds = []struct {
	name  string
	alone string // calls with the same reason are not made at once
	begin func(p *leadPair, tag uint64) waitingCall
}{
	{"Recv", "", func(p *leadPair, tag uint64) waitingCall {
		return waitingCall{end: func() { p.inject(tag) }, done: calling(func() error {
			_, err := p.b.Recv(p.t.Context(), p.toA, tag, 0, make([]byte, 8))
			return err
		})}
	}},
	{"Recv whose context ends", "", func(p *leadPair, tag uint64) waitingCall {
		ctx, cancel := context.WithCancel(p.t.Context())
		return waitingCall{end: func() { go cancel() }, want: context.Canceled, done: calling(func() error {
			_, err := p.b.Recv(ctx, p.toA, tag, 0, make([]byte, 8))
			return err
		})}
	}},
	{"Future.Wait", "", func(p *leadPair, tag uint64) waitingCall {
		f, err := p.b.RecvAsync(p.t.Context(), p.toA, tag, 0, make([]byte, 8))
		require.NoError(p.t, err)
		return waitingCall{end: func() { p.inject(tag) }, done: calling(func() error {
			_, err := f.Wait(p.t.Context())
			return err
		})}
	}},
	{"Future.Wait until Future.Cancel", "", func(p *leadPair, tag uint64) waitingCall {
		f, err := p.b.RecvAsync(p.t.Context(), p.toA, tag, 0, make([]byte, 8))
		require.NoError(p.t, err)
		return waitingCall{end: func() { go f.Cancel() }, want: fierr.ECanceled, done: calling(func() error {
			_, err := f.Wait(p.t.Context())
			return err
		})}
	}},
	{"Send", oneTransfer, func(p *leadPair, tag uint64) waitingCall {
		return waitingCall{end: func() { p.receive(tag) }, done: calling(func() error {
			return p.b.Send(p.t.Context(), p.toA, tag, make([]byte, bigSend))
		})}
	}},
	{"CQ.Wait", anyEntry, func(p *leadPair, tag uint64) waitingCall {
		require.NoError(p.t, p.b.TRecv(make([]byte, 8), p.toA, tag, 0, tag))
		return waitingCall{end: func() { p.inject(tag) }, done: calling(func() error {
			var e [1]Entry
			n, err := p.b.CQ().Wait(p.t.Context(), e[:])
			if err == nil && (n != 1 || e[0].Context != tag) {
				err = fmt.Errorf("%d completions, %+v", n, e)
			}
			return err
		})}
	}},
	{"CQ.Wait until CQ.Signal", anyEntry, func(p *leadPair, _ uint64) waitingCall {
		return waitingCall{end: func() { go p.b.CQ().Signal() }, want: fierr.EAgain, done: calling(func() error {
			_, err := p.b.CQ().Wait(p.t.Context(), make([]Entry, 1))
			return err
		})}
	}},
}

const (
	anyEntry    = "each would take the other's completion"
	oneTransfer = "shm transfers one large message to a peer at a time"
)

// bigSend is a message that is under way until it is received.
const bigSend = 100_000

func calling(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}

// inject sends b a message.
func (p *leadPair) inject(tag uint64) {
	soon(p.t, func() bool { return p.a.TInject([]byte{1}, p.toB, tag) == nil }, "TInject")
}

// receive takes a message of b's.
func (p *leadPair) receive(tag uint64) {
	require.NoError(p.t, p.a.TRecv(make([]byte, bigSend), p.toB, tag, 0, tag))
	soon(p.t, func() bool { n, _ := p.a.CQ().Read(make([]Entry, 1)); return n == 1 }, "the message of Send")
}

// leads says that some call drives b, and has begun to sleep in between.
func (p *leadPair) leads() bool { return p.b.wait.sleeping.Load() }

// others counts the calls that leave it to the leader.
func (p *leadPair) others() int {
	p.b.wait.mu.Lock()
	defer p.b.wait.mu.Unlock()
	return len(p.b.wait.list)
}

// exclude says that two calls cannot be made at once.
func exclude(x, y string) bool { return x != "" && x == y }

// While calls wait, one of them drives the rails. When the leader ends and one of the
// others with it, the lead goes to a third.
func TestLeadIsNeverLost(t *testing.T) {
	a, b, toB, toA := connected(t, Options{Links: "shm"})
	p := &leadPair{t, a, b, toB, toA}
	for round := range 2 {
		for _, leader := range waitKinds {
			for _, second := range waitKinds {
				for _, third := range waitKinds {
					if exclude(leader.alone, second.alone) || exclude(leader.alone, third.alone) || exclude(second.alone, third.alone) {
						continue
					}
					what := fmt.Sprintf("round %d: %s leads, %s ends with it, %s is left", round, leader.name, second.name, third.name)
					one := leader.begin(p, 1)
					soon(t, p.leads, what)
					two := second.begin(p, 2)
					soon(t, func() bool { return p.others() == 1 }, what)
					three := third.begin(p, 3)
					soon(t, func() bool { return p.others() == 2 }, what)

					b.mu.Lock() // the leader meets both ends at once
					one.end()
					two.end()
					b.mu.Unlock()
					require.ErrorIs(t, outcome(t, one.done, what), one.want, what)
					require.ErrorIs(t, outcome(t, two.done, what), two.want, what)
					three.end()
					require.ErrorIs(t, outcome(t, three.done, what), three.want, what)
				}
			}
		}
	}
}

// Whatever puts an entry into the CQ wakes CQ.Wait, also while another call leads
// and nothing comes over the rails.
func TestEveryEntryWakesWait(t *testing.T) {
	a, b, toB, toA := connected(t, Options{Links: "shm"})
	p := &leadPair{t, a, b, toB, toA}
	ctx, cancel := context.WithCancel(t.Context())
	leader := calling(func() error { _, err := b.Recv(ctx, toA, 1, 0, nil); return err })
	p.inject(2)
	soon(t, func() bool { return b.Stats()[0].RxUnexpected == 1 }, "the message that is peeked at")
	msg := func(tag uint64) *Msg { return &Msg{Addr: AddrUnspec, Tag: tag, Context: tag} }
	for _, c := range []struct {
		name string
		call func() error
		want error
	}{
		{"peek without a message", func() error { return b.TRecvMsg(msg(77), FlagPeek) }, fierr.EAvail},
		{"peek", func() error { return b.TRecvMsg(msg(2), FlagPeek) }, nil},
		{"claim", func() error { return b.TRecvMsg(msg(2), FlagPeek|FlagClaim) }, nil},
		{"discard", func() error { return b.TRecvMsg(msg(2), FlagClaim|FlagDiscard|FlagCompletion) }, nil},
		{"cancel", func() error { return b.Cancel(uint64(3)) }, fierr.EAvail},
	} {
		require.NoError(t, b.TRecv(nil, toA, 3, 0, uint64(3)))
		soon(t, p.leads, c.name)
		waiter := calling(func() error { _, err := b.CQ().Wait(ctx, make([]Entry, 1)); return err })
		soon(t, func() bool { return p.others() == 1 }, c.name)
		require.NoError(t, c.call(), c.name)
		require.ErrorIs(t, outcome(t, waiter, c.name), c.want, c.name)
		if c.want != nil {
			_, err := b.CQ().ReadErr()
			require.NoError(t, err, c.name)
		}
	}
	cancel()
	require.ErrorIs(t, outcome(t, leader, "Recv"), context.Canceled)
}

// Many callers of CQ.Wait, some of which give up all the time, share the completions:
// each goes to one of them, and none is left while somebody waits.
func TestManyWait(t *testing.T) {
	onRails(t, func(t *testing.T, links string) {
		const count, callers = 3000, 6
		a, b, toB, toA := connected(t, Options{Links: links})
		ctx, cancel := context.WithTimeout(t.Context(), pairLimit)
		defer cancel()
		var seen [count]atomic.Int32
		var got atomic.Int32
		var all sync.WaitGroup
		errs := make(chan error, callers)
		for i := range callers {
			all.Go(func() {
				var entries [3]Entry
				for got.Load() < count {
					call, stop := ctx, context.CancelFunc(func() {})
					if i%2 == 1 {
						call, stop = context.WithTimeout(ctx, time.Duration(rand.IntN(500))*time.Microsecond)
					}
					n, err := b.CQ().Wait(call, entries[:])
					gaveUp := call.Err() != nil
					stop()
					if err != nil && !gaveUp {
						errs <- err
						return
					}
					for _, e := range entries[:n] {
						seen[e.Context.(int)].Add(1)
					}
					if int(got.Add(int32(n))) == count || ctx.Err() != nil {
						cancel()
						return
					}
				}
			})
		}
		for i := range count {
			soon(t, func() bool { return b.TRecv(make([]byte, 8), toA, 1, 0, i) == nil }, "TRecv %d", i)
			soon(t, func() bool { return a.TInject([]byte{1}, toB, 1) == nil }, "TInject %d", i)
		}
		all.Wait()
		close(errs)
		for err := range errs {
			require.NoError(t, err)
		}
		for i := range seen {
			require.EqualValues(t, 1, seen[i].Load(), "times that completion %d was read", i)
		}
	})
}

// panicky is a context whose Done panics.
type panicky struct{ context.Context }

func (panicky) Done() <-chan struct{} { panic("no channel") }

// A call whose context panics leaves none of the others without a leader.
func TestPanickingContextKeepsNoLead(t *testing.T) {
	a, b, toB, toA := connected(t, Options{Links: "shm"})
	p := &leadPair{t, a, b, toB, toA}
	ctx, cancel := context.WithCancel(t.Context())
	recv := func(ctx context.Context, tag uint64) error {
		_, err := b.Recv(ctx, toA, tag, 0, make([]byte, 1))
		return err
	}
	leader := calling(func() error { return recv(ctx, 1) })
	soon(t, p.leads, "the leader")
	require.Panics(t, func() { _ = recv(panicky{t.Context()}, 2) })
	last := calling(func() error { return recv(t.Context(), 3) })
	soon(t, func() bool { return p.others() == 1 }, "the last")
	cancel()
	require.ErrorIs(t, outcome(t, leader, "the leader"), context.Canceled)
	p.inject(3)
	require.NoError(t, outcome(t, last, "the last"))
	soon(t, func() bool { return b.wait.woken.Load() == 0 }, "nobody is woken")
}
