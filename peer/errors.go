package peer

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// ErrUnknownPeer says that an Addr names no peer of the table: it was never
// handed out, or its peer was removed.
var ErrUnknownPeer = errors.New("unknown peer")

// BlobError says where and why an address blob was refused.
type BlobError struct {
	Layout Layout // the layout in which the blob was read
	Offset int    // bytes from the start of the blob
	Field  string // what stands there
	Found  string
	Want   string
}

func (e *BlobError) Error() string {
	return fmt.Sprintf("address blob (read in layout %v): %s at byte %d is %s, want %s",
		e.Layout, e.Field, e.Offset, e.Found, e.Want)
}

// checkName says why s cannot stand in a name field of 64 bytes.
func checkName(s string) error {
	switch {
	case s == "":
		return errors.New("is empty")
	case len(s) >= nameSize:
		return fmt.Errorf("has %d bytes, at most %d fit", len(s), nameSize-1)
	case !printable(s):
		return fmt.Errorf("%q has characters that cannot be printed", s)
	}
	return nil
}

// printable keeps control characters of a hostile blob out of logs and
// terminals.
func printable(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if !strconv.IsPrint(r) {
			return false
		}
	}
	return true
}
