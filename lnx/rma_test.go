package lnx_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
	"golnx/mr"
)

// rma is a choice's options for reads and writes.
func (c choice) rma() lnx.Options {
	o := c.options()
	o.Caps = lnx.CapRMA
	return o
}

// window is memory of one node that another reaches, with a margin around it.
type windowed struct {
	mem    []byte // margins included
	region *lnx.Region
	remote *lnx.RemoteMemory
}

const margin = 64

// inside is the registered part.
func (w *windowed) inside() []byte { return w.mem[margin : len(w.mem)-margin] }

// newWindow registers size bytes of target for initiator, which knows it as to.
func newWindow(t require.TestingT, target, initiator *node, to lnx.Addr, size int, access mr.Access) *windowed {
	w := &windowed{mem: bytes.Repeat([]byte{0xee}, size+2*margin)}
	var err error
	w.region, err = target.ep.Register(w.inside(), access)
	require.NoError(t, err)
	key, err := w.region.RemoteKey()
	require.NoError(t, err)
	w.remote, err = initiator.ep.Import(to, key)
	require.NoError(t, err)
	return w
}

// untouched asserts that the margins are as they were.
func (w *windowed) untouched(t require.TestingT) {
	edge := bytes.Repeat([]byte{0xee}, margin)
	require.True(t, bytes.Equal(edge, w.mem[:margin]), "before the region")
	require.True(t, bytes.Equal(edge, w.mem[len(w.mem)-margin:]), "behind the region")
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

// driven drives nodes until f, in a goroutine of its own, has returned.
func driven[T any](t *testing.T, f func() T, nodes ...*node) T {
	t.Helper()
	c := make(chan T, 1)
	go func() { c <- f() }()
	for late := deadline(); ; {
		select {
		case v := <-c:
			return v
		default:
		}
		for _, n := range nodes {
			n.poll()
		}
		if late() {
			require.Fail(t, "it does not return", "%v", nodes[0].ep.Stats())
		}
	}
}

func TestRMASizes(t *testing.T) {
	onLinks(t, func(t *testing.T, c choice) {
		a, b := newNode(t, c.rma()), newNode(t, c.rma())
		toB := a.insert(b.ep.Name())
		b.insert(a.ep.Name())
		for _, size := range []int{0, 1, 8, 4096, 4097, 64 << 10, 1 << 20, 4 << 20} {
			t.Run(fmt.Sprintf("size=%d", size), func(t *testing.T) {
				w := newWindow(t, b, a, toB, size+16, mr.RemoteRead|mr.RemoteWrite)
				ctx := within(t)
				out := payload(uint64(size), size)
				start := time.Now()
				require.NoError(t, driven(t, func() error { return w.remote.WriteAt(ctx, out, 16) }, b))
				t.Log("write", time.Since(start))
				in := make([]byte, size)
				require.NoError(t, driven(t, func() error { return w.remote.ReadAt(ctx, in, 16) }, b))
				require.True(t, bytes.Equal(out, in), "read back")
				require.True(t, bytes.Equal(out, w.inside()[16:]), "in the target's memory")
				w.untouched(t)
				require.NoError(t, w.remote.Close())
				require.NoError(t, w.region.Close())
			})
		}
		t.Log(a.ep.Stats())
	})
}
