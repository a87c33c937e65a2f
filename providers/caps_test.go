package providers

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCapsHaveTheNamesOfLibfabric(t *testing.T) {
	for caps, want := range map[Caps]string{
		0:                   "none",
		CapTagged:           "FI_TAGGED",
		CapTagged | CapRMA:  "FI_RMA|FI_TAGGED",
		CapAtomic:           "FI_ATOMIC",
		CapRMAEvent | 1<<10: "FI_RECV|FI_RMA_EVENT",
		// what shm has besides
		0x0a08080000010c02: "FI_MSG|FI_RECV|FI_SEND|FI_MULTI_RECV|FI_PEER|FI_LOCAL_COMM|FI_SOURCE|FI_DIRECTED_RECV",
		CapRMA | 1<<22:     "FI_RMA|0x400000",
		1 << 63:            "0x8000000000000000",
	} {
		require.Equal(t, want, caps.String())
	}
}
