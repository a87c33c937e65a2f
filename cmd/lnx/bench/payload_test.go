package bench

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryWrongByteIsNoticed(t *testing.T) {
	for _, size := range []int{0, 1, 8, 100, len(random), 2*len(random) + 5} {
		buf := make([]byte, size)
		fill(buf, tagLead|42)
		require.NoError(t, verify(buf, tagLead|42))
		for i := 0; i < size; i += 1 + size/97 {
			buf[i] ^= 0x10
			require.ErrorContains(t, verify(buf, tagLead|42), fmt.Sprintf("byte %d is", i))
			buf[i] ^= 0x10
		}
	}
}

func TestPayloadsDiffer(t *testing.T) {
	begins := map[int]uint64{}
	for _, dir := range []uint64{tagLead, tagFollow} {
		for n := range uint64(10_000) {
			at := place(dir | n)
			other, taken := begins[at]
			require.False(t, taken && other>>40 == dir>>40, "%#x begins as %#x", dir|n, other)
			begins[at] = dir | n
		}
	}
	require.NotEqual(t, place(tagLead), place(tagFollow))
}

func TestSwappedSegmentsAreNoticed(t *testing.T) {
	for _, seg := range []int{1 << 12, 1 << 14, 1 << 16, 1 << 18} {
		buf, swapped := make([]byte, 2*seg), make([]byte, 2*seg)
		fill(buf, 1)
		copy(swapped, buf[seg:])
		copy(swapped[seg:], buf[:seg])
		require.Error(t, verify(swapped, 1), seg)
	}
}
