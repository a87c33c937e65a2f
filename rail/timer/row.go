package timer

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// mostNames bounds the names that a reader keeps so as to make each string once.
const mostNames = 1 << 16

// row takes a line apart. The first value that is wrong stays in err.
type row struct {
	fields [][]byte
	// at is where each column that is asked for stands; width is the header's.
	at    []int
	width int
	names map[string]string
	err   error
}

// split finds the fields of a line of RFC 4180, which it may change. Rows do not reach
// over lines.
func (r *row) split(line []byte) error {
	r.fields = r.fields[:0]
	for {
		var field []byte
		more := false
		if len(line) > 0 && line[0] == '"' {
			var err error
			if field, line, err = unquote(line); err != nil {
				return err
			}
			if more = len(line) > 0; more {
				line = line[1:]
			}
		} else {
			field, line, more = bytes.Cut(line, []byte{','})
		}
		r.fields = append(r.fields, field)
		if !more {
			return nil
		}
	}
}

// unquote takes a quoted field off a line; what is left is empty or begins with a comma.
func unquote(line []byte) (field, rest []byte, err error) {
	n := 0
	for i := 1; i < len(line); i++ {
		if line[i] == '"' {
			i++
			if i == len(line) || line[i] == ',' {
				return line[:n], line[i:], nil
			}
			if line[i] != '"' {
				return nil, nil, errors.New("text after a closing quote")
			}
		}
		line[n] = line[i]
		n++
	}
	return nil, nil, errors.New("a quote is not closed")
}

func (r *row) field(i int) []byte { return r.fields[r.at[i]] }

// fail keeps the error of column i.
func (r *row) fail(i int, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("field %d is %q, not %s", r.at[i]+1, r.field(i), want)
	}
}

func (r *row) uint(i int) uint64 {
	f := r.field(i)
	var v uint64
	for _, c := range f {
		d := uint64(c - '0')
		if d > 9 || v > (math.MaxUint64-d)/10 {
			r.fail(i, "a number from 0 to 2^64-1")
			return 0
		}
		v = 10*v + d
	}
	if len(f) == 0 {
		r.fail(i, "a number")
	}
	return v
}

// int is a number from -1 to the largest; nothing in the files is below.
func (r *row) int(i int) int64 {
	if string(r.field(i)) == "-1" {
		return -1
	}
	v := r.uint(i)
	if v > math.MaxInt64 {
		r.fail(i, "a number from -1 to 2^63-1")
		return 0
	}
	return int64(v)
}

func (r *row) hex(i int) uint64 {
	f, ok := bytes.CutPrefix(r.field(i), []byte("0x"))
	v, err := strconv.ParseUint(string(f), 16, 64)
	if !ok || err != nil {
		r.fail(i, "a number as 0x1f")
		return 0
	}
	return v
}

// name is a text; equal ones are one string.
func (r *row) name(i int) string {
	f := r.field(i)
	if s, ok := r.names[string(f)]; ok {
		return s
	}
	s := string(f)
	if r.names == nil {
		r.names = map[string]string{}
	}
	if len(r.names) < mostNames {
		r.names[s] = s
	}
	return s
}

// span fails where the end comes before the start.
func (r *row) span(start, end int64) {
	if end < start && r.err == nil {
		r.err = fmt.Errorf("it ends at %d, before it starts at %d", end, start)
	}
}
