package fiinfo

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Addr is an address as libfabric has it in memory.
type Addr []byte

const (
	afInet, afInet6         = 2, 10 // of Linux
	sockaddrIn, sockaddrIn6 = 16, 28
)

// String writes an address so that UnmarshalText reads the same bytes again: a struct
// sockaddr_in or sockaddr_in6 as host and port, a C string as it is, everything else as
// "0x" and its bytes.
func (a Addr) String() string {
	for _, text := range []string{a.sockaddr(), a.str()} {
		var back Addr
		if text != "" && back.UnmarshalText([]byte(text)) == nil && bytes.Equal(a, back) {
			return text
		}
	}
	if len(a) == 0 {
		return ""
	}
	return "0x" + hex.EncodeToString(a)
}

func (a Addr) sockaddr() string {
	if len(a) < sockaddrIn {
		return ""
	}
	family, port := binary.NativeEndian.Uint16(a), binary.BigEndian.Uint16(a[2:])
	switch {
	case family == afInet && len(a) == sockaddrIn:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(a[4:])), port).String()
	case family == afInet6 && len(a) == sockaddrIn6:
		ip := netip.AddrFrom16([16]byte(a[8:]))
		if scope := binary.NativeEndian.Uint32(a[24:]); scope != 0 {
			ip = ip.WithZone(strconv.FormatUint(uint64(scope), 10))
		}
		return netip.AddrPortFrom(ip, port).String()
	}
	return ""
}

func (a Addr) str() string {
	text, ok := bytes.CutSuffix(a, []byte{0})
	if !ok || bytes.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	return string(text)
}

// MarshalText writes what String does.
func (a Addr) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads what String writes.
func (a *Addr) UnmarshalText(text []byte) error {
	if digits, ok := strings.CutPrefix(string(text), "0x"); ok {
		b, err := hex.DecodeString(digits)
		if err != nil {
			return fmt.Errorf("address %.40q: %w", text, err)
		}
		*a = b
		return nil
	}
	ap, err := netip.ParseAddrPort(string(text))
	switch {
	case len(text) == 0:
		*a = nil
		return nil
	case err != nil:
		*a = append(bytes.Clone(text), 0)
		return nil
	case ap.Addr().Is4():
		ip := ap.Addr().As4()
		b := make([]byte, sockaddrIn)
		putFamily(b, afInet, ap.Port())
		copy(b[4:], ip[:])
		*a = b
		return nil
	}
	ip := ap.Addr().As16()
	b := make([]byte, sockaddrIn6)
	putFamily(b, afInet6, ap.Port())
	copy(b[8:], ip[:])
	if zone := ap.Addr().Zone(); zone != "" {
		scope, err := strconv.ParseUint(zone, 10, 32)
		if err != nil {
			return fmt.Errorf("address %.40q: the scope has to be a number", text)
		}
		binary.NativeEndian.PutUint32(b[24:], uint32(scope))
	}
	*a = b
	return nil
}

func putFamily(b []byte, family, port uint16) {
	binary.NativeEndian.PutUint16(b, family)
	binary.BigEndian.PutUint16(b[2:], port)
}
