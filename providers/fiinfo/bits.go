package fiinfo

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Bits is an attribute with a meaning for each bit, which T names. As JSON it is an
// array of names.
type Bits[T bitNames] uint64

// bitNames has a name for each bit, or none.
type bitNames interface{ bits() *[64]string }

// Names answers the name of each bit that is set, from the lowest; a bit without a name
// as its value, "0x400000".
func (b Bits[T]) Names() []string {
	var t T
	names := []string{}
	for bit, name := range t.bits() {
		if b>>bit&1 == 0 {
			continue
		}
		if name == "" {
			name = fmt.Sprintf("%#x", uint64(1)<<bit)
		}
		names = append(names, name)
	}
	return names
}

// String writes "FI_MSG|FI_TAGGED", or "0".
func (b Bits[T]) String() string {
	if b == 0 {
		return "0"
	}
	return strings.Join(b.Names(), "|")
}

// MarshalJSON writes the names.
func (b Bits[T]) MarshalJSON() ([]byte, error) { return json.Marshal(b.Names()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (b *Bits[T]) UnmarshalJSON(text []byte) error {
	var names []string
	if err := json.Unmarshal(text, &names); err != nil {
		return err
	}
	var t T
	*b = 0
	for _, name := range names {
		if bit := slices.Index(t.bits()[:], name); bit >= 0 && name != "" {
			*b |= 1 << bit
		} else if n, err := parseHex(name, 64); err == nil {
			*b |= Bits[T](n)
		} else {
			return fmt.Errorf("%q is neither a bit that is known here nor a number as 0x400000", name)
		}
	}
	return nil
}

// Enum is an attribute that has one of several values, which T names.
type Enum[T valueNames] uint32

// valueNames has a name for each value, or none.
type valueNames interface{ values() []string }

// String is the value's name, or the value as "0x7f".
func (e Enum[T]) String() string {
	var t T
	if names := t.values(); uint64(e) < uint64(len(names)) && names[e] != "" {
		return names[e]
	}
	return fmt.Sprintf("%#x", uint32(e))
}

// MarshalText writes what String does.
func (e Enum[T]) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads what String writes.
func (e *Enum[T]) UnmarshalText(text []byte) error {
	var t T
	name := string(text)
	if i := slices.Index(t.values(), name); i >= 0 && name != "" {
		*e = Enum[T](i)
		return nil
	}
	n, err := parseHex(name, 32)
	if err != nil {
		return fmt.Errorf("%q is neither a value that is known here nor a number as 0x7f", name)
	}
	*e = Enum[T](n)
	return nil
}

func parseHex(text string, bits int) (uint64, error) {
	digits, ok := strings.CutPrefix(text, "0x")
	if !ok {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseUint(digits, 16, bits)
}
