package lnx

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/providers/fierr"
)

// storm is traffic in which contexts end and receives are canceled at any moment,
// while others peek, read the CQ and insert peers.
type storm struct {
	ctx      context.Context // of everything
	a, b     *Endpoint
	toB, toA Addr
	over     atomic.Bool // nothing new is sent
	sent     [stormTags]atomic.Int64
	senders  sync.WaitGroup
	allSent  atomic.Bool
}

const (
	stormTags = 6
	stormMost = 200_000
	stormTime = 1200 * time.Millisecond
)

var stormSizes = []int{8, 9, 63, 64, 65, 200, 4095, 4096, 4097, 16_383, 16_384, 16_385, 65_536, stormMost}

// shortly is a context that ends soon, or has.
func (s *storm) shortly() (context.Context, context.CancelFunc) {
	return context.WithTimeout(s.ctx, time.Duration(rand.IntN(2000))*time.Microsecond)
}

// send sends numbered messages. One whose context ends was not sent, or goes on.
func (s *storm) send(tag int) error {
	for n := uint64(0); !s.over.Load(); {
		buf := make([]byte, stormSizes[rand.IntN(len(stormSizes))])
		number(buf, n<<8|uint64(tag))
		ctx, cancel := s.shortly()
		err := s.a.Send(ctx, s.toB, uint64(tag), buf)
		cancel()
		var inFlight *InFlightError
		if errors.As(err, &inFlight) {
			_, err = inFlight.Future.Wait(s.ctx)
		}
		switch {
		case err == nil:
			n++
			s.sent[tag].Store(int64(n))
		case !errors.Is(err, context.DeadlineExceeded) || s.ctx.Err() != nil:
			return fmt.Errorf("send %d with tag %d: %w", n, tag, err)
		}
	}
	return nil
}

// recv receives all messages with a tag, in order. Buffers that were given back stay
// as they are from then on.
func (s *storm) recv(tag int) error {
	want := make([]byte, stormMost)
	var back [8][]byte
	for n := uint64(0); !s.allSent.Load() || int64(n) < s.sent[tag].Load(); {
		buf := make([]byte, stormMost)
		info, err := s.recvOne(tag, buf)
		if err != nil {
			if s.ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, fierr.ECanceled) {
				return fmt.Errorf("receive %d with tag %d: %w", n, tag, err)
			}
			if old := back[n%8]; bytes.Count(old, []byte{0}) != len(old) {
				return fmt.Errorf("a buffer of tag %d was written to after it was given back", tag)
			}
			back[n%8] = buf
			continue
		}
		if info.Len < 8 || info.From != s.toA {
			return fmt.Errorf("receive %d with tag %d: %+v", n, tag, info)
		}
		if number(want[:info.Len], n<<8|uint64(tag)); !bytes.Equal(want[:info.Len], buf[:info.Len]) {
			return fmt.Errorf("receive %d with tag %d: other content, %d bytes", n, tag, info.Len)
		}
		n++
	}
	for _, old := range back {
		if bytes.Count(old, []byte{0}) != len(old) {
			return fmt.Errorf("a buffer of tag %d was written to after it was given back", tag)
		}
	}
	return nil
}

// recvOne is Recv, or a future that is canceled when its context ends.
func (s *storm) recvOne(tag int, buf []byte) (RecvInfo, error) {
	ctx, cancel := s.shortly()
	defer cancel()
	if rand.IntN(3) > 0 {
		return s.b.Recv(ctx, s.toA, uint64(tag), 0, buf)
	}
	f, err := s.b.RecvAsync(s.ctx, s.toA, uint64(tag), 0, buf)
	if err != nil {
		return RecvInfo{}, err
	}
	info, err := f.Wait(ctx)
	if !errors.Is(err, context.DeadlineExceeded) {
		return info, err
	}
	if f.Cancel() {
		if _, err := f.Wait(s.ctx); !errors.Is(err, fierr.ECanceled) {
			return RecvInfo{}, fmt.Errorf("canceled, and then: %w", err)
		}
		return RecvInfo{}, fierr.ECanceled
	}
	return f.Wait(s.ctx)
}

// aside makes the other calls until the others are through.
func (s *storm) aside() error {
	for !s.allSent.Load() {
		tag := uint64(rand.IntN(stormTags))
		if err := s.b.TRecvMsg(&Msg{Addr: AddrUnspec, Tag: tag, Context: "peek"}, FlagPeek); err != nil && err != fierr.Again {
			return fmt.Errorf("peek: %w", err)
		}
		var entries [4]Entry
		n, err := s.b.CQ().Read(entries[:])
		for _, e := range entries[:n] {
			if e.Context != "peek" {
				return fmt.Errorf("a completion of nobody's: %+v", e)
			}
		}
		if errors.Is(err, fierr.EAvail) {
			if e, err := s.b.CQ().ReadErr(); err == nil && (e.Context != "peek" || e.Err != fierr.ENoMsg) {
				return fmt.Errorf("a failure of nobody's: %w", e)
			}
		}
		if again, err := s.b.AV().Insert(s.a.Name()); err != nil || again != s.toA {
			return fmt.Errorf("insert again: %v, %w", again, err)
		}
		runtime.Gosched()
	}
	return nil
}

// In a storm of calls that give up, every message that was sent is received once, in
// order, with its content, and no buffer is written to that was given back.
func TestStorm(t *testing.T) {
	storming := func(t *testing.T, links string) {
		ctx, cancel := context.WithTimeout(t.Context(), pairLimit)
		defer cancel()
		s := &storm{ctx: ctx}
		s.a, s.b, s.toB, s.toA = connected(t, Options{Links: links})
		var all sync.WaitGroup
		errs := make(chan error, 2*stormTags+1)
		run := func(group *sync.WaitGroup, f func() error) {
			group.Go(func() {
				if err := f(); err != nil {
					errs <- err
					cancel()
				}
			})
		}
		for tag := range stormTags {
			run(&s.senders, func() error { return s.send(tag) })
			run(&all, func() error { return s.recv(tag) })
		}
		run(&all, s.aside)
		select {
		case <-time.After(stormTime):
		case <-ctx.Done():
		}
		s.over.Store(true)
		s.senders.Wait()
		s.allSent.Store(true)
		all.Wait()
		close(errs)
		for err := range errs {
			require.NoError(t, err)
		}
		for tag := range s.sent {
			require.Positive(t, s.sent[tag].Load(), "messages with tag %d", tag)
		}
	}
	onRails(t, storming)
	onDirect(t, storming)
}
