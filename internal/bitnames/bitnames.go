// Package bitnames writes numbers whose bits have names.
package bitnames

import (
	"fmt"
	"strings"
)

// Name is that of one bit.
type Name[T ~uint64] struct {
	Bit  T
	Name string
}

// Join writes the names of the bits that are set, in the order of names, as "send|recv",
// and the rest as a number. Without any bit it answers none.
func Join[T ~uint64](bits T, names []Name[T], none string) string {
	if bits == 0 {
		return none
	}
	var set []string
	for _, n := range names {
		if bits&n.Bit != 0 {
			set = append(set, n.Name)
			bits &^= n.Bit
		}
	}
	if bits != 0 {
		set = append(set, fmt.Sprintf("%#x", uint64(bits)))
	}
	return strings.Join(set, "|")
}
