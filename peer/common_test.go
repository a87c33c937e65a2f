package peer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const rxm = "tcp;ofi_rxm"

func shmRail(index int) LocalRail {
	return LocalRail{Index: index, Provider: "shm", Fabric: "shm", Domain: "shm", Format: FormatString, Addr: []byte("fi_shm://1:0:0\x00")}
}

func tcpRail(index int, fabric, addr string) LocalRail {
	return LocalRail{Index: index, Provider: rxm, Fabric: fabric, Domain: "eth" + fabric[len(fabric)-4:len(fabric)-3], Format: FormatSockaddrIn, Addr: inet(addr)}
}

func cxiRail(index int, format AddrFormat) LocalRail {
	return LocalRail{Index: index, Provider: "cxi", Fabric: "cxi", Domain: "cxi0", Format: format, Addr: []byte{1, 2, 3, 4}}
}

// remoteOf builds a peer out of such rails.
func remoteOf(layout Layout, extension bool, rails ...LocalRail) *Address {
	a := &Address{Host: "node9", Layout: layout}
	if extension {
		a.Ext = &Extension{Node: sampleNode}
	}
	for _, r := range rails {
		name := r.Fabric
		if layout == Layout21 {
			name = r.Provider
		}
		a.Entries = append(a.Entries, Entry{name, r.Addr})
		if extension {
			a.Ext.Rails = append(a.Ext.Rails, Rail{Provider: r.Provider, Fabric: r.Fabric, Domain: r.Domain, Format: r.Format, NUMA: -1})
		}
	}
	return a
}

