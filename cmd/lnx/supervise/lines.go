package supervise

import (
	"bufio"
	"bytes"
	"io"
	"sync"
)

// maxLine is the longest line that is kept whole, in bytes; a longer one is cut into
// several. Without a limit a process that never ends its line would take all memory, or
// keep the others from writing.
const maxLine = 1 << 20

// Lines writes to one place what several processes write, line by line.
type Lines struct {
	w  io.Writer
	mu sync.Mutex
	wg sync.WaitGroup
	// err is the first error of writing. What comes after it is read and lost, so that
	// nobody waits for it.
	err error
}

// NewLines writes to w.
func NewLines(w io.Writer) *Lines { return &Lines{w: w} }

// Copy copies in the background, until r ends: whole lines, each with the label before it.
// A last line that has no end gets one.
func (l *Lines) Copy(r io.Reader, label string) {
	l.wg.Go(func() {
		s := bufio.NewScanner(r)
		s.Buffer(make([]byte, 64<<10), maxLine)
		s.Split(splitLines)
		var out []byte
		for s.Scan() {
			out = out[:0]
			for line := range bytes.Lines(s.Bytes()) {
				out = append(append(out, label...), line...)
			}
			if out[len(out)-1] != '\n' {
				out = append(out, '\n')
			}
			l.write(out)
		}
	})
}

func (l *Lines) write(lines []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.w.Write(lines); l.err == nil {
		l.err = err
	}
}

// Wait waits until everything was copied. It answers the first error of writing.
func (l *Lines) Wait() error {
	l.wg.Wait()
	return l.err
}

// splitLines cuts off as many whole lines as there are.
func splitLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if end := bytes.LastIndexByte(data, '\n') + 1; end > 0 {
		return end, data[:end], nil
	}
	if len(data) >= maxLine || atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}
