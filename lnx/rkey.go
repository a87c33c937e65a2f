package lnx

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"golnx/internal/livekeys"
	"golnx/mr"
	"golnx/peer"
	"golnx/providers/fierr"
)

// The bytes of Region.RemoteKey, little-endian:
//
//	 0  magic, 8 bytes
//	 8  version of the writer
//	 9  oldest version whose reader understands this
//	10  the memory's address modulo 64
//	11  zero
//	12  CRC-32C of all bytes but these four
//	16  identity of the endpoint
//	32  name of its table of live keys (package livekeys), zeros without
//	48  the key of package mr
const (
	rkeyMagic   = "\x89lnxmr\r\n"
	rkeyVersion = 1
	rkeyCRC     = 12
	rkeyID      = 16
	rkeyTable   = rkeyID + len(endpointID{})
	rkeyHeader  = rkeyTable + livekeys.NameSize
	rkeyMax     = 1 << 20
)

// endpointID is a digest of an endpoint's addresses, which no other endpoint has.
type endpointID [16]byte

func identify(a *peer.Address) (id endpointID) {
	h := sha256.New()
	for _, e := range a.Entries {
		fmt.Fprintf(h, "%d:%s", len(e.Addr), e.Addr)
	}
	copy(id[:], h.Sum(nil))
	return id
}

// rkey is what RemoteKey's bytes say.
type rkey struct {
	id    endpointID
	table livekeys.Name
	base  byte // the memory's address modulo 64, by which atomics are aligned
	mr    mr.RemoteKey
}

func (k *rkey) marshal() ([]byte, error) {
	b := append([]byte(rkeyMagic), rkeyVersion, rkeyVersion, k.base, 0, 0, 0, 0, 0)
	b = append(b, k.id[:]...)
	b = k.table.AppendTo(b)
	b, err := k.mr.AppendBinary(b)
	if err == nil {
		binary.LittleEndian.PutUint32(b[rkeyCRC:], rkeyChecksum(b))
	}
	return b, err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func rkeyChecksum(b []byte) uint32 {
	return crc32.Update(crc32.Checksum(b[:rkeyCRC], castagnoli), castagnoli, b[rkeyCRC+4:])
}

// unmarshal trusts nothing but form and checksum.
func (k *rkey) unmarshal(b []byte) error {
	bad := func(what string, args ...any) error {
		return fmt.Errorf("remote key: %s: %w", fmt.Sprintf(what, args...), fierr.EProto)
	}
	switch {
	case len(b) < rkeyHeader || len(b) > rkeyMax:
		return bad("it has %d bytes, want %d to %d", len(b), rkeyHeader, rkeyMax)
	case string(b[:len(rkeyMagic)]) != rkeyMagic:
		return bad("it begins with %q, want %q", b[:len(rkeyMagic)], rkeyMagic)
	case b[9] > rkeyVersion:
		return bad("it is of version %d, for readers of %d or newer, want one for readers of %d", b[8], b[9], rkeyVersion)
	}
	if got, want := binary.LittleEndian.Uint32(b[rkeyCRC:]), rkeyChecksum(b); got != want {
		return bad("its checksum is %#08x, want %#08x: it was altered", got, want)
	}
	copy(k.id[:], b[rkeyID:])
	k.base = b[10]
	k.table = livekeys.ParseName(b[rkeyTable:])
	return k.mr.UnmarshalBinary(b[rkeyHeader:])
}
