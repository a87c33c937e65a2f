package livekeys

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"

	"golnx/internal/peerfd"
)

// Name says where a [Table] is. It means something to processes of the same user in the
// same PID namespace.
type Name struct {
	PID   int32  // the owner's
	FD    int32  // descriptor there, of the memfd
	Token uint64 // as given to New
}

// NameSize is the size of a Name in bytes: PID (4), descriptor (4), token (8), in little
// endian.
const NameSize = 16

// AppendTo appends the name's NameSize bytes to b.
func (n Name) AppendTo(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(n.PID))
	b = binary.LittleEndian.AppendUint32(b, uint32(n.FD))
	return binary.LittleEndian.AppendUint64(b, n.Token)
}

// ParseName reads what AppendTo wrote, out of NameSize bytes.
func ParseName(b []byte) Name {
	return Name{
		PID:   int32(binary.LittleEndian.Uint32(b)),
		FD:    int32(binary.LittleEndian.Uint32(b[4:])),
		Token: binary.LittleEndian.Uint64(b[8:]),
	}
}

const tokenAt = 8

func putHeader(mem []byte, token uint64) {
	copy(mem, magic)
	binary.NativeEndian.PutUint64(mem[tokenAt:], token)
}

// View is an initiator's side of a [Table]. It is safe for concurrent use, Close aside.
type View struct{ mapping }

// Open finds the table of that name. It does not block, whatever the name refers to, and
// opens nothing but a table of the own user. All errors are ErrUnavailable.
func Open(n Name) (*View, error) {
	v := &View{}
	if err := v.open(n); err != nil {
		return nil, fmt.Errorf("%w: process %d, descriptor %d: %w", ErrUnavailable, n.PID, n.FD, err)
	}
	return v, nil
}

func (v *View) open(n Name) error {
	if n.PID < 1 || n.FD < 0 {
		return fmt.Errorf("no such process or descriptor can be")
	}
	fd, err := peerfd.OpenMemory(n.PID, n.FD, memfdName, tableSize, unix.F_SEAL_SHRINK, unix.O_RDWR)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	mem, err := unix.Mmap(fd, 0, tableSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	if token := binary.NativeEndian.Uint64(mem[tokenAt:]); string(mem[:len(magic)]) != magic || token != n.Token {
		_ = unix.Munmap(mem) // of no use
		return fmt.Errorf("it is not the table meant, or closed")
	}
	v.mem = mem
	return nil
}

// Enter says whether a key is good for an operation. If it is, Leave follows when the operation has been
// handed over.
func (v *View) Enter(key uint64, want Memory) bool {
	if v == nil || v.mem == nil || key == 0 {
		return false
	}
	p := v.at(key)
	p.users.Add(1) // before the look, and seen by Remove after it
	if p.key.Load() == key && p.mem.covers(&want) {
		return true
	}
	p.users.Add(-1)
	return false
}

// Leave follows an Enter that answered true.
func (v *View) Leave(key uint64) {
	if v.mem != nil {
		v.at(key).users.Add(-1)
	}
}

// Close unmaps the table. A closed view knows no good key.
func (v *View) Close() error {
	if v == nil || v.mem == nil {
		return nil
	}
	mem := v.mem
	v.mem = nil
	return unix.Munmap(mem)
}
