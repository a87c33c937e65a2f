package bench

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever is looked for is found, or the test fails by itself.
func TestReg(t *testing.T) {
	s, served := sessions(t, Only{})
	for _, size := range []int{1, 4096} {
		r, err := s.Run(Params{Test: "reg", Op: OpWrite, Size: size, Iters: 5000, Warmup: 10})
		require.NoError(t, err)
		require.Equal(t, "reg_ns", r.Key)
		require.Positive(t, r.Value)
		require.Len(t, r.Rails, 1)
		require.Zero(t, r.Rails[0].Ops)
	}
	require.NoError(t, s.Bye())
	require.NoError(t, <-served)
}
