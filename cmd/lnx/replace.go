package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// replace lets write make a file at a path where there is none, and puts it in the
// place of the one that is wanted when it is whole. What is there and is no file, as a
// device or a directory, is left alone, which is an error.
func replace(a *app, path string, write func(path string) error) error {
	path, there, err := destination(path)
	switch {
	case err != nil:
		return err
	case there != nil && !there.Mode().IsRegular():
		return fmt.Errorf("write %s: it is no regular file: name one, or a new one", path)
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".lnx-trace-")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	// Against signals, too: the context ends the writing, and then this is run.
	defer os.RemoveAll(dir)
	draft := filepath.Join(dir, "draft")
	if err := write(draft); err != nil {
		return err
	}
	if err := a.ctx.Err(); err != nil {
		return err
	}
	return os.Rename(draft, path)
}

// destination follows links, and answers what is there; nil if that is nothing.
func destination(path string) (string, os.FileInfo, error) {
	there, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil, nil
	}
	if err != nil {
		return path, nil, fmt.Errorf("write: %w", err)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil { // not of a pipe in /proc
		path = real
	}
	return path, there, nil
}

// replaceFile is replace for what is written from beginning to end, which can go into a
// device or a pipe, too, as /dev/stdout.
func replaceFile(a *app, path string, write func(w io.Writer) error) error {
	fill := func(f *os.File) error {
		w := bufio.NewWriterSize(f, 1<<16)
		err := write(w)
		return errors.Join(err, w.Flush(), f.Close())
	}
	if there, err := os.Stat(path); err == nil && !there.Mode().IsRegular() && !there.IsDir() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return fill(f)
	}
	return replace(a, path, func(draft string) error {
		f, err := os.Create(draft)
		if err != nil {
			return err
		}
		return fill(f)
	})
}
