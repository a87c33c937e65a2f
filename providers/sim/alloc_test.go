package sim_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"golnx/providers"
	"golnx/providers/sim"
)

// receiver is an owner that has one receive posted at a time.
type receiver struct {
	core *sim.Core
	iov  [1]providers.IOVec
}

func (r *receiver) Match(int, uint64, uint64, uint64) (providers.Slot, bool) {
	slot, _ := r.core.AllocRx(true)
	r.core.SetBuffers(slot, r.iov[:])
	return slot, true
}
func (*receiver) MatchMsg(int, uint64, uint64) (providers.Slot, bool) { return 0, true }
func (*receiver) Dropped(providers.Slot)                              {}

// A message costs no allocation once the pools are filled.
func TestNoAllocation(t *testing.T) {
	f, r := sim.New(sim.Options{Auto: true}), &receiver{}
	desc := rails(2, sim.Rail{Rate: 100e9, Latency: 1000, Jitter: 10})
	a, err := f.Open(desc, r, sim.Limits{})
	require.NoError(t, err)
	r.core, err = f.Open(desc, r, sim.Limits{})
	require.NoError(t, err)
	op := providers.SendOp{Count: 1}
	buf := make([]byte, 512)
	op.IOV[0] = providers.IOVec{Base: unsafe.Pointer(&buf[0]), Len: 512}
	r.iov[0] = op.IOV[0]
	for i := range 2 {
		name, err := r.core.Name(i)
		require.NoError(t, err)
		op.Dest, err = a.Insert(i, name)
		require.NoError(t, err)
	}
	round := func() {
		for i := range 2 {
			op.Slot, _ = a.AllocTx()
			if a.Send(i, &op) != nil {
				t.Error("a rail is full")
			}
		}
		for received := 0; received < 2; {
			a.Progress(3)
			for _, c := range a.Ready() {
				a.FreeTx(c.Slot)
				a.Consume(1)
			}
			r.core.Progress(3)
			for _, c := range r.core.Ready() {
				r.core.ReleaseRx(c.Slot)
				r.core.Consume(1)
				received++
			}
		}
	}
	round()
	require.Zero(t, testing.AllocsPerRun(200, round))
	require.NoError(t, f.Err())
}
