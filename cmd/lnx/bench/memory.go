package bench

import (
	"errors"
	"fmt"

	"golnx/mr"
)

// buffers answers memory for a run: of Go's heap, or of huge pages (Params.Huge).
func (e *End) buffers(n, size int) [][]byte {
	all := make([][]byte, n)
	if !e.huge || n*size == 0 {
		for i := range all {
			all[i] = make([]byte, size)
		}
		return all
	}
	b, err := mr.AllocHuge(n * size)
	if err == nil && b.Pages() == mr.Plain {
		err = errors.Join(errors.New("the system has none"), b.Free())
	}
	if err != nil { // freeMemory tells
		e.noHuge = fmt.Errorf("--huge: %w", err)
		e.huge = false
		return e.buffers(n, size)
	}
	e.held = append(e.held, b)
	mem := b.Bytes()
	clear(mem) // no page is met for the first time while the clock runs
	for i := range all {
		all[i] = mem[i*size : (i+1)*size : (i+1)*size]
	}
	return all
}

// freeMemory gives the huge pages of a run back, and answers whether it had them.
func (e *End) freeMemory() error {
	err := e.noHuge
	for _, b := range e.held {
		err = errors.Join(err, b.Free())
	}
	e.held, e.noHuge = nil, nil
	return err
}
