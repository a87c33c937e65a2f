package lnx

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/providers/fierr"
)

// removal is traffic with a peer that one side removes and inserts again and again:
// a never does, b does. An endpoint is driven only by the calls on it. So whoever
// receives stays until the other side has ended, and learns that from it: what it saw
// sent could be less than what is under way.
type removal struct {
	ctx    context.Context
	cancel context.CancelFunc
	a, b   *Endpoint // one of them may be in another process
	toB    Addr
	toA    atomic.Uint64  // the Addr that b's peer had last
	stop   atomic.Bool    // senders
	back   atomic.Bool    // nothing is sent back any more
	got    []atomic.Int64 // by tag
	calls  sync.WaitGroup
	errs   chan error
}

func newRemoval(ctx context.Context, tags int) *removal {
	r := &removal{got: make([]atomic.Int64, tags), errs: make(chan error, 2*tags+2)}
	r.ctx, r.cancel = context.WithTimeout(ctx, 3*pairLimit)
	return r
}

// run runs one side of the traffic with a tag. When it fails, all else ends.
func (r *removal) run(f func(tag, size int) error, tag, size int) {
	r.calls.Go(func() {
		if err := f(tag, size); err != nil {
			r.errs <- err
			r.cancel()
		}
	})
}

// end waits for all that runs.
func (r *removal) end(t require.TestingT) {
	r.calls.Wait()
	close(r.errs)
	for err := range r.errs {
		require.NoError(t, err)
	}
}

// send sends numbered messages from a to b until it is told to stop. The last says that
// it is the last.
func (r *removal) send(tag, size int) error {
	buf := make([]byte, size)
	for n, last := uint64(0), false; !last; n++ {
		last = r.stop.Load()
		number(buf, mark(n, last))
		if err := r.a.Send(r.ctx, r.toB, uint64(tag), buf); err != nil {
			return fmt.Errorf("send %d of %d bytes: %w", n, size, err)
		}
	}
	return nil
}

// recv receives all that is sent, in order, with contexts that end all the time.
func (r *removal) recv(tag, size int) error {
	buf, want := make([]byte, size), make([]byte, size)
	patience := time.Millisecond
	for n, last := uint64(0), false; !last; {
		ctx, cancel := context.WithTimeout(r.ctx, patience)
		info, err := r.b.Recv(ctx, AddrUnspec, uint64(tag), 0, buf)
		cancel()
		if err != nil {
			if errors.Is(err, context.DeadlineExceeded) && r.ctx.Err() == nil {
				patience = min(2*patience, time.Second) // on a busy machine nothing comes in time
				continue
			}
			return fmt.Errorf("receive %d of %d bytes: %w", n, size, err)
		}
		last = buf[0]&1 == 1
		if number(want, mark(n, last)); info.Len != size || !bytes.Equal(want, buf) {
			return fmt.Errorf("receive %d of %d bytes: got %d, number %d", n, size, info.Len, binary.LittleEndian.Uint64(buf)>>1)
		}
		n++
		patience = time.Millisecond
		r.got[tag].Add(1)
	}
	return nil
}

// sendBack sends from the side that removes its peer. A send finds it or not.
func (r *removal) sendBack(tag, size int) error {
	defer r.back.Store(true)
	buf := make([]byte, size)
	for !r.stop.Load() {
		err := r.b.Send(r.ctx, Addr(r.toA.Load()), uint64(tag), buf)
		if err != nil && !errors.Is(err, fierr.EInval) {
			return fmt.Errorf("send back: %w", err)
		}
	}
	return nil
}

// take receives what is sent back.
func (r *removal) take(tag, size int) error {
	buf := make([]byte, size)
	for !r.back.Load() {
		ctx, cancel := context.WithTimeout(r.ctx, time.Millisecond)
		_, err := r.a.Recv(ctx, r.toB, uint64(tag), 0, buf)
		cancel()
		if err != nil && (!errors.Is(err, context.DeadlineExceeded) || r.ctx.Err() != nil) {
			return fmt.Errorf("receive what was sent back: %w", err)
		}
	}
	return nil
}

// mark is the number of a message that may be the last.
func mark(n uint64, last bool) uint64 {
	if last {
		return n<<1 | 1
	}
	return n << 1
}

func number(buf []byte, n uint64) {
	for i := range buf {
		buf[i] = byte(uint64(i)*7 + n)
	}
	binary.LittleEndian.PutUint64(buf, n)
}

// remove takes a's name out of b's AV and in again, with traffic in between.
func (r *removal) remove(t *testing.T, name []byte, times int) {
	for i := range times {
		require.NoError(t, r.b.AV().Remove(Addr(r.toA.Load())))
		r.some(t, i%len(r.got))
		again, err := r.b.AV().Insert(name)
		require.NoError(t, err)
		r.toA.Store(uint64(again))
		r.some(t, i%len(r.got))
	}
}

// some waits for traffic.
func (r *removal) some(t *testing.T, tag int) {
	before := r.got[tag].Load()
	soon(t, func() bool { return r.got[tag].Load() > before || r.ctx.Err() != nil }, "messages with tag %d", tag)
}

// removedSizes are messages that shm sends in each of its ways.
var removedSizes = []int{8, 5000, 70_000, 300_000}

// A peer that is removed from the AV while it sends is only not known as the source:
// all it sends arrives, whole and in order, for receives from anybody. When it is
// inserted again it is known again.
func TestPeerRemovedDuringTraffic(t *testing.T) {
	onRails(t, func(t *testing.T, links string) {
		a, b, toB, toA := connected(t, Options{Links: links})
		sizes := []int{8, 64, 5000, 16_000}
		if links == "shm" {
			sizes = removedSizes
		}
		r := newRemoval(t.Context(), len(sizes))
		defer r.cancel()
		r.a, r.b, r.toB = a, b, toB
		r.toA.Store(uint64(toA))
		for tag, size := range sizes {
			r.run(r.send, tag, size)
			r.run(r.recv, tag, size)
		}
		r.run(r.sendBack, len(sizes), 8)
		r.run(r.take, len(sizes), 8)
		r.remove(t, a.Name(), 16)
		r.stop.Store(true)
		r.end(t)
		// b knows the peer by its last Addr.
		sent := calling(func() error { return a.Send(r.ctx, toB, 77, []byte("known")) })
		info, err := b.Recv(r.ctx, Addr(r.toA.Load()), 77, 0, make([]byte, 5))
		require.NoError(t, err)
		require.Equal(t, RecvInfo{Len: 5, Tag: 77, From: Addr(r.toA.Load())}, info)
		require.NoError(t, outcome(t, sent, "Send"))
		require.False(t, slices.ContainsFunc(b.Stats(), func(s RailStats) bool { return s.Errors > 0 }), "%v", b.Stats())
	})
}
