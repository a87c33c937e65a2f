package lnx

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// A message that was fetched while its sender was unknown belongs to the sender when
// that is inserted, and to nobody else, whatever came in between.
func TestFetchedFromUnknownSender(t *testing.T) {
	onRails(t, func(t *testing.T, links string) {
		const size = 100_000
		b, c, _, _ := connected(t, Options{Links: links}) // c is known to b, a is not
		a, err := Open(b.Link())
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, a.Close()) })
		done := map[any]bool{}
		all := func(cond func() bool, what string, args ...any) {
			t.Helper()
			soon(t, func() bool {
				for _, ep := range []*Endpoint{a, b, c} {
					var e [1]Entry
					if n, _ := ep.CQ().Read(e[:]); n == 1 {
						done[e[0].Context] = true
					}
				}
				return cond()
			}, what, args...)
		}
		send := func(ep *Endpoint, tag uint64) {
			t.Helper()
			to, err := ep.AV().Insert(b.Name())
			require.NoError(t, err)
			what, before := fmt.Sprintf("send with tag %d", tag), b.Stats()[0].RxUnexpected
			all(func() bool { return ep.TSend(simNoise(tag, size), to, tag, what) == nil }, what)
			all(func() bool { return b.Stats()[0].RxUnexpected > before }, what)
		}
		for tag := range uint64(30) {
			if tag%3 == 0 && (links != "shm" || tag == 0) { // one large message at a time over shm
				send(a, tag)
			} else if links != "shm" {
				send(c, tag)
			}
		}
		toA, err := b.AV().Insert(a.Name())
		require.NoError(t, err)
		for tag := range uint64(30) {
			if tag%3 != 0 || links == "shm" && tag != 0 {
				continue
			}
			buf := make([]byte, size)
			require.NoError(t, b.TRecv(buf, toA, tag, 0, tag))
			all(func() bool { return done[tag] }, "the message with tag %d is from the peer that was inserted", tag)
			require.Equal(t, simNoise(tag, size), buf)
		}
	})
}
