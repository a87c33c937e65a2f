package timer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
)

// longestLine is the longest line in bytes that a reader takes.
const longestLine = 64 << 10

// Reader reads the rows of one file, in memory that does not grow with it. It takes the
// columns by their names in the header, in any order, and passes over those that it
// does not know. It is for one goroutine.
type Reader[T any] struct {
	file  *os.File
	size  int64
	parse func(*row, *T)
	row   row
	value T // the row under way, here so that it is not allocated each time
	lines lines
	cut   bool
}

// LineError is a line that is no row.
type LineError struct {
	File string
	// Line counts from 1, which is the header.
	Line int
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

func (e *LineError) Unwrap() error { return e.Err }

// open opens a file and reads its header.
func open[T any](path string, columns []string, parse func(*row, *T)) (*Reader[T], error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r := &Reader[T]{file: f, parse: parse, lines: lines{in: bufio.NewReaderSize(f, longestLine)}}
	if st, err := f.Stat(); err == nil {
		r.size = st.Size()
	}
	if err := r.header(columns); err != nil {
		f.Close()
		return nil, err
	}
	return r, nil
}

func (r *Reader[T]) header(columns []string) error {
	line, err := r.lines.next()
	if errors.Is(err, errCut) || err == io.EOF { // a file that was only just begun
		r.cut = true
		return nil
	}
	if err != nil {
		return r.at(err)
	}
	if err := r.row.split(line); err != nil {
		return r.at(err)
	}
	r.row.width = len(r.row.fields)
	for _, c := range columns {
		i := indexOf(r.row.fields, c)
		if i < 0 {
			return r.at(fmt.Errorf("the header has no column %s: the columns are %s, found %q", c, columns, line))
		}
		r.row.at = append(r.row.at, i)
	}
	return nil
}

func indexOf(fields [][]byte, name string) int {
	for i, f := range fields {
		if string(f) == name {
			return i
		}
	}
	return -1
}

// All answers the rows from where the reader stands to the end of the file. A line that
// is no row comes as a *LineError, and the rows after it follow; after any other error
// there are none. A last line without its end, as a killed process or a full disk
// leaves it, is passed over: Cut tells.
func (r *Reader[T]) All() iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for !r.cut {
			var value T
			line, err := r.lines.next()
			switch {
			case err == io.EOF:
				return
			case errors.Is(err, errCut):
				r.cut = true
				return
			case errors.Is(err, errTooLong):
				err = r.at(err)
			case err != nil:
				yield(value, fmt.Errorf("read %s: %w", r.file.Name(), err))
				return
			default:
				value, err = r.convert(line)
			}
			if !yield(value, err) {
				return
			}
		}
	}
}

func (r *Reader[T]) convert(line []byte) (T, error) {
	var none T
	if err := r.row.split(line); err != nil {
		return none, r.at(err)
	}
	if n := len(r.row.fields); n != r.row.width {
		return none, r.at(fmt.Errorf("%d fields, and the header has %d", n, r.row.width))
	}
	r.row.err = nil
	if r.parse(&r.row, &r.value); r.row.err != nil {
		return none, r.at(r.row.err)
	}
	return r.value, nil
}

func (r *Reader[T]) at(err error) error {
	return &LineError{File: r.file.Name(), Line: r.lines.number, Err: err}
}

// Cut says whether the last line had no end. It is known when All has come to the end.
func (r *Reader[T]) Cut() bool { return r.cut }

// Offset and Size are the bytes of the file that have been read, and all there are.
func (r *Reader[T]) Offset() int64 { return r.lines.offset }

// Size is the file's length in bytes when it was opened.
func (r *Reader[T]) Size() int64 { return r.size }

// Close closes the file.
func (r *Reader[T]) Close() error { return r.file.Close() }

var (
	errCut     = errors.New("the last line has no end")
	errTooLong = fmt.Errorf("the line is longer than %d bytes", longestLine)
)

// lines reads lines of a bounded length.
type lines struct {
	in     *bufio.Reader
	number int
	offset int64
}

// next answers a line without its end. It is valid until the next call.
func (l *lines) next() ([]byte, error) {
	line, err := l.in.ReadSlice('\n')
	l.offset += int64(len(line))
	l.number++
	if err == nil {
		return bytes.TrimSuffix(line[:len(line)-1], []byte("\r")), nil
	}
	long := false
	for err == bufio.ErrBufferFull {
		long = true
		line, err = l.in.ReadSlice('\n')
		l.offset += int64(len(line))
	}
	switch {
	case err == io.EOF && (long || len(line) > 0):
		return nil, errCut
	case err != nil:
		return nil, err
	}
	return nil, errTooLong
}
