package peer

import (
	"encoding/binary"
	"net/netip"
)

// Samples that the tests share.

var sampleNode = Node{
	BootID:    [16]byte{0xb1, 0xaf, 0xef, 0x89, 4: 0x61, 15: 0xb1},
	ShmDev:    27,
	ShmIno:    1,
	PIDNS:     4026531836,
	NetNS:     4026531833,
	PID:       4711,
	StartTime: 73919,
	UID:       1000,
}

// sampleAddress is a Go endpoint with shm and two NICs on different networks.
// Its entries' names are left to the extension.
func sampleAddress() *Address {
	return &Address{
		Host: "node7",
		Entries: []Entry{
			{Addr: inet("10.0.1.7:4711")},
			{Addr: []byte("fi_shm://4711:0:0\x00")},
			{Addr: inet("10.0.2.7:4712")},
		},
		Ext: &Extension{
			Flags: FlagExtended,
			Node:  sampleNode,
			Rails: []Rail{
				{Provider: "tcp;ofi_rxm", Fabric: "10.0.1.0/24", Domain: "eth0", Format: FormatSockaddrIn, Speed: 100e9, NUMA: 1},
				{Provider: "shm", Fabric: "shm", Domain: "shm", Format: FormatString, NUMA: -1},
				{Provider: "tcp;ofi_rxm", Fabric: "10.0.2.0/24", Domain: "eth1", Format: FormatSockaddrIn, Speed: 25e9, NUMA: 0},
			},
		},
	}
}

// plainAddress is what C LNX would say of the same endpoint.
func plainAddress(layout Layout) *Address {
	a, err := sampleAddress().As(layout)
	if err != nil {
		panic(err)
	}
	a.Ext = nil
	return a
}

// inet returns a struct sockaddr_in or sockaddr_in6.
func inet(s string) []byte {
	ap := netip.MustParseAddrPort(s)
	if ap.Addr().Is4() {
		b := make([]byte, sockaddrIn)
		binary.NativeEndian.PutUint16(b, afInet)
		binary.BigEndian.PutUint16(b[2:], ap.Port())
		copy(b[4:], ap.Addr().AsSlice())
		return b
	}
	b := make([]byte, sockaddrIn6)
	binary.NativeEndian.PutUint16(b, afInet6)
	binary.BigEndian.PutUint16(b[2:], ap.Port())
	copy(b[8:], ap.Addr().AsSlice())
	return b
}
