package bitnames

import (
	"testing"

	"github.com/stretchr/testify/require"
)

type flags uint64

func TestJoin(t *testing.T) {
	names := []Name[flags]{{4, "four"}, {1, "one"}}
	for bits, want := range map[flags]string{
		0: "none", 1: "one", 5: "four|one", 7: "four|one|0x2", 1 << 63: "0x8000000000000000",
	} {
		require.Equal(t, want, Join(bits, names, "none"))
	}
}
