package bench

import (
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/mr"
)

func TestHugePagesAreFreed(t *testing.T) {
	e := &End{huge: true}
	slots := e.newSlots(3, 1<<20)
	require.Len(t, e.held, 1)
	block := e.held[0]
	require.NotEqual(t, mr.Plain, block.Pages())
	for i := range slots {
		require.Same(t, &block.Bytes()[i<<20], &slots[i].buf[0])
		require.Equal(t, 1<<20, cap(slots[i].buf), "no buffer reaches into the next")
	}
	require.NoError(t, e.freeMemory())
	require.Nil(t, block.Bytes())
	require.Empty(t, e.held)
}
