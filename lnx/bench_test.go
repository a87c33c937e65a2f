package lnx

import (
	"fmt"
	"testing"

	"golnx/providers/fierr"
)

// BenchmarkRoundTrip sends a message back and forth between two endpoints of one
// goroutine, so that nothing but the layer and the provider is measured.
func BenchmarkRoundTrip(b *testing.B) {
	for _, links := range []string{"shm", "shm+tcp:lo"} {
		b.Run("links="+links+"/size=8", func(b *testing.B) {
			x, y, toY, toX := pair(b, Options{Links: links})
			out, in := make([]byte, 8), make([]byte, 8)
			entries := make([]Entry, 8)
			move := func(from, to *Endpoint, dst, src Addr) {
				check(b, to.TRecv(in, src, 1, 0, nil))
				for {
					err := from.TSend(out, dst, 1, nil)
					if err == nil {
						break
					}
					if err != fierr.Again {
						b.Fatal(err)
					}
					to.CQ().Read(entries) // connects
				}
				want(b, from, entries, FlagSend)
				want(b, to, entries, FlagRecv)
			}
			move(x, y, toY, toX)
			move(y, x, toX, toY)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				move(x, y, toY, toX)
				move(y, x, toX, toY)
			}
		})
	}
}

func check(tb testing.TB, err error) {
	if err != nil {
		tb.Fatal(err)
	}
}

func want(tb testing.TB, ep *Endpoint, entries []Entry, flag Flags) {
	for {
		n, err := ep.CQ().Read(entries)
		if err == nil {
			if n != 1 || entries[0].Flags&flag == 0 {
				tb.Fatalf("%d completions, the first %+v", n, entries[0])
			}
			return
		}
		if err != fierr.Again {
			tb.Fatal(err)
		}
	}
}

// BenchmarkRate sends half a window at a time in one direction, with a window of
// receives posted, with one call for each message and with one for all. The figure is
// for one message, at both ends.
func BenchmarkRate(b *testing.B) {
	const window = 64
	for _, batches := range []bool{false, true} {
		b.Run(fmt.Sprintf("batches=%v", batches), func(b *testing.B) {
			x, y, toY, toX := pair(b, Options{Links: "shm+tcp:lo"})
			entries := make([]Entry, window)
			outs, ins := make([]Msg, window/2), make([]Msg, window)
			for i := range ins {
				ins[i] = Msg{IOV: [][]byte{make([]byte, 8)}, Addr: toX, Tag: 1}
			}
			for i := range outs {
				outs[i] = Msg{IOV: [][]byte{make([]byte, 8)}, Addr: toY, Tag: 1}
			}
			post := func(n int) {
				if batches {
					_, err := y.TRecvBatch(ins[:n], FlagCompletion)
					check(b, err)
					return
				}
				for i := range n {
					check(b, y.TRecv(ins[i].IOV[0], toX, 1, 0, nil))
				}
			}
			send := func() {
				if batches {
					_, err := x.TSendBatch(outs, FlagCompletion)
					check(b, err)
					return
				}
				for i := range outs {
					check(b, x.TSend(outs[i].IOV[0], toY, 1, nil))
				}
			}
			post(window)
			for x.TSend(nil, toY, 1, nil) != nil {
				_, _ = y.CQ().Read(entries) // connects
			}
			want(b, y, entries, FlagRecv)
			post(1)
			want(b, x, entries, FlagSend)
			b.ReportAllocs()
			b.ResetTimer()
			for done := 0; done < b.N; done += window / 2 {
				send()
				for n := 0; n < window/2; {
					k, _ := x.CQ().Read(entries)
					n += k
				}
				for n := 0; n < window/2; {
					k, _ := y.CQ().Read(entries)
					n += k
					post(k)
				}
			}
		})
	}
}
