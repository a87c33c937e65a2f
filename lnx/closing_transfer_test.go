package lnx

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/providers/fierr"
)

// An endpoint closes while a message that shm moves in pieces is under way to or from
// another one of the process: the other one, which looks into the region of the first for
// it, goes on.
func TestCloseInTransfer(t *testing.T) {
	for _, size := range []int{5000, 8000, 300_000, 3_000_000} {
		for _, known := range []string{"stranger", "known", "removed"} {
			t.Run(fmt.Sprintf("sender/size=%d/%s", size, known), func(t *testing.T) {
				_, b, _, _ := connected(t, Options{Links: "shm"})
				a, err := Open(b.Link())
				require.NoError(t, err)
				toB, err := a.AV().Insert(b.Name())
				require.NoError(t, err)
				if known != "stranger" {
					toA, err := b.AV().Insert(a.Name())
					require.NoError(t, err)
					if known == "removed" {
						require.NoError(t, b.AV().Remove(toA))
					}
				}
				soon(t, func() bool {
					err := a.TSend(make([]byte, size), toB, 5, 1)
					if err != nil {
						require.ErrorIs(t, err, fierr.EAgain)
						_, _ = b.CQ().Read(make([]Entry, 4))
						_, _ = a.CQ().Read(make([]Entry, 4))
					}
					return err == nil
				}, "the send is accepted")
				require.NoError(t, a.Close())
				for range 100 {
					_, _ = b.CQ().Read(make([]Entry, 4))
				}
			})
		}
		t.Run(fmt.Sprintf("receiver/size=%d", size), func(t *testing.T) {
			a, b, toB, _ := connected(t, Options{Links: "shm"})
			require.NoError(t, a.TSend(make([]byte, size), toB, 5, 77))
			require.NoError(t, b.Close())
			ended := 0
			soon(t, func() bool {
				n, err := a.CQ().Read(make([]Entry, 4))
				if err == fierr.Avail {
					_, err = a.CQ().ReadErr()
					require.NoError(t, err)
					n = 1
				}
				ended += n
				return ended > 0
			}, "the send ends")
			for range 100 {
				n, _ := a.CQ().Read(make([]Entry, 4))
				ended += n
			}
			require.Equal(t, 1, ended)
		})
	}
}
