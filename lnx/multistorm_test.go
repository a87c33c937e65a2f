package lnx

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/providers/fierr"
)

// stream is a buffer of the receiver, with where messages lie in it.
type stream struct {
	buf  []byte
	used [][2]int
}

// multiSizes are those around which the providers change their ways.
var multiSizes = []int{16, 17, 64, 65, 1000, 4096, 4097, 16_383, 16_384, 16_385, 100_000}

// Many goroutines send to one endpoint that receives in a few buffers, some of them
// canceled at any time. Each message arrives once, in order, in a place of its own, and
// each buffer is released once, after the last message in it.
func TestMultiRecvStorm(t *testing.T) {
	for _, links := range []string{"shm", "tcp:lo", "shm+tcp:lo"} {
		t.Run(links, func(t *testing.T) {
			const senders, messages = 64, 60
			a, b, toB, toA := connected(t, Options{Links: links})
			ctx, cancel := context.WithTimeout(t.Context(), 3*pairLimit)
			defer cancel()
			var wg sync.WaitGroup
			errs := make(chan error, senders)
			for s := range senders {
				wg.Add(1)
				go func() {
					defer wg.Done()
					random := rand.New(rand.NewPCG(uint64(s), 1))
					for n := range messages {
						size := multiSizes[random.IntN(len(multiSizes))]
						buf := simNoise(uint64(s*messages+n), size)
						binary.LittleEndian.PutUint64(buf, uint64(s))
						binary.LittleEndian.PutUint64(buf[8:], uint64(n))
						if err := a.Untagged().Send(ctx, toB, buf); err != nil {
							errs <- fmt.Errorf("message %d of sender %d: %w", n, s, err)
							return
						}
					}
				}()
			}
			r := &streams{t: t, ep: b, from: toA, random: rand.New(rand.NewPCG(5, 6))}
			for range 3 {
				r.post()
			}
			for r.got < senders*messages {
				require.NoError(t, ctx.Err())
				select {
				case err := <-errs:
					require.NoError(t, err)
				default:
				}
				r.poll()
				if r.canceled < 50 && r.random.IntN(50) == 0 {
					r.cancel()
				}
			}
			wg.Wait()
			for len(r.live) > 0 {
				r.stop = true
				r.cancel()
				r.poll()
			}
			require.Positive(t, r.canceled)
			require.Positive(t, r.released)
		})
	}
}

type streams struct {
	t                       *testing.T
	ep                      *Endpoint
	from                    Addr
	random                  *rand.Rand
	live                    []*stream
	next                    [64]uint64 // message of each sender
	got, canceled, released int
	stop                    bool
}

func (r *streams) post() {
	s := &stream{buf: bytes.Repeat([]byte{multiCanary}, 110_000+r.random.IntN(300_000))}
	r.live = append(r.live, s)
	addr := []Addr{r.from, AddrUnspec}[r.random.IntN(2)]
	require.NoError(r.t, r.ep.MRecvMsg(&Msg{IOV: [][]byte{s.buf}, Addr: addr, Context: s}, FlagCompletion|FlagMultiRecv))
}

func (r *streams) cancel() {
	s := r.live[r.random.IntN(len(r.live))]
	if err := r.ep.Cancel(s); err != nil {
		require.ErrorIs(r.t, err, fierr.ENoEnt) // it is used up
		return
	}
	r.canceled++
}

func (r *streams) poll() {
	var entries [16]Entry
	n, err := r.ep.CQ().Read(entries[:])
	for _, e := range entries[:n] {
		r.entry(&e)
	}
	if errors.Is(err, fierr.EAvail) {
		e, err := r.ep.CQ().ReadErr()
		require.NoError(r.t, err)
		require.Equal(r.t, fierr.ECanceled, e.Err, e)
		if e.Flags&FlagMultiRecv != 0 {
			r.release(e.Context.(*stream))
		}
	}
}

func (r *streams) entry(e *Entry) {
	s := e.Context.(*stream)
	if e.Flags&FlagRecv != 0 {
		require.Contains(r.t, r.live, s, "a message after the release")
		msg := s.buf[e.Off : e.Off+e.Len]
		sender, n := binary.LittleEndian.Uint64(msg), binary.LittleEndian.Uint64(msg[8:])
		require.Equal(r.t, r.next[sender], n, "sender %d", sender)
		r.next[sender]++
		require.True(r.t, bytes.Equal(simNoise(sender*60+n, e.Len)[16:], msg[16:]))
		for _, u := range s.used {
			require.True(r.t, e.Off >= u[1] || e.Off+e.Len <= u[0], "messages overlap")
		}
		s.used = append(s.used, [2]int{e.Off, e.Off + e.Len})
		r.got++
	}
	if e.Flags&FlagMultiRecv != 0 {
		r.released++
		r.release(s)
	}
}

// release looks at a buffer, which is the test's again, and posts another.
func (r *streams) release(s *stream) {
	for i, x := range r.live {
		if x == s {
			r.live = append(r.live[:i], r.live[i+1:]...)
			for _, u := range s.used {
				clear(s.buf[u[0]:u[1]])
			}
			rest := bytes.Count(s.buf, []byte{0}) + bytes.Count(s.buf, []byte{multiCanary})
			require.Equal(r.t, len(s.buf), rest, "bytes that no message has are written")
			if !r.stop {
				r.post()
			}
			return
		}
	}
	require.Fail(r.t, "a buffer is released twice")
}
