package lnx

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/mr"
)

// Memory outside the Go heap is sent from and received into like any other.
func TestMemoryOutsideTheHeap(t *testing.T) {
	for _, links := range []string{"shm", "tcp:lo"} {
		for _, size := range []int{8, 3000, 100_000, 1 << 20} {
			a, b, toB, toA := pair(t, Options{Links: links, Lookup: env(nil)})
			out, err := mr.Alloc(size)
			require.NoError(t, err)
			in, err := mr.Alloc(size)
			require.NoError(t, err)
			for i := range out.Bytes() {
				out.Bytes()[i] = byte(i * 7)
				if i == 5000 {
					break // the rest is 0
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			sent := make(chan error, 1)
			go func() { sent <- a.Send(ctx, toB, 1, out.Bytes()) }()
			info, err := b.Recv(ctx, toA, 1, 0, in.Bytes())
			require.NoError(t, err)
			require.NoError(t, <-sent)
			cancel()
			require.Equal(t, size, info.Len)
			require.True(t, bytes.Equal(out.Bytes(), in.Bytes()))
			require.NoError(t, out.Free())
			require.NoError(t, in.Free())
		}
	}
}
