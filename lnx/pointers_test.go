package lnx_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/internal/twoproc"
	"golnx/lnx"
)

// linked is an object that has Go pointers beside the memory of messages.
type linked struct {
	next   *linked
	body   [300_000]byte
	behind *linked
}

// part is what of the object a message takes.
func (o *linked) part(size int) []byte { return o.body[1 : 1+size] }

// pointered sends messages out of such objects and into them. It has a process of its
// own, since cgo's checks panic where locks are held.
var pointered = twoproc.NewRole("pointered", func(c *twoproc.Child) {
	var link choice
	c.Get(&link)
	n := openNode(c, link.options())
	self := n.insert(n.ep.Name())
	recvs := map[string]func(p *pending) error{
		"TRecv":  func(p *pending) error { return n.ep.TRecv(p.buf, self, 1, 0, p) },
		"TRecvV": func(p *pending) error { return n.ep.TRecvV(split(p.buf, 2), self, 1, 0, p) },
		"TRecvMsg": func(p *pending) error {
			return n.ep.TRecvMsg(&lnx.Msg{IOV: [][]byte{p.buf}, Addr: self, Tag: 1, Context: p}, lnx.FlagCompletion)
		},
	}
	// Beside the sizes at which the providers' ways change, those around 64 bytes,
	// up to which a receive lies in its slot.
	sizes := append(sizesOf(n.ep.Link()), 2, 62, 63, 64, 65, 66, 127, 128, 129, 299_998)
	sizes = slices.DeleteFunc(sizes, func(size int) bool { return size > 299_998 })
	done := 0
	for _, size := range sizes {
		for recv, post := range recvs {
			for _, m := range []message{{Size: size, Tag: 1}, {Size: size, Tag: 1, Parts: 2}, {Size: size, Tag: 1, Inject: true}} {
				if m.Inject && uint64(size) > n.ep.Link().Info.InjectSize {
					continue
				}
				for _, expected := range []bool{true, false} {
					n.moveBetween(self, m, expected, post, fmt.Sprintf("%+v to %s, expected: %v", m, recv, expected))
					done++
				}
			}
		}
	}
	require.NoError(c, n.ep.Close())
	c.Put(done)
})

// moveBetween sends a message from one object to another.
func (n *node) moveBetween(self lnx.Addr, m message, expected bool, post func(*pending) error, what string) {
	from, to := &linked{}, &linked{}
	from.next, from.behind, to.next, to.behind = from, to, to, from
	want := payload(m.Seed, m.Size)
	copy(from.part(m.Size), want)
	s, r := &pending{buf: from.part(m.Size)}, &pending{buf: to.part(m.Size)}
	before := n.unexpected()
	if expected {
		require.NoError(n.t, post(r), what)
	}
	n.until(func() bool { return n.startOnce(self, m, s) == nil })
	if !expected {
		n.await(before+1, m.Tag)
		require.NoError(n.t, post(r), what)
	}
	n.finish(s, r)
	require.Nil(n.t, s.err, what)
	check(n.t, r, m, self)
	require.True(n.t, to.next == to && to.behind == from && from.next == from && from.behind == to, what)
	require.Zero(n.t, to.body[0], what)
	require.Equal(n.t, len(to.body)-1-m.Size, bytes.Count(to.body[1+m.Size:], []byte{0}), what)
}

// Buffers may be parts of objects with pointers, in every kind of call and of any
// size, and the objects' other parts stay as they are.
func TestBuffersInObjectsWithPointers(t *testing.T) {
	onMatchers(t, func(t *testing.T, c choice) {
		p := pointered.Start(t, limit)
		p.Put(c)
		var done int
		p.Get(&done)
		require.Greater(t, done, 100)
		p.Wait()
	})
}
