package mr_test

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/mr"
)

// Everything at once, on memory that is freed and mapped anew meanwhile. The domains
// note calls that meet, and memory that is closed twice; the end of the test notes what
// is left.
func TestConcurrent(t *testing.T) {
	w := newWorld(t, mr.Options{MaxEntries: 8}, verbsMode, cxiMode, rawMode)
	var buffers [4]atomic.Pointer[mr.Buffer]
	for i := range buffers {
		b, err := mr.Alloc(1 << 16)
		require.NoError(t, err)
		buffers[i].Store(b)
	}
	heap := make([]byte, 1<<16)
	var freed, busy atomic.Int64
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(1, uint64(g)))
			for range 1500 {
				mem := heap
				// A buffer has one user, who may then free it.
				if rnd.IntN(2) == 0 {
					mem = buffers[g].Load().Bytes()
				}
				start := rnd.IntN(len(mem) - 1)
				part := mem[start : start+1+rnd.IntN(len(mem)-start-1)]
				access := mr.Access(1+rnd.IntN(15)) << 8
				switch rnd.IntN(16) {
				case 0:
					w.Invalidate(part)
				case 1:
					_ = w.Stats()
				case 2:
					b, err := mr.Alloc(1 << 16)
					assertNil(t, err)
					if err := buffers[g].Swap(b).Free(); err != nil {
						busy.Add(1)
						assertNil(t, err)
					}
					freed.Add(1)
				case 3, 4, 5:
					endRegion(t, region(t, w, part, access|mr.RemoteRead, rnd.IntN(3)), &mem[0] == &heap[0])
				case 6, 7:
					endRegion(t, region(t, w, part, access, rnd.IntN(3)), false)
				default:
					l, err := w.Acquire(rnd.IntN(3), part, access)
					assertNil(t, err)
					runtime.Gosched()
					w.Release(l)
				}
			}
		})
	}
	wg.Wait()
	require.NotZero(t, freed.Load())
	require.Zero(t, busy.Load())
	s := w.Stats()
	require.NotZero(t, s.Hits)
	require.NotZero(t, s.Evictions)
	require.LessOrEqual(t, s.Entries, 8, "idle there never is more")
	require.Zero(t, s.InUse)
	require.Zero(t, s.Private)
	for i := range buffers {
		require.NoError(t, buffers[i].Load().Free())
	}
}

func region(t *testing.T, w *world, mem []byte, access mr.Access, rail int) *mr.Region {
	r, err := w.Register(mem, access)
	assertNil(t, err)
	h, err := r.On(rail)
	assertNil(t, err)
	if access&mr.RemoteRead != 0 {
		key, err := r.RemoteKey()
		assertNil(t, err)
		at := w.Import(key)
		addr, k, err := at.At(rail, rail, 0, key.Len(), mr.RemoteRead)
		assertNil(t, err)
		if rail != 2 && (addr != h.Addr || k != h.Key) {
			t.Errorf("rail %d: %#x with key %#x, want %+v", rail, addr, k, h)
		}
		assertNil(t, at.Close())
	}
	if l, err := w.AcquireRegion(r, rail, 0, len(mem), access); err != nil {
		t.Error(err)
	} else {
		w.Release(l)
	}
	return r
}

// endRegion closes a region that its goroutine no longer uses. Operations of others may
// have found a registration with remote access where they share the memory; then Close
// answers ErrBusy until the last of them has ended, and no new one finds it.
func endRegion(t *testing.T, r *mr.Region, shared bool) {
	err := r.Close()
	for deadline := time.Now().Add(10 * time.Second); shared && errors.Is(err, mr.ErrBusy); err = r.Close() {
		if time.Now().After(deadline) {
			break
		}
		runtime.Gosched()
	}
	assertNil(t, err)
}

// assertNil is for goroutines other than the test's.
func assertNil(t *testing.T, err error) {
	if err != nil {
		t.Helper()
		t.Error(err)
	}
}

// The lock of Options is the one that is held around calls of the domains.
func TestLock(t *testing.T) {
	lock := &countingLock{}
	d := newDomains(verbsMode)[0]
	calls := 0
	d.Fail = func(call string) error {
		calls++
		if !lock.held {
			t.Error(call, "without the lock")
		}
		return nil
	}
	m, err := mr.New(mr.Options{Lock: lock, Rails: []mr.Rail{{Name: "a", Registrar: d}}})
	require.NoError(t, err)
	buf := make([]byte, 100)
	r, err := m.Register(buf, mr.RemoteRead)
	require.NoError(t, err)
	_, err = r.RemoteKey()
	require.NoError(t, err)
	require.NoError(t, r.Close())
	l, err := m.Acquire(0, buf, mr.Send)
	require.NoError(t, err)
	m.Release(l)
	m.Invalidate(buf)

	lock.Lock() // as the endpoint's own operations have it
	before := lock.n
	l, err = m.AcquireLocked(0, buf, mr.Send)
	require.NoError(t, err)
	m.ReleaseLocked(l)
	require.Equal(t, before, lock.n)
	lock.Unlock()
	require.NoError(t, m.Close())
	require.Equal(t, 6, calls)
}

type countingLock struct {
	mu   sync.Mutex
	held bool
	n    int
}

func (l *countingLock) Lock() {
	l.mu.Lock()
	l.held = true
	l.n++
}

func (l *countingLock) Unlock() {
	l.held = false
	l.mu.Unlock()
}
