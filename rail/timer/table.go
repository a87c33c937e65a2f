package timer

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// tableBuffer is how much of a table waits in memory, in bytes.
const tableBuffer = 64 << 10

// file is what a table needs of an *os.File.
type file interface {
	io.WriteCloser
	Truncate(size int64) error
}

// createFile makes an empty file.
func createFile(path string) (file, error) { return os.Create(path) }

// table is a CSV file that is written by one goroutine and never ends within a line.
type table struct {
	name  string
	file  file
	limit limit
	buf   []byte // lines that are not in the file yet
	rows  uint64 // in buf
	size  int64  // of the file
	ended bool
	// endedBy is told why the table takes no more rows.
	endedBy func(cause error)

	mu     sync.Mutex
	counts RowCounts // of what is in the file
}

// limit is a file's largest size; bytes are 0 for none.
type limit struct {
	bytes int64
	knob  string
	text  string
}

// limitError says that a file is full.
type limitError struct {
	name string
	limit
}

func (e *limitError) Error() string {
	return fmt.Sprintf("%s has reached %s=%s", e.name, e.knob, e.text)
}

// newTable makes a file with a header.
func newTable(create func(string) (file, error), path string, columns []string, l limit, endedBy func(error)) (*table, error) {
	f, err := create(path)
	if err != nil {
		return nil, err
	}
	header := strings.Join(columns, ",") + "\n"
	if _, err := io.WriteString(f, header); err != nil {
		f.Close()
		return nil, err
	}
	return &table{name: filepath.Base(path), file: f, limit: l, buf: make([]byte, 0, tableBuffer+longestLine), size: int64(len(header)), endedBy: endedBy}, nil
}

// add takes what append made of t.buf and one more line.
func (t *table) add(buf []byte) {
	switch {
	case t.ended:
		t.count(0, 1)
	case t.limit.bytes > 0 && t.size+int64(len(buf)) > t.limit.bytes:
		t.flush()
		t.count(0, 1)
		t.end(&limitError{t.name, t.limit})
	default:
		t.buf = buf
		t.rows++
		if len(t.buf) >= tableBuffer {
			t.flush()
		}
	}
}

// flush writes what waits. If that fails, the file keeps the whole lines that went in.
func (t *table) flush() {
	if len(t.buf) == 0 {
		return
	}
	n, err := t.file.Write(t.buf)
	rows := t.rows
	if err != nil {
		n = bytes.LastIndexByte(t.buf[:n], '\n') + 1
		rows = uint64(bytes.Count(t.buf[:n], []byte{'\n'}))
		if e := t.file.Truncate(t.size + int64(n)); e != nil {
			err = fmt.Errorf("%w; its last line may be cut: %w", err, e)
		}
	}
	t.count(rows, t.rows-rows)
	t.size += int64(n)
	t.buf, t.rows = t.buf[:0], 0
	if err != nil {
		t.end(err)
	}
}

// end takes no more rows.
func (t *table) end(cause error) {
	if t.ended {
		return
	}
	t.ended = true
	t.note(cause.Error())
	t.endedBy(cause)
}

// note says in the counts why there are no more rows.
func (t *table) note(why string) {
	t.mu.Lock()
	t.counts.Ended = why
	t.mu.Unlock()
}

func (t *table) count(recorded, dropped uint64) {
	t.mu.Lock()
	t.counts.Recorded += recorded
	t.counts.Dropped += dropped
	t.mu.Unlock()
}

// state answers the counts, from any goroutine. A table that is not kept has none.
func (t *table) state() RowCounts {
	if t == nil {
		return RowCounts{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counts
}
