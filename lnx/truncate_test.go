package lnx_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
	"golnx/providers/fierr"
)

// joined puts buffers together.
func joined(iov [][]byte) []byte {
	all := []byte{}
	for _, b := range iov {
		all = append(all, b...)
	}
	return all
}

// checkCut asserts that a receive of room bytes got the head of a longer message.
func checkCut(t *testing.T, p *pending, got []byte, m message, from lnx.Addr) {
	t.Helper()
	require.NotNil(t, p.err)
	require.ErrorIs(t, p.err, fierr.ETrunc)
	require.Equal(t, len(got), p.err.Len)
	require.Equal(t, m.Size-len(got), p.err.Olen)
	require.Equal(t, m.Tag, p.err.Tag)
	require.Equal(t, from, p.err.Src)
	require.True(t, bytes.Equal(payload(m.Seed, m.Size)[:len(got)], got), "the first %d bytes", len(got))
}

// A message that is longer than its buffer fills it and nothing beside it, the
// sender's completes, and the next message is not harmed.
func TestTruncation(t *testing.T) {
	onMatchers(t, func(t *testing.T, c choice) {
		n, a, toA, toN := meet(t, c)
		seen := uint64(0)
		for _, size := range sizesOf(n.ep.Link()) {
			for _, room := range []int{0, 1, 8, size / 2, size - 1} {
				if room < 0 || room >= size {
					continue
				}
				for _, unexpected := range []bool{false, true} {
					m := message{Size: size, Tag: 1, Seed: uint64(size)}
					next := message{Size: 100, Tag: 1, Seed: uint64(size) + 1}
					const guard = 64
					full := bytes.Repeat([]byte{0xa5}, room+guard)
					p := &pending{buf: full[:room:room]}
					if !unexpected {
						n.postIn(p, toA, m.Tag, 0)
					}
					a.Put(order{Do: "send", Addr: toN, Msgs: []message{m, next}})
					seen++ // the next message always comes unexpected
					if unexpected {
						seen++
						n.await(seen, m.Tag)
						n.postIn(p, toA, m.Tag, 0)
					}
					n.finish(p)
					checkCut(t, p, p.buf, m, toA)
					require.Equal(t, bytes.Repeat([]byte{0xa5}, guard), full[room:], "%d bytes into %d", size, room)
					n.await(seen, m.Tag)
					check(t, n.recv(next.Size, toA, 1, 0), next, toA)
					a.sent(t)
				}
			}
		}
		a.Wait()
	})
}

// Several buffers, up to the limit, make one message; truncation may fall into
// any of them.
func TestBuffers(t *testing.T) {
	onMatchers(t, func(t *testing.T, c choice) {
		n, a, toA, toN := meet(t, c)
		most := n.ep.Link().Info.IOVLimit
		require.Greater(t, most, 1)
		seen := uint64(0)
		for _, size := range []int{0, 5, 64, 4096, 5000, 100_000, 1 << 20} {
			for parts := 1; parts <= most; parts++ {
				for _, room := range []int{size + 9, size, size - 1, size * 3 / 4, size / 3, 1} {
					if room < 0 {
						continue
					}
					m := message{Size: size, Tag: uint64(parts), Seed: uint64(room), Parts: parts, HasData: parts%2 == 0, Data: 7}
					unexpected := room%2 == 0
					where := fmt.Sprintf("%d bytes in %d buffers to %d", size, parts, room)
					p := &pending{}
					iov := split(bytes.Repeat([]byte{0xa5}, room), parts)
					if !unexpected {
						require.NoError(t, n.ep.TRecvV(iov, toA, m.Tag, 0, p))
					}
					a.Put(order{Do: "send", Addr: toN, Msgs: []message{m}})
					if unexpected {
						seen++
						n.await(seen, m.Tag)
						require.NoError(t, n.ep.TRecvV(iov, toA, m.Tag, 0, p))
					}
					n.finish(p)
					a.sent(t)
					p.buf = joined(iov)
					if room < size {
						checkCut(t, p, p.buf, m, toA)
						continue
					}
					check(t, p, m, toA)
					require.Equal(t, bytes.Repeat([]byte{0xa5}, room-size), p.buf[size:], where)
				}
			}
		}
		a.Wait()
	})
}
