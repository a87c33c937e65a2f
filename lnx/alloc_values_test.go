//go:build !race && !asan

package lnx

import (
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/providers/fierr"
)

func TestNoAllocationOfCounters(t *testing.T) {
	a, b, toB, toA := connected(t, Options{Links: "shm"})
	sends, recvs := openCounter(t, a, EventSend), openCounter(t, b, EventRecv)
	n := uint64(0)
	buf := make([]byte, 8)
	round := func() {
		n++
		err := b.TRecvMsg(&Msg{Addr: toA, Tag: 1}, 0)
		for err == nil {
			if err = a.TInject(buf[:0], toB, 1); err == fierr.Again {
				err = nil
				continue
			}
			break
		}
		if err != nil {
			panic(err)
		}
		for sends.Read() < n || recvs.Read() < n {
		}
	}
	round()
	if testing.AllocsPerRun(100, round) > 0 {
		t.Fatal("counting allocates")
	}
}

func TestNoAllocationOfAtomics(t *testing.T) {
	for _, links := range []string{"shm", "shm+tcp:lo"} {
		w := newAtomicWorld(t, Options{Links: links}, 4096)
		var opContext any = t
		var entries [4]Entry
		buf, result := make([]byte, 8), make([]byte, 8)
		big, bigger := make([]byte, 1024), make([]byte, 1024)
		finish := func() {
			for {
				if n, err := w.a.CQ().Read(entries[:]); n == 1 {
					return
				} else if err != fierr.Again {
					panic(err)
				}
			}
		}
		for name, f := range map[string]func(){
			"Atomic":      func() { must(w.a.Atomic(buf, w.at, 0, Uint64, AtomicSum, opContext)); finish() },
			"FetchAtomic": func() { must(w.a.FetchAtomic(buf, result, w.at, 0, Uint64, AtomicSum, opContext)); finish() },
			"CompareAtomic": func() {
				must(w.a.CompareAtomic(buf, buf, result, w.at, 0, Uint64, AtomicCSwap, opContext))
				finish()
			},
			"large": func() { must(w.a.FetchAtomic(big, bigger, w.at, 0, Uint64, AtomicSum, opContext)); finish() },
			"inject": func() {
				must(w.try(func() error { return w.a.InjectAtomic(buf, w.at, 0, Uint64, AtomicSum) }))
				_, _ = w.a.CQ().Read(nil)
			},
		} {
			f()
			require.Zero(t, testing.AllocsPerRun(100, f), "%s of %s", name, links)
		}
	}
}
