package lnx

import (
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/providers/fierr"
)

// An injected message gives its buffer back at once, arrives with its data, and has
// no completion at the sender.
func TestInject(t *testing.T) {
	for _, links := range []string{"shm", "tcp:lo", "shm+tcp:lo"} {
		t.Run(links, func(t *testing.T) {
			a, b, toB, toA := pair(t, Options{Links: links, Lookup: env(nil)})
			most := int(a.Link().Info.InjectSize)
			entries := make([]Entry, 4)
			for _, size := range []int{0, 1, 8, most} {
				for _, withData := range []bool{false, true} {
					in := make([]byte, most)
					require.NoError(t, b.TRecv(in, toA, 5, 0, "in"))
					out := make([]byte, size)
					for i := range out {
						out[i] = byte(i + 1)
					}
					inject := func() error { return a.TInject(out, toB, 5) }
					if withData {
						inject = func() error { return a.TInjectData(out, 0xfeed, toB, 5) }
					}
					for err := inject(); err != nil; err = inject() {
						require.ErrorIs(t, err, fierr.EAgain)
						_, _ = b.CQ().Read(nil)
					}
					clear(out) // ours again
					want(t, b, entries, FlagRecv)
					e := entries[0]
					require.Equal(t, "in", e.Context)
					require.Equal(t, size, e.Len)
					require.Equal(t, toA, e.Src)
					require.Equal(t, withData, e.Flags&FlagRemoteCQData != 0)
					if withData {
						require.EqualValues(t, 0xfeed, e.Data)
					}
					for i, c := range in[:size] {
						require.Equal(t, byte(i+1), c, "byte %d", i)
					}
					_, err := a.CQ().Read(entries)
					require.ErrorIs(t, err, fierr.EAgain, "no completion")
				}
			}
			require.ErrorIs(t, a.TInject(make([]byte, most+1), toB, 5), fierr.EMsgSize)
			require.EqualValues(t, 8, a.Stats()[0].TInjects)
		})
	}
}
