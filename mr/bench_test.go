package mr_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/mr"
)

const stride = 4096

// filled is a Manager with as many cached entries, a page each.
func filled(t testing.TB, entries int) (*world, []byte) {
	w := newWorld(t, mr.Options{MaxEntries: entries, MaxBytes: 1 << 40}, verbsMode)
	mem := alloc(t, stride*entries)
	// From the middle to both ends, so that entries are put in everywhere.
	for i := range entries {
		at := (entries/2 + (i+1)/2*(i%2*2-1) + entries) % entries
		w.Release(w.acquire(t, 0, mem[at*stride:(at+1)*stride], mr.LocalAccess))
	}
	require.Equal(t, entries, w.Stats().Entries)
	return w, mem
}

// Among many, each part of each is found where it is, and nothing beyond.
func TestManyEntries(t *testing.T) {
	const entries = 3000
	w, mem := filled(t, entries)
	before := w.Stats()
	descs := map[uintptr]int{}
	for at := range entries {
		for _, c := range [][2]int{{0, stride}, {0, 1}, {stride - 1, stride}, {100, 200}} {
			l := w.acquire(t, 0, mem[at*stride+c[0]:at*stride+c[1]], mr.Send)
			descs[l.Desc] |= 1 << (at % 60)
			w.Release(l)
		}
	}
	require.Len(t, descs, entries, "one for each")
	after := w.Stats()
	require.Equal(t, before.Misses, after.Misses)
	require.EqualValues(t, 4*entries, after.Hits-before.Hits)
	w.Release(w.acquire(t, 0, mem[stride-1:stride+1], mr.Send))
	require.Equal(t, before.Misses+1, w.Stats().Misses, "neighbours are not one")
}

func TestNoAllocation(t *testing.T) {
	w, mem := filled(t, 1000)
	key := sampleKey(t)
	remote := w.Import(key)
	r := w.register(t, mem, mr.Write|mr.RemoteRead)
	defer r.Close()
	out := make([]byte, 0, 1024)
	i := 0
	for name, f := range map[string]func(){
		"hit": func() {
			i++
			at := i % 1000 * stride
			l, err := w.AcquireLocked(0, mem[at+8:at+100], mr.Send)
			if err != nil || l.Desc == 0 {
				t.Fatal(err)
			}
			w.ReleaseLocked(l)
		},
		"hit with lock": func() {
			l, _ := w.Acquire(0, mem[:10], mr.Send)
			w.Release(l)
		},
		"region": func() {
			l, err := w.AcquireRegionLocked(r, 0, 100, 100, mr.Write)
			if err != nil {
				t.Fatal(err)
			}
			w.ReleaseLocked(l)
		},
		"remote": func() {
			if _, _, err := remote.AtLocked(0, 2, 10, 10, mr.RemoteRead); err != nil {
				t.Fatal(err)
			}
		},
		"part":  func() { _, _ = key.Slice(10, 10) },
		"bytes": func() { out, _ = key.AppendBinary(out[:0]) },
	} {
		require.Zero(t, testing.AllocsPerRun(1000, f), name)
	}
}

// anywhere answers numbers below n in an order that the processor does not foresee
// (xorshift), which costs 2 ns itself.
func anywhere(state *uint32, n int) int {
	*state ^= *state << 13
	*state ^= *state >> 17
	*state ^= *state << 5
	return int(uint64(*state) * uint64(n) >> 32)
}

// BenchmarkHit finds a part of any of the entries, and lets go of it.
func BenchmarkHit(b *testing.B) {
	for _, entries := range []int{1, 64, 1024, 16384} {
		w, mem := filled(b, entries)
		b.Run(fmt.Sprintf("entries=%d", entries), func(b *testing.B) {
			b.ReportAllocs()
			i := uint32(1)
			for b.Loop() {
				at := anywhere(&i, entries) * stride
				l, _ := w.AcquireLocked(0, mem[at+8:at+100], mr.Send)
				w.ReleaseLocked(l)
			}
		})
	}
}

// BenchmarkHitLock takes the lock twice more than those who hold it need.
func BenchmarkHitLock(b *testing.B) {
	w, mem := filled(b, 1024)
	i := uint32(1)
	for b.Loop() {
		at := anywhere(&i, 1024) * stride
		l, _ := w.Acquire(0, mem[at+8:at+100], mr.Send)
		w.Release(l)
	}
}

func BenchmarkRegion(b *testing.B) {
	w, mem := filled(b, 1)
	r := w.register(b, mem, mr.Write|mr.RemoteRead)
	defer r.Close()
	for b.Loop() {
		l, _ := w.AcquireRegionLocked(r, 0, 8, 100, mr.Write)
		w.ReleaseLocked(l)
	}
}

func BenchmarkRemote(b *testing.B) {
	w, _ := filled(b, 1)
	remote := w.Import(sampleKey(b))
	for b.Loop() {
		_, _, _ = remote.AtLocked(0, 2, 8, 100, mr.RemoteWrite)
	}
}

// BenchmarkMiss evicts one entry and makes another, in a full cache.
func BenchmarkMiss(b *testing.B) {
	for _, entries := range []int{64, 1024, 16384} {
		w, _ := filled(b, entries)
		other := alloc(b, 2*stride*entries)
		b.Run(fmt.Sprintf("entries=%d", entries), func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				at := i % (2 * entries) * stride
				i += 7
				l, _ := w.AcquireLocked(0, other[at:at+stride], mr.Send)
				w.ReleaseLocked(l)
			}
		})
	}
}
