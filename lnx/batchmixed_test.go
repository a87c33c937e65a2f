package lnx

import (
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/providers/fierr"
)

// A batch of messages that are over at once and of longer ones, to a receiver that takes
// them while the batch is still being handed over: a completion finds its send noted.
func TestMixedBatchWhileReceiverRuns(t *testing.T) {
	a, b, toB, _ := connected(t, Options{Links: "shm"})
	small, large := make([]byte, 8), make([]byte, 20_000)
	for range 50 {
		var msgs []Msg
		for range 40 {
			msgs = append(msgs, Msg{IOV: [][]byte{small}, Addr: toB, Tag: 1})
		}
		for range 6 {
			msgs = append(msgs, Msg{IOV: [][]byte{large}, Addr: toB, Tag: 1})
		}
		for range msgs {
			require.NoError(t, b.TRecv(make([]byte, 20_000), AddrUnspec, 1, 0, 1))
		}
		stop, done := make(chan bool), make(chan bool)
		go func() {
			defer close(done)
			for entries := make([]Entry, 64); ; {
				select {
				case <-stop:
					return
				default:
					_, _ = b.CQ().Read(entries)
				}
			}
		}()
		entries := make([]Entry, 64)
		for n, want := 0, len(msgs); n < want; {
			taken, err := a.TSendBatch(msgs, FlagCompletion)
			if msgs = msgs[taken:]; len(msgs) > 0 {
				require.ErrorIs(t, err, fierr.EAgain)
			}
			k, _ := a.CQ().Read(entries)
			n += k
		}
		close(stop)
		<-done
	}
}
