package fiinfo

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// exactInJSON is the largest whole number that every reader of JSON takes exactly.
const exactInJSON = 1 << 53

// Number is a size or a count. As JSON it is a number, or a string of digits if it is
// too large for readers that know no whole numbers.
type Number uint64

// String writes it in decimal; the largest, which libfabric uses for "no limit", as
// "2^64-1".
func (n Number) String() string {
	if n == math.MaxUint64 {
		return "2^64-1"
	}
	return strconv.FormatUint(uint64(n), 10)
}

// MarshalJSON writes the number.
func (n Number) MarshalJSON() ([]byte, error) {
	digits := strconv.AppendUint(nil, uint64(n), 10)
	if n > exactInJSON {
		digits = append(append([]byte{'"'}, digits...), '"')
	}
	return digits, nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (n *Number) UnmarshalJSON(text []byte) error {
	digits := string(text)
	if inner, ok := strings.CutPrefix(digits, `"`); ok {
		digits = strings.TrimSuffix(inner, `"`)
	}
	v, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return fmt.Errorf("%s is no number from 0 to 2^64-1", text)
	}
	*n = Number(v)
	return nil
}

// ContextCount is a number of contexts, or FI_SHARED_CONTEXT (fi_endpoint(3)).
type ContextCount uint64

// SharedContext is FI_SHARED_CONTEXT.
const SharedContext ContextCount = math.MaxUint64

// String writes the number, or FI_SHARED_CONTEXT.
func (n ContextCount) String() string {
	if n == SharedContext {
		return "FI_SHARED_CONTEXT"
	}
	return Number(n).String()
}

// MarshalJSON writes a number, or "FI_SHARED_CONTEXT".
func (n ContextCount) MarshalJSON() ([]byte, error) {
	if n == SharedContext {
		return []byte(`"FI_SHARED_CONTEXT"`), nil
	}
	return Number(n).MarshalJSON()
}

// UnmarshalJSON reads what MarshalJSON writes.
func (n *ContextCount) UnmarshalJSON(text []byte) error {
	if string(text) == `"FI_SHARED_CONTEXT"` {
		*n = SharedContext
		return nil
	}
	return (*Number)(n).UnmarshalJSON(text)
}

// TagFormat is how tags are used (fi_endpoint(3), mem_tag_format): a mask whose upper
// bits of 0 are not for the application, or one of two agreements.
type TagFormat uint64

// The agreements.
const (
	TagMPI TagFormat = 1 // FI_TAG_MPI
	TagCCL TagFormat = 2 // FI_TAG_CCL
)

// String writes a mask as "0x0000ffffffffffff", or FI_TAG_MPI or FI_TAG_CCL.
func (f TagFormat) String() string {
	switch f {
	case 0:
		return "0"
	case TagMPI:
		return "FI_TAG_MPI"
	case TagCCL:
		return "FI_TAG_CCL"
	}
	return fmt.Sprintf("0x%016x", uint64(f))
}

// MarshalText writes what String does.
func (f TagFormat) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText reads what String writes.
func (f *TagFormat) UnmarshalText(text []byte) error {
	for _, known := range []TagFormat{0, TagMPI, TagCCL} {
		if string(text) == known.String() {
			*f = known
			return nil
		}
	}
	n, err := parseHex(string(text), 64)
	if err != nil {
		return fmt.Errorf("%q is no tag format: FI_TAG_MPI, FI_TAG_CCL or a mask as 0xffff", text)
	}
	*f = TagFormat(n)
	return nil
}

// Version is a version as FI_VERSION packs it (fi_version(3)).
type Version uint32

// String writes "2.1".
func (v Version) String() string { return fmt.Sprintf("%d.%d", v>>16, v&0xffff) }

// MarshalText writes what String does.
func (v Version) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads what String writes.
func (v *Version) UnmarshalText(text []byte) error {
	major, minor, _ := strings.Cut(string(text), ".")
	a, err := strconv.ParseUint(major, 10, 16)
	b, err2 := strconv.ParseUint(minor, 10, 16)
	if err != nil || err2 != nil {
		return fmt.Errorf("%q is no version as 2.1", text)
	}
	*v = Version(a<<16 | b)
	return nil
}
