package mr_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/mr"
)

func TestAccessString(t *testing.T) {
	for a, want := range map[mr.Access]string{
		0:                           "none",
		mr.Send:                     "send",
		mr.LocalAccess:              "send|recv|read|write",
		mr.RemoteAccess | mr.Send:   "send|remote_read|remote_write",
		mr.Recv | 1<<40 | 1:         "recv|0x10000000001",
		mr.Access(1<<8 | 1<<9):      "read|write",
		mr.Access(1<<12) | 1<<13<<1: "remote_read|0x4000",
	} {
		require.Equal(t, want, a.String())
	}
}

func TestIfaceString(t *testing.T) {
	require.Equal(t, "FI_HMEM_SYSTEM", mr.System.String())
	require.Equal(t, "FI_HMEM_SYNAPSEAI", mr.SynapseAI.String())
	require.Equal(t, "FI_HMEM(6)", mr.Iface(6).String())
}
