package lnx_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
	"golnx/rail/intercept"
)

// 64 goroutines send and receive over one pair of endpoints whose consumers count without
// a lock (which the race detector watches), change contexts, refuse, and panic. Each
// caller gets what is its own, and each operation that was accepted ends once.
func TestHooksOfManyGoroutines(t *testing.T) {
	for _, c := range []choice{{Links: "shm"}, {Links: "tcp:lo"}} {
		t.Run(c.String(), func(t *testing.T) { hooksOfMany(t, c) })
	}
}

// Tags say what becomes of a send: the low bits who sends what.
const (
	tagPanics uint64 = 1 << (62 + iota)
	tagRefused
)

var errRefused = errors.New("refused by a hook")

// tally counts what an endpoint's operations come to, under the endpoint's lock.
type tally struct {
	accepted, ended int
	under           map[*int]any // contexts that are ours, and the callers'
}

func (c *tally) hooks() *intercept.Hooks {
	enter := func(context *any) *int {
		mark := new(int)
		c.under[mark], *context = *context, mark
		return mark
	}
	return &intercept.Hooks{
		Name: "tally",
		TSend: func(_ *intercept.Rail, s *intercept.Send, next func(*intercept.Send) error) error {
			mark := enter(&s.Context)
			err := next(s)
			if err != nil {
				delete(c.under, mark)
				return err
			}
			c.accepted++
			return nil
		},
		TRecv: func(_ *intercept.Rail, r *intercept.Recv, next func(*intercept.Recv) error) error {
			c.accepted++ // it can end within next
			mark := enter(&r.Context)
			err := next(r)
			if err != nil {
				c.accepted--
				delete(c.under, mark)
			}
			return err
		},
		Complete: func(_ *intercept.Rail, done *intercept.Completion) {
			c.ended++
			mark := done.Context.(*int)
			done.Context = c.under[mark]
			delete(c.under, mark)
		},
	}
}

// clumsy refuses or panics if the tag says so.
func clumsy() *intercept.Hooks {
	return &intercept.Hooks{
		Name: "clumsy",
		TSend: func(_ *intercept.Rail, s *intercept.Send, next func(*intercept.Send) error) error {
			switch {
			case s.Tag&tagPanics != 0:
				panic(s.Tag)
			case s.Tag&tagRefused != 0:
				return errRefused
			}
			return next(s)
		},
	}
}

func hooksOfMany(t *testing.T, c choice) {
	const goroutines, rounds = 64, 12
	tallies := [2]*tally{}
	var nodes [2]*node
	for i := range nodes {
		tallies[i] = &tally{under: map[*int]any{}}
		opts := c.options()
		opts.Hooks = []*intercept.Hooks{tallies[i].hooks(), clumsy()}
		nodes[i] = openNode(t, opts)
	}
	a, b := nodes[0].ep, nodes[1].ep
	toB, toA := nodes[0].insert(b.Name()), nodes[1].insert(a.Name())
	ctx, cancel := context.WithTimeout(t.Context(), 2*limit)
	defer cancel()

	// Meanwhile consumers come and go, and endpoints with them.
	var opened atomic.Int32
	stop, others := make(chan struct{}), sync.WaitGroup{}
	others.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			undo := intercept.Register(&intercept.Hooks{EndpointCreated: func(*intercept.Endpoint) { opened.Add(1) }})
			n := openNode(t, choice{Links: "shm"}.options())
			undo()
			if err := n.ep.Close(); err != nil {
				t.Error(err)
			}
		}
	})

	var all sync.WaitGroup
	for g := range uint64(goroutines) {
		from, to, dst, src := a, b, toB, toA
		if g%2 == 1 {
			from, to, dst, src = b, a, toA, toB
		}
		all.Go(func() {
			for i := range uint64(rounds) {
				if err := oneHookedMessage(ctx, from, to, dst, src, g<<16|i); err != nil {
					t.Errorf("goroutine %d, round %d: %v", g, i, err)
					return
				}
			}
		})
	}
	all.Wait()
	close(stop)
	others.Wait()
	require.Positive(t, opened.Load())
	for i, n := range nodes {
		require.NoError(t, n.ep.Close())
		require.Equal(t, goroutines*rounds, tallies[i].accepted)
		require.Equal(t, tallies[i].accepted, tallies[i].ended)
		require.Empty(t, tallies[i].under)
	}
}

// oneHookedMessage sends a message that arrives, one that is refused and one whose hook
// panics.
func oneHookedMessage(ctx context.Context, from, to *lnx.Endpoint, dst, src lnx.Addr, tag uint64) error {
	out, in := payload(tag, int(tag%5)*2000), make([]byte, 10_000)
	future, err := to.RecvAsync(ctx, src, tag, 0, in)
	if err != nil {
		return err
	}
	var p *intercept.PanicError
	switch err := from.Send(ctx, dst, tag|tagPanics, out); {
	case !errors.As(err, &p):
		return fmt.Errorf("a panic became %w", err)
	case p.Consumer != "clumsy" || p.Value != tag|tagPanics:
		return fmt.Errorf("somebody else's panic: %w", err)
	}
	if err := from.Send(ctx, dst, tag|tagRefused, out); err != errRefused {
		return fmt.Errorf("a refused send became %w", err)
	}
	if err := from.Send(ctx, dst, tag, out); err != nil {
		return err
	}
	info, err := future.Wait(ctx)
	if err != nil {
		return err
	}
	if info != (lnx.RecvInfo{Len: len(out), Tag: tag, From: src}) || string(in[:info.Len]) != string(out) {
		return fmt.Errorf("received %+v", info)
	}
	return nil
}
