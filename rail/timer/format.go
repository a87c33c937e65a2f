package timer

import (
	"strconv"
	"strings"

	"golnx/rail/intercept"
)

// The lines of the files, as appended to a buffer.

func appendOp(b []byte, r *record) []byte {
	b = strconv.AppendInt(b, r.start, 10)
	b = append(b, ',')
	b = strconv.AppendInt(b, r.end, 10)
	b = append(b, ',')
	b = append(b, r.op.String()...)
	b = append(b, ',')
	b = strconv.AppendInt(b, r.bytes, 10)
	b = append(b, ',')
	b = strconv.AppendUint(b, uint64(r.link), 10)
	b = append(b, ",0x"...)
	b = strconv.AppendUint(b, r.tag, 16)
	b = append(b, ',')
	b = strconv.AppendInt(b, int64(r.status), 10)
	return append(b, '\n')
}

func appendLink(b []byte, l *Link) []byte {
	b = strconv.AppendInt(b, int64(l.ID), 10)
	b = append(b, ',')
	b = strconv.AppendUint(b, l.Endpoint, 10)
	b = append(b, ',')
	b = strconv.AppendInt(b, int64(l.Rail), 10)
	for _, s := range [...]string{l.Provider, l.LocalNIC, l.RemoteNIC, l.LocalAddr, l.RemoteAddr} {
		b = append(b, ',')
		b = appendField(b, s)
	}
	return append(b, '\n')
}

func appendEndpoint(b []byte, e *Endpoint) []byte {
	b = strconv.AppendUint(b, e.ID, 10)
	b = append(b, ',')
	b = appendField(b, e.Address)
	b = append(b, ',')
	b = appendField(b, e.Link)
	return append(b, '\n')
}

func appendCQGap(b []byte, g *CQGap) []byte {
	b = strconv.AppendInt(b, g.Start, 10)
	b = append(b, ',')
	b = strconv.AppendInt(b, g.End, 10)
	b = append(b, ',')
	b = strconv.AppendUint(b, g.Endpoint, 10)
	return append(b, '\n')
}

// longestField bounds a text in a file, so that a line can be read again.
const longestField = 4096

// appendField quotes a text where it has to. Rows are one line, so it has no controls.
func appendField(b []byte, s string) []byte {
	if len(s) > longestField {
		s = s[:longestField]
	}
	quoted := strings.ContainsAny(s, `,"`)
	if quoted {
		b = append(b, '"')
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"':
			b = append(b, '"', '"')
		case c < ' ':
			b = append(b, '?')
		default:
			b = append(b, c)
		}
	}
	if quoted {
		b = append(b, '"')
	}
	return b
}

// record is what the data path writes of an operation.
type record struct {
	start, end int64
	bytes      int64
	tag        uint64
	link       uint32
	status     int32
	op         intercept.Op
}
