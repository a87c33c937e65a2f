package fault_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/providers"
	"golnx/providers/fault"
	"golnx/providers/fierr"
	"golnx/providers/sim"
)

// Around a Core without memory operations there are none either, and nothing is counted.
func TestNoMemory(t *testing.T) {
	core, err := sim.New(sim.Options{}).Open([]sim.Rail{{}}, nil, sim.Limits{})
	require.NoError(t, err)
	plan := &fault.Plan{}
	c := fault.Wrap(core, plan)
	require.Equal(t, fierr.ENoSys, c.RMA(0, &providers.RMAOp{}))
	require.Equal(t, fierr.ENoSys, c.Atomic(0, &providers.AtomicCall{}))
	_, err = c.QueryAtomic(0, providers.AtomicBase, providers.AtomicSum, providers.Uint64)
	require.Equal(t, fierr.EOpNotSupp, err)
	_, counts := c.RemoteEvents(0)
	require.False(t, counts)
	require.Nil(t, c.Registrar(0))
	require.Zero(t, plan.Calls())
}
