// Package mr has memory for messages. Registration with the rails of a link
// (fi_mr(3)) is not part of it yet.
package mr

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// ErrFreed says that a buffer was freed before.
var ErrFreed = errors.New("mr: buffer was freed before")

// Buffer is memory outside the Go heap: page-aligned, zeroed, never moved, and not
// looked at by the garbage collector, so that sending from it and receiving into it
// needs no pin. It is safe for concurrent use; its bytes are the caller's.
type Buffer struct {
	mu  sync.Mutex
	mem []byte // whole pages; nil once freed
	n   int
}

// Alloc makes a buffer of n bytes, at least one (mmap(2)). The caller has to Free it.
func Alloc(n int) (*Buffer, error) {
	if n <= 0 || n > maxSize {
		return nil, fmt.Errorf("mr: a buffer of %d bytes: 1 to %d are possible", n, maxSize)
	}
	page := os.Getpagesize()
	mem, err := unix.Mmap(-1, 0, (n+page-1)/page*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("mr: a buffer of %d bytes: %w", n, err)
	}
	return &Buffer{mem: mem, n: n}, nil
}

const maxSize = 1 << 46

// Bytes answers the memory, nil after Free. Whoever holds it must not use it after
// Free, and operations that use it must have ended by then.
func (b *Buffer) Bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mem == nil {
		return nil
	}
	return b.mem[:b.n:b.n]
}

// Free gives the memory back to the system. The second time is ErrFreed.
func (b *Buffer) Free() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mem == nil {
		return ErrFreed
	}
	mem := b.mem
	b.mem = nil
	return unix.Munmap(mem)
}
