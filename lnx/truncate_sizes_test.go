package lnx_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
)

// protocolSizes are around those at which providers change their ways: what fits into a
// command of shm, what it and rxm inject, the eager size of rxm; and large ones.
var protocolSizes = []int{0, 1, 64, 65, 192, 193, 4096, 4097, 16_384, 16_385, 65_536, 1 << 20, 4 << 20}

// cutter sends from one endpoint of this process to another, or to itself.
type cutter struct {
	t        *testing.T
	from, to *node
	dest     lnx.Addr
	src      lnx.Addr
	seen     uint64 // unexpected messages
}

func (c *cutter) until(cond func() bool) {
	c.from.until(func() bool { c.to.poll(); return cond() })
}

func (c *cutter) send(m message) *pending {
	p := &pending{buf: payload(m.Seed, m.Size)}
	c.until(func() bool { return c.from.startOnce(c.dest, m, p) == nil })
	return p
}

// exchange sends a message to a buffer with so much room, and another one behind it.
func (c *cutter) exchange(size, room int, unexpected bool) {
	t := c.t
	what := fmt.Sprintf("%d bytes into %d, unexpected: %v", size, room, unexpected)
	m := message{Size: size, Tag: 1, Seed: uint64(size), HasData: room%2 == 0, Data: uint64(room)}
	next := message{Size: 100, Tag: 1, Seed: uint64(size) + 1}
	const guard = 64
	untouched := bytes.Repeat([]byte{0xa5}, guard)
	full := bytes.Repeat([]byte{0xa5}, room+guard)
	p := &pending{buf: full[:room:room]}
	if !unexpected {
		c.to.postIn(p, c.src, m.Tag, 0)
	}
	sends := []*pending{c.send(m), c.send(next)}
	c.seen++ // the second one is not expected
	if unexpected {
		c.seen++
	}
	c.until(func() bool { return c.to.waits(c.seen, m.Tag) })
	if !c.to.ep.Link().Direct() {
		require.Equal(t, c.seen, c.to.unexpected(), what)
	}
	if unexpected {
		c.to.postIn(p, c.src, m.Tag, 0)
	}
	second := c.to.post(next.Size, c.src, next.Tag, 0)
	for _, op := range append(sends, p, second) {
		c.until(func() bool { return op.done })
		require.Equal(t, 1, op.times, what)
	}
	for _, op := range sends {
		require.Nil(t, op.err, what)
	}
	if room < size {
		checkCut(t, p, p.buf, m, c.src)
	} else {
		check(t, p, m, c.src)
	}
	require.Equal(t, untouched, full[room:], what)
	check(t, second, next, c.src)
}

// A message of any size goes into a buffer of its size or into a smaller one, which it
// fills, between the endpoints of a process and from one to itself. Both sides
// complete, and the next message is not harmed.
func TestTruncationAtEverySize(t *testing.T) {
	onMatchers(t, func(t *testing.T, link choice) {
		a, b := newNode(t, link.options()), newNode(t, link.options())
		self := a.insert(a.ep.Name())
		for _, c := range []*cutter{
			{t: t, from: a, to: b, dest: a.insert(b.ep.Name()), src: b.insert(a.ep.Name())},
			{t: t, from: a, to: a, dest: self, src: self},
		} {
			for _, size := range protocolSizes {
				for _, room := range []int{size, size - 1, size / 2, 1, 0} {
					if room >= 0 && room <= size {
						c.exchange(size, room, false)
						c.exchange(size, room, true)
					}
				}
			}
		}
	})
}