func TestCommon(t *testing.T) {
	const (
		golang = true
		cLNX   = false
	)
	far, near := Locality{Reason: "boot ids differ"}, Locality{Memory: true, Loopback: true}
	net1, net2 := tcpRail(1, "10.0.1.0/24", "10.0.1.7:1"), tcpRail(2, "10.0.2.0/24", "10.0.2.7:1")
	peer1, peer2, peer3 := tcpRail(0, "10.0.1.0/24", "10.0.1.9:1"), tcpRail(0, "10.0.2.0/24", "10.0.2.9:1"), tcpRail(0, "10.0.3.0/24", "10.0.3.9:1")
	lo := tcpRail(4, "127.0.0.0/8", "127.0.0.1:1")
	in6 := LocalRail{Index: 5, Provider: rxm, Fabric: "10.0.1.0/24", Format: FormatSockaddrIn6, Addr: inet("[fd00::7]:1")}
	generic, generic6 := net1, in6
	generic.Format, generic6.Format = FormatSockaddr, FormatSockaddr
	long := shmRail(0)
	long.Addr = append(make([]byte, maxShmNameBytes), 0)
	fill(long.Addr[:maxShmNameBytes], 'a')
	short := peer1
	short.Addr = short.Addr[:4]

	for _, c := range []struct {
		name       string
		local      []LocalRail
		remote     *Address
		loc        Locality
		disableSHM bool
		want       []Path // nil: nothing in common
	}{
		{"local peer: shm and NICs", []LocalRail{shmRail(0), net1}, remoteOf(Layout22, golang, shmRail(0), peer1), near, false, []Path{{0, 0}, {1, 1}}},
		{"remote peer: no shm", []LocalRail{shmRail(0), net1}, remoteOf(Layout22, golang, shmRail(0), peer1), far, false, []Path{{1, 1}}},
		{"shm disabled", []LocalRail{shmRail(0), net1}, remoteOf(Layout22, golang, shmRail(0), peer1), near, true, []Path{{1, 1}}},
		{"each network its own", []LocalRail{net1, net2}, remoteOf(Layout22, golang, peer2, peer1), far, false, []Path{{1, 1}, {2, 0}}},
		{"one network shared: no routing", []LocalRail{net1, net2}, remoteOf(Layout22, golang, peer1, peer3), far, false, []Path{{1, 0}}},
		{"no network shared: routing", []LocalRail{net1, net2}, remoteOf(Layout22, golang, peer3), far, false, []Path{{1, 0}, {2, 0}}},
		{"routing is decided per provider", []LocalRail{cxiRail(6, 15), net1}, remoteOf(Layout22, golang, cxiRail(0, 15), peer3), far, false, []Path{{6, 0}, {1, 1}}},
		{"routing needs equal formats", []LocalRail{in6, net1}, remoteOf(Layout22, golang, peer3), far, false, []Path{{1, 0}}},
		{"several rails on one network", []LocalRail{net1, tcpRail(7, "10.0.1.0/24", "10.0.1.8:1")}, remoteOf(Layout22, golang, peer1, peer1), far, false, []Path{{1, 0}, {1, 1}, {7, 0}, {7, 1}}},
		{"same network by layout 2.1", []LocalRail{net1, net2}, remoteOf(Layout21, golang, peer2, peer1), far, false, []Path{{1, 1}, {2, 0}}},
		{"members differ", []LocalRail{shmRail(0), cxiRail(6, 15), net1}, remoteOf(Layout22, golang, peer1), near, false, []Path{{1, 0}}},
		{"same format, other provider", []LocalRail{cxiRail(6, 15)}, remoteOf(Layout22, golang, LocalRail{Provider: "opx", Fabric: "cxi", Format: 15, Addr: []byte{1, 2, 3, 4}}), far, false, nil},

		{"C LNX 2.2: by fabric", []LocalRail{net1, net2}, remoteOf(Layout22, cLNX, peer2, peer3), far, false, []Path{{2, 0}}},
		{"C LNX 2.2: never routed", []LocalRail{net1}, remoteOf(Layout22, cLNX, peer3), far, false, nil},
		{"C LNX 2.2: shm", []LocalRail{net1, shmRail(0)}, remoteOf(Layout22, cLNX, shmRail(0), peer1), near, false, []Path{{1, 1}, {0, 0}}},
		{"C LNX 2.1: by provider", []LocalRail{net1, net2, cxiRail(6, 15)}, remoteOf(Layout21, cLNX, peer3, shmRail(0)), far, false, []Path{{1, 0}, {2, 0}}},
		{"C LNX 2.1: shm", []LocalRail{shmRail(0)}, remoteOf(Layout21, cLNX, peer3, shmRail(0)), near, false, []Path{{0, 1}}},

		{"loopback on this machine", []LocalRail{lo, net1}, remoteOf(Layout22, golang, lo), near, false, []Path{{4, 0}}},
		{"loopback of another machine", []LocalRail{lo, net1}, remoteOf(Layout22, golang, lo), far, false, nil},
		{"loopback, C LNX 2.2 elsewhere", []LocalRail{lo, net1}, remoteOf(Layout22, cLNX, lo, peer1), far, false, []Path{{1, 1}}},
		{"loopback does not route", []LocalRail{lo}, remoteOf(Layout22, golang, peer3), near, false, nil},

		{"address too short for its provider", []LocalRail{net1}, remoteOf(Layout22, cLNX, short), far, false, nil},
		{"address of another family", []LocalRail{net1}, remoteOf(Layout22, cLNX, in6), far, false, nil},
		{"family not told by the format", []LocalRail{generic}, remoteOf(Layout22, golang, generic6), far, false, nil},
		{"opaque address of another size", []LocalRail{cxiRail(6, 15)}, remoteOf(Layout22, cLNX, LocalRail{Fabric: "cxi", Addr: make([]byte, 8)}), far, false, nil},
		{"shm name without end", []LocalRail{shmRail(0)}, remoteOf(Layout22, cLNX, LocalRail{Fabric: "shm", Addr: []byte("fi_shm://1")}), near, false, nil},
		{"shm name too long", []LocalRail{shmRail(0)}, remoteOf(Layout22, cLNX, long), near, false, nil},
		{"no rails here", nil, remoteOf(Layout22, cLNX, peer1), far, false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Common(c.local, c.remote, c.loc, c.disableSHM)
			if c.want == nil {
				var none *NoCommonRailError
				require.ErrorAs(t, err, &none)
				require.Empty(t, got)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestNothingInCommon(t *testing.T) {
	local := []LocalRail{shmRail(0), tcpRail(1, "10.0.1.0/24", "10.0.1.7:4711")}
	far, near := Locality{Reason: "boot ids differ: other machines"}, Locality{Memory: true}
	unterminated := remoteOf(Layout22, false, shmRail(0))
	unterminated.Entries[0].Addr = []byte("fi_shm")
	const advice = "; link a provider and network that both sides have (FI_LNX_PROV_LINKS)"
	for _, c := range []struct {
		name       string
		local      []LocalRail
		remote     *Address
		loc        Locality
		disableSHM bool
		want       string
	}{
		{"Go peer", local, remoteOf(Layout22, true, cxiRail(0, 15), shmRail(1)), far, false,
			"no rail in common with the peer on host node9: this side has shm (fi_shm://1:0:0), tcp;ofi_rxm on 10.0.1.0/24 (eth0, 10.0.1.7:4711); " +
				"the peer has cxi (cxi0, 0x01020304), shm (fi_shm://1:0:0); shm cannot be used: boot ids differ: other machines" + advice},
		{"C LNX 2.2 peer", local[1:], remoteOf(Layout22, false, tcpRail(0, "10.0.2.0/24", "10.0.2.7:1")), far, false,
			"no rail in common with the peer on host node9: this side has tcp;ofi_rxm on 10.0.1.0/24 (eth0, 10.0.1.7:4711); " +
				"the peer has an unnamed provider on 10.0.2.0/24 (10.0.2.7:1)" + advice},
		{"shm disabled", local[:1], remoteOf(Layout22, false, shmRail(0)), near, true,
			"no rail in common with the peer on host node9: this side has shm (fi_shm://1:0:0); the peer has shm (fi_shm://1:0:0); " +
				"shm cannot be used: it is disabled here (FI_LNX_DISABLE_SHM)" + advice},
		{"shm malformed", local[:1], unterminated, near, false,
			"no rail in common with the peer on host node9: this side has shm (fi_shm://1:0:0); the peer has shm (0x66695f73686d); " +
				"shm cannot be used: the peer's shm address is malformed" + advice},
		{"no rails", nil, remoteOf(Layout21, false, shmRail(0)), near, false,
			"no rail in common with the peer on host node9: this side has none; the peer has shm (fi_shm://1:0:0)" + advice},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Common(c.local, c.remote, c.loc, c.disableSHM)
			require.EqualError(t, err, c.want)
		})
	}
}
