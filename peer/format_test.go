package peer

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestString(t *testing.T) {
	noFamily := make([]byte, sockaddrIn)
	for _, c := range []struct {
		name string
		a    *Address
		want string
	}{
		{"extension", sampleAddress(),
			"lnx://node7/tcp;ofi_rxm=10.0.1.7:4711,shm=fi_shm://4711:0:0,tcp;ofi_rxm=10.0.2.7:4712"},
		{"C LNX 2.2 names fabrics", plainAddress(Layout22),
			"lnx://node7/shm=fi_shm://4711:0:0,10.0.1.0/24=10.0.1.7:4711,10.0.2.0/24=10.0.2.7:4712"},
		{"C LNX 2.1 names providers", plainAddress(Layout21),
			"lnx://node7/tcp;ofi_rxm=10.0.1.7:4711,tcp;ofi_rxm=10.0.2.7:4712,shm=fi_shm://4711:0:0"},
		{"IPv6", &Address{Host: "n", Entries: []Entry{{"net", inet("[fd00::7]:4711")}}}, "lnx://n/net=[fd00::7]:4711"},
		{"unknown format", &Address{Host: "n", Entries: []Entry{{"cxi", []byte{1, 2, 3, 0xff}}}}, "lnx://n/cxi=0x010203ff"},
		{"size of a sockaddr, but no family", &Address{Host: "n", Entries: []Entry{{"x", noFamily}}}, "lnx://n/x=0x00000000000000000000000000000000"},
		{"long", &Address{Host: "n", Entries: []Entry{{"x", make([]byte, 100)}}},
			"lnx://n/x=0x" + string(bytes.Repeat([]byte("00"), 64)) + "…(100 bytes)"},
		{"shm name not printable", &Address{Host: "n", Entries: []Entry{{"shm", []byte("a\x1b\x00")}}}, "lnx://n/shm=0x611b00"},
		{"shm name not terminated", &Address{Host: "n", Entries: []Entry{{"shm", []byte("ab")}}}, "lnx://n/shm=0x6162"},
		{"made by hand", &Address{Host: "a\nb", Entries: []Entry{{"", []byte{1}}}}, `lnx://"a\nb"/=0x01`},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, c.a.String())
		})
	}
}

// The format number decides, not what the bytes look like.
func TestStringFollowsFormat(t *testing.T) {
	a := sampleAddress()
	for format, want := range map[AddrFormat]string{
		FormatSockaddr:    "10.0.1.7:4711",
		FormatSockaddrIn:  "10.0.1.7:4711",
		FormatSockaddrIn6: "0x",
		AddrFormat(15):    "0x",
	} {
		got := formatAddr(format, a.Entries[0].Addr)
		require.Contains(t, got, want, "format %d", format)
	}
}
