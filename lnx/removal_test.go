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
// a never does, b does.
type removal struct {
	t    *testing.T
	ctx  context.Context
	a, b *Endpoint
	toB  Addr
	toA  atomic.Uint64  // the Addr that b's peer had last
	stop atomic.Bool    // senders
	sent []atomic.Int64 // by tag
	got  []atomic.Int64
}

// send sends numbered messages from a to b until it is told to stop.
func (r *removal) send(tag, size int) error {
	buf := make([]byte, size)
	for n := uint64(0); !r.stop.Load(); n++ {
		number(buf, n)
		if err := r.a.Send(r.ctx, r.toB, uint64(tag), buf); err != nil {
			return fmt.Errorf("send %d of %d bytes: %w", n, size, err)
		}
		r.sent[tag].Add(1)
	}
	return nil
}

// recv receives all that was sent, in order, with contexts that end all the time.
func (r *removal) recv(tag, size int) error {
	buf, want := make([]byte, size), make([]byte, size)
	patience := time.Millisecond
	for n := uint64(0); !r.stop.Load() || r.got[tag].Load() < r.sent[tag].Load(); {
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
		if number(want, n); info.Len != size || !bytes.Equal(want, buf) {
			return fmt.Errorf("receive %d of %d bytes: got %d, number %d", n, size, info.Len, binary.LittleEndian.Uint64(buf))
		}
		n++
		patience = time.Millisecond
		r.got[tag].Add(1)
	}
	return nil
}

// sendBack sends from the side that removes its peer. A send finds it or not.
func (r *removal) sendBack(tag, size int) error {
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
	for !r.stop.Load() {
		ctx, cancel := context.WithTimeout(r.ctx, time.Millisecond)
		_, err := r.a.Recv(ctx, r.toB, uint64(tag), 0, buf)
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("receive what was sent back: %w", err)
		}
	}
	return nil
}

func number(buf []byte, n uint64) {
	for i := range buf {
		buf[i] = byte(uint64(i)*7 + n)
	}
	binary.LittleEndian.PutUint64(buf, n)
}

// A peer that is removed from the AV while it sends is only not known as the source:
// all it sends arrives, whole and in order, for receives from anybody. When it is
// inserted again it is known again.
func TestPeerRemovedDuringTraffic(t *testing.T) {
	onRails(t, func(t *testing.T, links string) {
		a, b, toB, toA := connected(t, Options{Links: links})
		ctx, cancel := context.WithTimeout(t.Context(), 3*pairLimit)
		defer cancel()
		sizes := []int{8, 64, 5000, 16_000}
		if links == "shm" {
			sizes = []int{8, 5000, 70_000, 300_000}
		}
		r := &removal{t: t, ctx: ctx, a: a, b: b, toB: toB,
			sent: make([]atomic.Int64, len(sizes)), got: make([]atomic.Int64, len(sizes))}
		r.toA.Store(uint64(toA))
		var all sync.WaitGroup
		errs := make(chan error, 2*len(sizes)+2)
		run := func(f func(tag, size int) error, tag, size int) {
			all.Go(func() {
				if err := f(tag, size); err != nil {
					errs <- err
					cancel()
				}
			})
		}
		for tag, size := range sizes {
			run(r.send, tag, size)
			run(r.recv, tag, size)
		}
		run(r.sendBack, len(sizes), 8)
		run(r.take, len(sizes), 8)
		for i := range 16 {
			require.NoError(t, b.AV().Remove(Addr(r.toA.Load())))
			r.some(i % len(sizes))
			again, err := b.AV().Insert(a.Name())
			require.NoError(t, err)
			r.toA.Store(uint64(again))
			r.some(i % len(sizes))
		}
		r.stop.Store(true)
		all.Wait()
		close(errs)
		for err := range errs {
			require.NoError(t, err)
		}
		// b knows the peer by its last Addr.
		sent := calling(func() error { return a.Send(ctx, toB, 77, []byte("known")) })
		info, err := b.Recv(ctx, Addr(r.toA.Load()), 77, 0, make([]byte, 5))
		require.NoError(t, err)
		require.Equal(t, RecvInfo{Len: 5, Tag: 77, From: Addr(r.toA.Load())}, info)
		require.NoError(t, outcome(t, sent, "Send"))
		require.False(t, slices.ContainsFunc(b.Stats(), func(s RailStats) bool { return s.Errors > 0 }), "%v", b.Stats())
	})
}

// some waits for traffic.
func (r *removal) some(tag int) {
	before := r.got[tag].Load()
	soon(r.t, func() bool { return r.got[tag].Load() > before || r.ctx.Err() != nil }, "messages with tag %d", tag)
}
