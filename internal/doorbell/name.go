package doorbell

import (
	"bytes"
	"encoding/binary"
)

// Name says where a [Bell] is. It means something to processes of the same user in
// the same PID namespace.
type Name struct {
	PID   int32  // the receiver's
	Page  int32  // descriptor there, of the memfd
	Pipe  int32  // descriptor there, of the pipe's write end
	Token uint64 // as given to New
}

// NameSize is the size of a Name in bytes: version (1), zeros (3), PID (4), page (4),
// pipe (4), token (8), in little endian.
const NameSize = 24

const nameVersion = 1

// AppendTo appends the name's NameSize bytes to b.
func (n Name) AppendTo(b []byte) []byte {
	b = append(b, nameVersion, 0, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(n.PID))
	b = binary.LittleEndian.AppendUint32(b, uint32(n.Page))
	b = binary.LittleEndian.AppendUint32(b, uint32(n.Pipe))
	return binary.LittleEndian.AppendUint64(b, n.Token)
}

// Parse reads what AppendTo wrote, and nothing else. Its errors are ErrUnavailable.
func Parse(b []byte) (Name, error) {
	if len(b) != NameSize {
		return Name{}, refuse("length of the name in bytes", len(b), NameSize)
	}
	if want := []byte{nameVersion, 0, 0, 0}; !bytes.Equal(b[:4], want) {
		return Name{}, refuse("version of the name", b[:4], want)
	}
	n := Name{
		PID:   int32(binary.LittleEndian.Uint32(b[4:])),
		Page:  int32(binary.LittleEndian.Uint32(b[8:])),
		Pipe:  int32(binary.LittleEndian.Uint32(b[12:])),
		Token: binary.LittleEndian.Uint64(b[16:]),
	}
	return n, n.check()
}

func (n Name) check() error {
	switch {
	case n.PID < 1:
		return refuse("process number", n.PID, "1 or more")
	case n.Page < 0:
		return refuse("descriptor of the page", n.Page, "0 or more")
	case n.Pipe < 0:
		return refuse("descriptor of the pipe", n.Pipe, "0 or more")
	}
	return nil
}
