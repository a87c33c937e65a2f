package mr

import (
	"fmt"
	"os"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestBuffer(t *testing.T) {
	for _, n := range []int{1, 4095, 4096, 4097, 1 << 20} {
		b, err := Alloc(n)
		require.NoError(t, err)
		mem := b.Bytes()
		require.Len(t, mem, n)
		require.Equal(t, n, cap(mem), "what lies behind is nobody's")
		require.Zero(t, uintptr(unsafe.Pointer(&mem[0]))%uintptr(os.Getpagesize()))
		for i := range mem {
			require.Zero(t, mem[i])
			mem[i] = byte(i)
		}
		require.Equal(t, byte(n-1), b.Bytes()[n-1])
		require.NoError(t, b.Free())
		require.Nil(t, b.Bytes())
		require.ErrorIs(t, b.Free(), ErrFreed)
	}
}

func TestAllocRefuses(t *testing.T) {
	for _, n := range []int{0, -1, maxSize + 1, maxSize} {
		_, err := Alloc(n)
		require.ErrorContains(t, err, fmt.Sprint(n))
	}
}

func ExampleAlloc() {
	b, err := Alloc(1 << 16)
	if err != nil {
		panic(err)
	}
	defer b.Free()
	fmt.Println(len(b.Bytes()))
	// Output: 65536
}
