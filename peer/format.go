package peer

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// AddrFormat is a libfabric address format number (fi_getinfo(3), addr_format).
type AddrFormat uint32

// The formats that this package looks into; others are opaque bytes.
const (
	FormatUnspec      AddrFormat = 0 // FI_FORMAT_UNSPEC
	FormatSockaddr    AddrFormat = 1 // FI_SOCKADDR, either of the next two
	FormatSockaddrIn  AddrFormat = 2 // FI_SOCKADDR_IN
	FormatSockaddrIn6 AddrFormat = 3 // FI_SOCKADDR_IN6
	FormatString      AddrFormat = 9 // FI_ADDR_STR, NUL-terminated
)

const (
	afInet, afInet6         = 2, 10 // of Linux
	sockaddrIn, sockaddrIn6 = 16, 28
	shownBytes              = 64 // of an address that is printed as hex
)

// String prints the address on one line, after the manner of
// fi_av_straddr(3): the host and, for each entry, the provider, or the entry's
// name where the provider is not known, and the address.
//
//	lnx://node7/shm=fi_shm://4711:0:0,tcp;ofi_rxm=10.0.0.1:4711
func (a *Address) String() string {
	var s strings.Builder
	s.WriteString("lnx://" + safe(a.Host) + "/")
	for i, e := range a.Entries {
		name := a.Provider(i)
		if name == "" {
			name = e.Name
		}
		if i > 0 {
			s.WriteByte(',')
		}
		s.WriteString(safe(name) + "=" + a.EntryString(i))
	}
	return s.String()
}

// EntryString prints the address of entry i, as String has it.
func (a *Address) EntryString(i int) string { return formatAddr(a.Format(i), a.Entries[i].Addr) }

// safe quotes what would disturb a terminal; a decoded Address has no such names.
func safe(s string) string {
	if printable(s) {
		return s
	}
	return strconv.Quote(s)
}

func formatAddr(format AddrFormat, addr []byte) string {
	if format == FormatString {
		if s, ok := cString(addr); ok && printable(s) {
			return s
		}
	} else if ap, ok := sockaddr(format, addr); ok {
		return ap.String()
	}
	if len(addr) > shownBytes {
		return fmt.Sprintf("0x%x…(%d bytes)", addr[:shownBytes], len(addr))
	}
	return fmt.Sprintf("0x%x", addr)
}

// cString returns the string before the NUL that b must have.
func cString(b []byte) (string, bool) {
	end := bytes.IndexByte(b, 0)
	if end < 1 {
		return "", false
	}
	return string(b[:end]), true
}

// sockaddr reads a struct sockaddr_in or sockaddr_in6. Without a format
// (FormatUnspec) only what has the size and family of one is taken for it.
func sockaddr(format AddrFormat, b []byte) (netip.AddrPort, bool) {
	if len(b) != sockaddrIn && len(b) != sockaddrIn6 {
		return netip.AddrPort{}, false
	}
	generic := format == FormatUnspec || format == FormatSockaddr
	family, port := binary.NativeEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	switch {
	case family == afInet && len(b) == sockaddrIn && (generic || format == FormatSockaddrIn):
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), port), true
	case family == afInet6 && len(b) == sockaddrIn6 && (generic || format == FormatSockaddrIn6):
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:24])), port), true
	}
	return netip.AddrPort{}, false
}
