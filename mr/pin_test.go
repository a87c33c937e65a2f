package mr_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/mr"
)

// heapSlice makes a slice of the Go heap of which nothing is left but its address, and a
// channel that is closed when the collector has taken the memory.
func heapSlice(use func([]byte)) (gone <-chan struct{}) {
	// As long as a page and more, so that it shares its block with no other.
	buf := new([1 << 16]byte)
	ch := make(chan struct{})
	runtime.AddCleanup(buf, func(ch chan struct{}) { close(ch) }, ch)
	use(buf[:])
	return ch
}

func requireKept(t *testing.T, gone <-chan struct{}, why string) {
	t.Helper()
	// Cleanups run soon after a collection that finds one to run; this one is made to
	// have run before it is concluded that there was none.
	for range 3 {
		canary := heapSlice(func([]byte) {})
		requireGone(t, canary, "a canary")
	}
	select {
	case <-gone:
		require.Fail(t, "the collector has taken it", why)
	default:
	}
}

func requireGone(t *testing.T, gone <-chan struct{}, why string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		runtime.GC()
		select {
		case <-gone:
			return
		case <-time.After(time.Millisecond):
		}
	}
	require.Fail(t, "it is still kept", why)
}

// Go memory is pinned from its first registration to the end of the last, the cache's
// included: as long as an address is in the cache it cannot become another object's.
func TestPinned(t *testing.T) {
	w := newWorld(t, mr.Options{}, verbsMode)
	gone := heapSlice(func(buf []byte) { w.Release(w.acquire(t, 0, buf[100:200], mr.Send)) })
	requireKept(t, gone, "cached")
	evict(w, t)
	requireGone(t, gone, "evicted")

	var lease mr.Lease
	gone = heapSlice(func(buf []byte) {
		lease = w.acquire(t, 0, buf, mr.Send)
		require.True(t, lease.Pinned())
		require.Equal(t, 1, w.Invalidate(buf))
	})
	requireKept(t, gone, "in use")
	w.Release(lease)
	requireGone(t, gone, "used no more")

	var r *mr.Region
	gone = heapSlice(func(buf []byte) { r = w.register(t, buf, mr.RemoteRead) })
	requireKept(t, gone, "a region")
	require.NoError(t, r.Close())
	requireGone(t, gone, "a closed region")
	runtime.KeepAlive(r)
}

// evict fills the cache with other memory.
func evict(w *world, t *testing.T) {
	mem := alloc(t, 64*mr.DefaultMaxEntries)
	for i := range mr.DefaultMaxEntries {
		w.Release(w.acquire(t, 0, mem[64*i:64*i+64], mr.Send))
	}
}

func TestPinnedWithoutCache(t *testing.T) {
	w := newWorld(t, mr.Options{NoCache: true}, verbsMode)
	gone := heapSlice(func(buf []byte) { w.Release(w.acquire(t, 0, buf, mr.Send)) })
	requireGone(t, gone, "nothing is kept that is not in use")
	require.Zero(t, w.Stats().Entries)
}
