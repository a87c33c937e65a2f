package lnx

import (
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/providers/fierr"
)

// What another goroutine's call brings to an end wakes the call that waits for it, also
// if that one drives the rails and sleeps.
func TestEntriesOfOtherCallsWake(t *testing.T) {
	onRails(t, func(t *testing.T, links string) {
		_, b, _, toA := connected(t, Options{Links: links})
		sleepLong(b)
		f, err := b.RecvAsync(t.Context(), toA, 1, 0, nil)
		require.NoError(t, err)
		wait := func() error { _, err := b.CQ().Wait(t.Context(), make([]Entry, 1)); return err }
		future := func() error { _, err := f.Wait(t.Context()); return err }
		for _, c := range []struct {
			name string
			wait func() error
			call func() error
			want error
		}{
			{"Cancel", wait, func() error { return b.Cancel("posted") }, fierr.EAvail},
			{"a peek", wait, func() error { return b.TRecvMsg(&Msg{Addr: AddrUnspec, Tag: 99}, FlagPeek) }, fierr.EAvail},
			{"Future.Cancel", future, func() error { f.Cancel(); return nil }, fierr.ECanceled},
		} {
			require.NoError(t, b.TRecv(nil, toA, 1, 0, "posted"))
			waited := calling(c.wait)
			soon(t, b.wait.sleeping.Load, "it sleeps")
			require.NoError(t, c.call(), c.name)
			require.ErrorIs(t, outcome(t, waited, c.name), c.want, c.name)
			_, _ = b.CQ().ReadErr()
			_ = b.Cancel("posted")
			_, _ = b.CQ().ReadErr()
		}
	})
}
