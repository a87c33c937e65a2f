package flags

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// File is what one process recorded.
type File struct {
	Path string
	Header
	Records []Record
	// Cut says that the last line had no end, as of a process that was killed. It is
	// not among the records.
	Cut bool
}

// fileName is that of the n-th process of a rank, from 1.
func fileName(rank, n int) string {
	if n == 1 {
		return fmt.Sprintf("flags_rank%d.jsonl", rank)
	}
	return fmt.Sprintf("flags_rank%d_%d.jsonl", rank, n)
}

// parseName reads what fileName answers.
func parseName(name string) (rank, n int, ok bool) {
	middle, ok := strings.CutPrefix(name, "flags_rank")
	middle, ok2 := strings.CutSuffix(middle, ".jsonl")
	first, second, several := strings.Cut(middle, "_")
	if !several {
		second = "1"
	}
	rank, err := strconv.Atoi(first)
	n, err2 := strconv.Atoi(second)
	return rank, n, ok && ok2 && err == nil && err2 == nil && rank >= 0 && fileName(rank, n) == name
}

// ReadDir reads the files of all ranks, in their order. A file with a bad line, or one
// that cannot be read, is in the error; what comes before in it is among the files, and
// so are the others. A directory without any is an error.
func ReadDir(dir string) ([]*File, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	type place struct{ rank, n int }
	var places []place
	for _, e := range entries {
		if rank, n, ok := parseName(e.Name()); ok {
			places = append(places, place{rank, n})
		}
	}
	if len(places) == 0 {
		return nil, fmt.Errorf("%s has no flags_rank<N>.jsonl: record some with %s=%s", dir, dirKnob, dir)
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.n, b.n)) })
	var files []*File
	var errs []error
	for _, p := range places {
		f, err := ReadFile(filepath.Join(dir, fileName(p.rank, p.n)))
		if f != nil {
			files = append(files, f)
		}
		errs = append(errs, err)
	}
	return files, errors.Join(errs...)
}

// ReadFile reads one file. With an error about a line comes what stands before it.
func ReadFile(path string) (*File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parse(path, text)
}

func parse(path string, text []byte) (*File, error) {
	f := &File{Path: path}
	f.Rank, _, _ = parseName(filepath.Base(path)) // for a file without its header
	number := 0
	for line := range bytes.Lines(text) {
		number++
		if !bytes.HasSuffix(line, []byte("\n")) {
			f.Cut = true
			return f, nil
		}
		if err := f.add(number, line); err != nil {
			return f, fmt.Errorf("%s:%d: %w", path, number, err)
		}
	}
	f.Cut = number == 0
	return f, nil
}

func (f *File) add(number int, line []byte) error {
	if number > 1 {
		var rec Record
		if err := json.Unmarshal(line, &rec); err != nil {
			return fmt.Errorf("no record of a step: %w", err)
		}
		if rec.Step == "" {
			return errors.New("no record of a step: it does not say which")
		}
		f.Records = append(f.Records, rec)
		return nil
	}
	var h Header
	if err := json.Unmarshal(line, &h); err != nil {
		return fmt.Errorf("no header: %w", err)
	}
	if h.Format != FormatVersion {
		return fmt.Errorf("the file has format %d: this program reads format %d", h.Format, FormatVersion)
	}
	f.Header = h
	return nil
}
