package lnx_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
	"golnx/providers/fierr"
)

// A peer in the same process that is closed has ended like any other: sends to it
// fail, and what was under way ends.
func TestSameProcessPeerCloses(t *testing.T) {
	onLinks(t, func(t *testing.T, c choice) {
		for _, size := range []int{8, 5000, 1 << 20} {
			opts := c.options()
			opts.ConnectTimeout = 2 * time.Second
			a, b := newNode(t, opts), openNode(t, c.options())
			toB, toA := a.insert(b.ep.Name()), b.insert(a.ep.Name())
			m := message{Size: size, Tag: 1}
			r := b.post(size, toA, 1, 0)
			p := &pending{buf: payload(0, size)}
			begun := false
			a.until(func() bool {
				b.poll()
				begun = begun || a.startOnce(toB, m, p) == nil
				return r.done // b has answered, a may not know yet
			})
			waiting := a.post(size, toB, 1, 0)
			require.NoError(t, b.ep.Close())
			var err error
			a.until(func() bool {
				err = a.ep.TSend([]byte{1}, toB, 1, &pending{})
				return err != nil && err.Error() != "resource temporarily unavailable"
			})
			require.True(t, errors.Is(err, lnx.ErrPeerDead) || errors.Is(err, fierr.EHostUnreach), "%v", err)
			a.finish(p)
			a.finish(waiting)
			require.NotNil(t, waiting.err)
			require.NoError(t, a.ep.AV().Remove(toB))
			// A new endpoint may get the old one's memory.
			again := newNode(t, c.options())
			toAgain := a.insert(again.ep.Name())
			again.insert(a.ep.Name())
			r = again.post(8, lnx.AddrUnspec, 2, 0)
			a.until(func() bool { again.poll(); return a.ep.TInject([]byte("12345678"), toAgain, 2) == nil })
			a.until(func() bool { again.poll(); return r.done })
			require.Nil(t, r.err)
			require.NoError(t, a.ep.Close())
		}
	})
}
