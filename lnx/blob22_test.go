package lnx_test

import (
	"encoding/hex"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/peer"
)

// Blobs in the layout of C LNX 2.2, which can be written and read whatever libfabric
// is installed: what C lays out Go reads, and what Go writes C finds its way through.
func TestBlob22AsCHasIt(t *testing.T) {
	program := buildC(t, "blob22")
	run := func(args ...string) string {
		out, err := exec.Command(program, args...).Output()
		require.NoError(t, err)
		return strings.TrimSpace(string(out))
	}
	a := &peer.Address{
		Host: "node7.cluster.example",
		Entries: []peer.Entry{
			{Name: "shm", Addr: []byte("fi_shm://4711:1000:0\x00")},
			{Name: "10.0.1.0/24", Addr: []byte{2, 0, 0x9c, 0x41, 10, 0, 1, 7, 0, 0, 0, 0, 0, 0, 0, 0}},
			{Name: "10.0.2.0/24", Addr: []byte{1, 2, 3}},
			{Name: "10.0.1.0/24", Addr: []byte{9}},
		},
	}
	words := []string{"write", a.Host}
	for _, e := range a.Entries {
		words = append(words, fmt.Sprintf("%s=%x", e.Name, e.Addr))
	}
	blob, err := hex.DecodeString(run(words...))
	require.NoError(t, err)
	got, err := peer.Decode(blob)
	require.NoError(t, err)
	want, err := a.As(peer.Layout22)
	require.NoError(t, err)
	require.Equal(t, want, got)

	// With an extension, which is one more entry to C.
	a.Ext = &peer.Extension{}
	for _, e := range a.Entries {
		r := peer.Rail{Provider: "tcp;ofi_rxm", Fabric: e.Name, Format: peer.FormatSockaddrIn}
		if e.Name == "shm" {
			r.Provider, r.Format = e.Name, peer.FormatString
		}
		a.Ext.Rails = append(a.Ext.Rails, r)
	}
	for extra, ext := range []*peer.Extension{nil, a.Ext} {
		a.Ext = ext
		blob, err := peer.Encode22(a)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("host %s\nentries %d\nshm %x\n10.0.1.0/24 %x\n10.0.1.0/24 %x\nend %d",
			a.Host, len(a.Entries)+extra, a.Entries[0].Addr, a.Entries[1].Addr, a.Entries[3].Addr, len(blob)),
			run("read", hex.EncodeToString(blob), "shm", "10.0.1.0/24"))
	}
}
