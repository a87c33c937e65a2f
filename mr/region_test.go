package mr_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/mr"
	"golnx/providers"
	"golnx/providers/fierr"
)

// Each rail registers when it first needs it, and only then.
func TestRegionIsLazy(t *testing.T) {
	w := newWorld(t, mr.Options{}, verbsMode, cxiMode, shmMode)
	r := w.register(t, alloc(t, 4096), mr.RemoteRead)
	require.Equal(t, []int{0, 0, 0}, w.live())
	_, err := r.On(1)
	require.NoError(t, err)
	require.Equal(t, []int{0, 1, 0}, w.live())
	key, err := r.RemoteKey()
	require.NoError(t, err)
	require.Equal(t, []int{1, 1, 1}, w.live(), "peers may come over any rail")
	require.Equal(t, []int{0, 1, 2}, key.Entries())
	require.NoError(t, r.Close())
	require.Equal(t, []int{0, 0, 0}, w.live(), "peers can reach nothing any more")
}

// Descriptors and keys of one rail are never another's.
func TestRegionPerRail(t *testing.T) {
	w := newWorld(t, mr.Options{FirstKey: 90}, verbsMode, verbsMode, shmMode)
	w.Release(w.acquire(t, 0, alloc(t, 8), mr.Send)) // so that numbers differ between rails
	buf := alloc(t, 4096)
	r := w.register(t, buf, mr.Write|mr.RemoteWrite)
	defer r.Close()
	var handles []mr.Handle
	for rail := range w.domains {
		h, err := r.On(rail)
		require.NoError(t, err)
		l := w.acquire(t, rail, buf[5:77], mr.Write)
		if rail < 2 {
			require.Equal(t, h.Desc, l.Desc, "an operation finds it")
		}
		w.Release(l)
		handles = append(handles, h)
	}
	require.NotEqual(t, handles[0].Desc, handles[1].Desc)
	require.NotEqual(t, handles[0].Key, handles[1].Key)
	_, err := w.domains[1].Reach(handles[0].Addr, handles[0].Key, 1, mr.RemoteWrite)
	require.ErrorIs(t, err, fierr.ENoKey, "the key of another rail")
	_, err = r.On(3)
	require.ErrorIs(t, err, fierr.EInval)
	_, err = r.On(-1)
	require.ErrorIs(t, err, fierr.EInval)
}

func TestRegionClosed(t *testing.T) {
	w := newWorld(t, mr.Options{}, verbsMode)
	buf := alloc(t, 4096)
	r := w.register(t, buf, mr.LocalAccess|mr.RemoteRead)
	require.Equal(t, addrOf(buf), addrOf(r.Bytes()))
	require.Equal(t, 4096, r.Len())
	require.Equal(t, mr.LocalAccess|mr.RemoteRead, r.Access())
	h, err := r.On(0)
	require.NoError(t, err)
	require.NoError(t, r.Close())

	require.Nil(t, r.Bytes())
	require.Equal(t, 4096, r.Len())
	_, err = r.On(0)
	require.ErrorIs(t, err, mr.ErrClosed)
	require.ErrorIs(t, err, fierr.EBadF)
	_, err = r.RemoteKey()
	require.ErrorIs(t, err, mr.ErrClosed)
	_, err = w.AcquireRegion(r, 0, 0, 1, mr.Send)
	require.ErrorIs(t, err, mr.ErrClosed)
	require.ErrorIs(t, r.Close(), mr.ErrClosed)
	_, err = w.domains[0].Reach(h.Addr, h.Key, 1, mr.RemoteRead)
	require.ErrorIs(t, err, fierr.ENoKey, "a freed key")
}

// The zero Region, and none, are closed ones.
func TestNoRegion(t *testing.T) {
	w := newWorld(t, mr.Options{}, verbsMode)
	for _, r := range []*mr.Region{nil, {}} {
		_, err := r.On(0)
		require.ErrorIs(t, err, mr.ErrClosed)
		_, err = r.RemoteKey()
		require.ErrorIs(t, err, mr.ErrClosed)
		_, err = w.AcquireRegion(r, 0, 0, 1, mr.Send)
		require.ErrorIs(t, err, mr.ErrClosed)
		require.ErrorIs(t, r.Close(), mr.ErrClosed)
		require.Nil(t, r.Bytes())
	}
}

