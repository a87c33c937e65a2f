package oracle

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Program drives a queue and its oracle side by side and fails the test where
// they differ.
type Program interface {
	Step()       // one random operation on both
	CompareAll() // all that can be asked without changing either
}

// RunShort runs programs short enough to shrink when they fail.
func RunShort[P Program](t *testing.T, start func(require.TestingT, Choose) P) {
	rapid.Check(t, func(t *rapid.T) {
		p := start(t, func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") })
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			p.Step()
		}
		p.CompareAll()
	})
}

// RunFuzz runs programs made of a fuzzer's bytes.
func RunFuzz[P Program](f *testing.F, start func(require.TestingT, Choose) P) {
	f.Fuzz(func(t *testing.T, data []byte) {
		choose, more := Bytes(data)
		p := start(t, choose)
		for more() {
			p.Step()
		}
		p.CompareAll()
	})
}

// Same is require.Equal without its cost, for what is compared a million times.
func Same[T comparable](t require.TestingT, want, got T, what string) {
	if want != got {
		require.Equal(t, want, got, what)
	}
}
