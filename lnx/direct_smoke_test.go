package lnx

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSmokeDirect(t *testing.T) {
	for _, links := range []string{"shm", "tcp:lo"} {
		t.Run(links, func(t *testing.T) {
			a, b, toB, toA := pair(t, Options{Links: links, Direct: true})
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			for _, size := range []int{0, 1, 63, 64, 65, 4095, 4096, 4097, 65536, 1 << 20, 4 << 20} {
				want := bytes.Repeat([]byte{byte(size), 3, 5, 7}, size/4+1)[:size]
				errc := make(chan error, 1)
				go func() { errc <- a.Send(ctx, toB, 7, want) }()
				buf := make([]byte, size)
				info, err := b.Recv(ctx, toA, 7, 0, buf)
				require.NoError(t, err, size)
				require.NoError(t, <-errc)
				require.Equal(t, size, info.Len)
				require.Equal(t, toA, info.From)
				require.True(t, bytes.Equal(want, buf))
			}
			t.Log(a.Stats(), b.Stats())
		})
	}
}