func TestRegionRefuses(t *testing.T) {
	w := newWorld(t, mr.Options{}, verbsMode)
	other := newWorld(t, mr.Options{}, verbsMode)
	buf := alloc(t, 100)
	for _, access := range []mr.Access{0, 1, 1 << 14} {
		_, err := w.Register(buf, access)
		require.ErrorIs(t, err, fierr.EInval)
		require.ErrorContains(t, err, access.String())
	}
	_, err := w.Register(nil, mr.Send)
	require.ErrorIs(t, err, fierr.EInval)
	_, err = w.Register(buf[3:3], mr.Send)
	require.ErrorIs(t, err, fierr.EInval)

	r := w.register(t, buf, mr.Send)
	defer r.Close()
	_, err = r.RemoteKey()
	require.ErrorIs(t, err, fierr.EPerm, "no remote access")
	for _, access := range []mr.Access{0, mr.Recv, mr.Send | mr.Recv, mr.RemoteRead} {
		_, err = w.AcquireRegion(r, 0, 0, 1, access)
		require.ErrorIs(t, err, fierr.EPerm)
	}
	const most = int(^uint(0) >> 1)
	for _, c := range [][2]int{{0, 101}, {100, 1}, {101, 0}, {-1, 1}, {1, -1}, {most, most}, {1, most}, {-most - 1, most}} {
		_, err = w.AcquireRegion(r, 0, c[0], c[1], mr.Send)
		require.ErrorIs(t, err, fierr.EInval, "%v", c)
	}
	for _, c := range [][2]int{{0, 100}, {100, 0}, {99, 1}, {0, 0}} {
		l, err := w.AcquireRegion(r, 0, c[0], c[1], mr.Send)
		require.NoError(t, err, "%v", c)
		w.Release(l)
	}
	_, err = w.AcquireRegion(r, 1, 0, 1, mr.Send)
	require.ErrorIs(t, err, fierr.EInval)
	_, err = other.AcquireRegion(r, 0, 0, 1, mr.Send)
	require.ErrorIs(t, err, mr.ErrForeign)
	require.Zero(t, other.domains[0].Made())
}

func TestAcquireRefuses(t *testing.T) {
	w := newWorld(t, mr.Options{}, verbsMode)
	for _, access := range []mr.Access{0, mr.RemoteRead, mr.Send | mr.RemoteRead, 1} {
		_, err := w.Acquire(0, make([]byte, 8), access)
		require.ErrorIs(t, err, fierr.EInval)
	}
	for _, rail := range []int{-1, 1} {
		_, err := w.Acquire(rail, make([]byte, 8), mr.Send)
		require.ErrorIs(t, err, fierr.EInval)
	}
	l := w.acquire(t, 0, nil, mr.Send)
	require.Zero(t, l)
	require.False(t, l.Pinned())
	w.Release(l)
	require.Zero(t, w.Stats().Misses, "nothing needs no registration")
}

// Operations on rails that ask for no local registration cost nothing.
func TestAcquireUnneeded(t *testing.T) {
	w := newWorld(t, mr.Options{}, shmMode, tcpMode, cxiMode)
	for rail := range w.domains {
		l := w.acquire(t, rail, alloc(t, 4096), mr.LocalAccess)
		require.Zero(t, l)
		w.Release(l)
	}
	require.Zero(t, w.Stats())
}

// Close while an operation uses the region, by the region or by its memory's address.
func TestRegionCloseInFlight(t *testing.T) {
	for name, acquire := range map[string]func(w *world, r *mr.Region) (mr.Lease, error){
		"by region":  func(w *world, r *mr.Region) (mr.Lease, error) { return w.AcquireRegion(r, 0, 10, 20, mr.Write) },
		"by address": func(w *world, r *mr.Region) (mr.Lease, error) { return w.Acquire(0, r.Bytes()[10:30], mr.Write) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, mr.Options{}, verbsMode)
			r := w.register(t, alloc(t, 4096), mr.Write|mr.RemoteRead)
			first, err := acquire(w, r)
			require.NoError(t, err)
			second, err := acquire(w, r)
			require.NoError(t, err)
			err = r.Close()
			require.ErrorIs(t, err, mr.ErrBusy)
			require.ErrorIs(t, err, fierr.EBusy)
			require.ErrorContains(t, err, "region: 2")
			require.Equal(t, []int{1}, w.live())
			require.Nil(t, r.Bytes())
			_, err = w.AcquireRegion(r, 0, 0, 1, mr.Write)
			require.ErrorIs(t, err, mr.ErrClosed, "new operations are refused")

			w.Release(second)
			require.ErrorIs(t, r.Close(), mr.ErrBusy)
			w.Release(first)
			require.Equal(t, []int{0}, w.live(), "the last operation deregisters it")
			require.NoError(t, r.Close())
			require.ErrorIs(t, r.Close(), mr.ErrClosed)
		})
	}
}

