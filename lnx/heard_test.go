package lnx

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/providers/sim"
)

// PER_PEER answers a peer on the rail that it was first heard on, at the address that
// it was heard from, whichever of them the peer took.
func TestSimAnswersWhereHeard(t *testing.T) {
	pairs := map[[2]int]bool{}
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := &simWorld{t: t, f: sim.New(sim.Options{})}
			a, b := w.open(simRails(3, sim.Rail{}), Options{}).ep, w.open(simRails(2, sim.Rail{}), Options{Seed: seed}).ep
			toB, err := a.AV().Insert(b.Name())
			require.NoError(t, err)
			_, err = b.AV().Insert(b.Name())
			require.NoError(t, err)
			toA, err := b.AV().Insert(a.Name())
			require.NoError(t, err)
			there, back := w.recv(0, toB, 7, 1), w.recv(1, toA, 7, 1)

			_, err = w.send(1, int(toA), 7, []byte{1})
			require.NoError(t, err)
			w.settle()
			_, err = w.send(0, int(toB), 7, []byte{1})
			require.NoError(t, err)
			w.settle()
			w.good(there, back)
			require.Equal(t, railOf(a, received), railOf(a, sent))
			require.Equal(t, railOf(b, sent), railOf(b, received))
			pairs[[2]int{railOf(b, sent), railOf(a, received)}] = true
		})
	}
	require.Len(t, pairs, 6, "not all were tried")
}

func sent(s RailStats) uint64     { return s.TSends }
func received(s RailStats) uint64 { return s.RxExpected + s.RxUnexpected }

// railOf answers the rail with the only message.
func railOf(ep *Endpoint, messages func(RailStats) uint64) int {
	return slices.IndexFunc(ep.Stats(), func(s RailStats) bool { return messages(s) == 1 })
}
