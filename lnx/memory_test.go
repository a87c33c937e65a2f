package lnx

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/providers/fierr"
)

// resident answers the process's resident memory in bytes.
func resident(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	pages, err := strconv.Atoi(strings.Fields(string(b))[1])
	require.NoError(t, err)
	return pages * os.Getpagesize()
}

// The documentation of Options promises these.
const (
	bytesPerPosted     = 700
	bytesPerUnexpected = 1024
)

func TestMillionPosted(t *testing.T) {
	const n = 1 << 20
	a, b, toB, toA := pair(t, Options{Links: "shm"})
	arena := make([]byte, 8*n)
	before := resident(t)
	for i := range n {
		require.NoError(t, b.TRecv(arena[8*i:8*i+8], toA, uint64(i), 0, nil))
	}
	per := (resident(t) - before) / n
	t.Logf("%d bytes for each posted receive", per)
	require.LessOrEqual(t, per, bytesPerPosted)
	require.ErrorIs(t, b.TRecv(nil, toA, 0, 0, nil), fierr.Again, "at the limit")

	// they all still match, from the last to the first
	entries := make([]Entry, 64)
	for sent, got := 0, 0; got < n; {
		for ; sent < n && sent-got < 64; sent++ {
			if a.TInject([]byte{1}, toB, uint64(n-1-sent)) != nil {
				break
			}
		}
		_, _ = a.CQ().Read(entries)
		k, err := b.CQ().Read(entries)
		if k == 0 {
			require.ErrorIs(t, err, fierr.Again)
		}
		for _, e := range entries[:k] {
			require.Equal(t, uint64(n-1-got), e.Tag)
			got++
		}
	}
}

func TestMillionUnexpected(t *testing.T) {
	const n = 1 << 20
	a, b, toB, toA := pair(t, Options{Links: "shm"})
	entries := make([]Entry, 64)
	before := resident(t)
	for sent := 0; sent < n; {
		if a.TInject([]byte{1, 2, 3, 4, 5, 6, 7, 8}, toB, uint64(sent)) == nil {
			sent++
		}
		_, err := a.CQ().Read(entries)
		require.ErrorIs(t, err, fierr.Again)
		if sent%64 == 0 {
			_, err = b.CQ().Read(entries)
			require.ErrorIs(t, err, fierr.Again)
		}
	}
	for b.Stats()[0].RxUnexpected < n {
		_, err := b.CQ().Read(entries)
		require.ErrorIs(t, err, fierr.Again)
	}
	per := (resident(t) - before) / n
	t.Logf("%d bytes for each unexpected message of 8 bytes over shm", per)
	require.LessOrEqual(t, per, bytesPerUnexpected)
	_, err := b.CQ().Read(entries)
	require.ErrorIs(t, err, ErrUnexpectedFull)

	buf := make([]byte, 8)
	for i := range n { // from the newest to the oldest
		require.NoError(t, b.TRecv(buf, toA, uint64(n-1-i), 0, nil))
		k, err := b.CQ().Read(entries)
		require.NoError(t, err)
		require.Equal(t, 1, k)
		require.Equal(t, uint64(n-1-i), entries[0].Tag)
	}
}