// A region of local access leaves its registration to the cache, but not before its
// operations are over.
func TestSharedRegionCloseInFlight(t *testing.T) {
	w := newWorld(t, mr.Options{}, verbsMode)
	buf := alloc(t, 4096)
	r, other := w.register(t, buf, mr.Send), w.register(t, buf[100:200], mr.Send)
	l, err := w.AcquireRegion(r, 0, 0, 100, mr.Send)
	require.NoError(t, err)
	require.ErrorIs(t, r.Close(), mr.ErrBusy)
	require.NoError(t, other.Close(), "another region's operations are none of its business")
	w.Release(l)
	require.NoError(t, r.Close())
	require.Equal(t, []int{1}, w.live())
	require.Equal(t, 1, w.Stats().Entries)
	require.Zero(t, w.Stats().InUse)
}

// Regions with remote access share neither a registration nor a key: to close one does
// not close the other, and does close it.
func TestRemoteRegionsAreSeparate(t *testing.T) {
	for _, mode := range []providers.MRMode{verbsMode, providers.MRLocal} {
		w := newWorld(t, mr.Options{}, mode)
		buf := alloc(t, 4096)
		a, b := w.register(t, buf, mr.LocalAccess|mr.RemoteRead), w.register(t, buf[8:100], mr.LocalAccess|mr.RemoteRead)
		ha, err := a.On(0)
		require.NoError(t, err)
		hb, err := b.On(0)
		require.NoError(t, err)
		require.NotEqual(t, ha.Key, hb.Key)
		// A local region beside them has one of its own, too: theirs end with them.
		c := w.register(t, buf[8:100], mr.Send)
		require.Equal(t, 1, w.Stats().Entries)
		require.NoError(t, a.Close())
		_, err = w.domains[0].Reach(ha.Addr, ha.Key, 1, mr.RemoteRead)
		require.ErrorIs(t, err, fierr.ENoKey)
		_, err = w.domains[0].Reach(hb.Addr, hb.Key, 92, mr.RemoteRead)
		require.NoError(t, err)
		require.NoError(t, b.Close())
		require.NoError(t, c.Close())
	}
}

// Manager.Close ends everything; what comes after it is refused and harmless.
func TestManagerClose(t *testing.T) {
	w := newWorld(t, mr.Options{}, verbsMode, rawMode)
	buf := alloc(t, 4096)
	region, remote := w.register(t, buf, mr.Send), w.register(t, buf, mr.Write|mr.RemoteRead)
	key, err := remote.RemoteKey()
	require.NoError(t, err)
	imported := w.Import(key)
	_, _, err = imported.At(1, 1, 0, 1, mr.RemoteRead)
	require.NoError(t, err)
	byAddress := w.acquire(t, 0, buf[:10], mr.Send)
	byRegion, err := w.AcquireRegion(remote, 0, 0, 1, mr.Write)
	require.NoError(t, err)

	require.NoError(t, w.Close())
	w.requireClean(t)
	require.NoError(t, w.Close(), "again")

	w.Release(byAddress)
	w.Release(byRegion)
	require.NoError(t, region.Close())
	require.NoError(t, remote.Close())
	require.ErrorIs(t, remote.Close(), mr.ErrClosed)
	require.NoError(t, imported.Close())
	_, err = w.Register(buf, mr.Send)
	require.ErrorIs(t, err, mr.ErrClosed)
	_, err = w.Acquire(0, buf, mr.Send)
	require.ErrorIs(t, err, mr.ErrClosed)
	_, _, err = w.Import(key).At(0, 0, 0, 1, mr.RemoteRead)
	require.ErrorIs(t, err, mr.ErrClosed)
	require.Zero(t, w.Invalidate(buf))
	w.requireClean(t)
}
