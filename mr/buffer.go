package mr

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"golnx/providers/fierr"
)

// ErrFreed says that a buffer was freed before.
var ErrFreed = errors.New("mr: buffer was freed before")

// Buffer is memory outside the Go heap: page-aligned, zeroed, never moved, and not
// looked at by the garbage collector, so that sending from it and receiving into it
// needs no pin. It is safe for concurrent use; its bytes are the caller's.
type Buffer struct {
	freeing sync.Mutex // one Free at a time
	mu      sync.Mutex
	mem     []byte // what was mapped; nil once freed
	use     []byte // of it
	pages   Pages
}

// Pages says what pages a buffer has.
type Pages int

// The kinds of pages.
const (
	Plain       Pages = iota // of the system's usual size
	Transparent              // the kernel was advised to use huge ones (madvise(2))
	Huge                     // of 2 MiB, out of the system's pool (hugetlbfs)
)

func (p Pages) String() string {
	return [...]string{"plain pages", "transparent huge pages", "huge pages"}[p]
}

// Alloc makes a buffer of n bytes, at least one (mmap(2)). The caller has to Free it.
func Alloc(n int) (*Buffer, error) {
	if err := checkSize(n); err != nil {
		return nil, err
	}
	return allocPlain(n)
}

// AllocHuge is Alloc with huge pages, as far as there are any: of the pool if it has
// enough left, otherwise the kernel is advised to use them. Buffer.Pages says what it
// came to. The beginning is aligned to 2 MiB.
func AllocHuge(n int) (*Buffer, error) {
	if err := checkSize(n); err != nil {
		return nil, err
	}
	if b := allocPool(n); b != nil {
		return b, nil
	}
	return allocAdvised(n)
}

const maxSize = 1 << 46

func checkSize(n int) error {
	if n <= 0 || n > maxSize {
		return invalid("a buffer of %d bytes: 1 to %d are possible", n, maxSize)
	}
	return nil
}

func allocPlain(n int) (*Buffer, error) {
	mem, err := mmap(roundUp(n, os.Getpagesize()), 0)
	if err != nil {
		return nil, fmt.Errorf("mr: a buffer of %d bytes: %w", n, err)
	}
	return &Buffer{mem: mem, use: mem[:n:n]}, nil
}

func mmap(n, flags int) ([]byte, error) {
	mem, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|flags)
	if no, ok := err.(unix.Errno); ok {
		return nil, fierr.Errno(no)
	}
	return mem, err
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// Pages says what pages the buffer has.
func (b *Buffer) Pages() Pages { return b.pages }

// Bytes answers the memory, nil after Free. Whoever holds it must not use it after
// Free, and operations that use it must have ended by then.
func (b *Buffer) Bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.use
}

// Free gives the memory back to the system. What Managers have cached of it ends before.
// If a region or an operation still uses it, Free answers ErrBusy and nothing is freed.
// The second time is ErrFreed. It must not be called with a Manager's lock held.
func (b *Buffer) Free() error {
	b.freeing.Lock()
	defer b.freeing.Unlock()
	use := b.Bytes()
	if use == nil {
		return ErrFreed
	}
	if err := beforeFree(use); err != nil {
		return err
	}
	b.mu.Lock()
	mem := b.mem
	b.mem, b.use = nil, nil
	b.mu.Unlock()
	return unix.Munmap(mem)
}

// hooks are called before a buffer is freed.
var hooks struct {
	sync.Mutex
	list []*func([]byte) error
}

// OnFree has f called with the memory of every buffer that is about to be freed. An error
// keeps it from being freed, and is what Free answers. remove ends that. Managers look
// after themselves: this is for others that refer to memory by its address.
func OnFree(f func(mem []byte) error) (remove func()) {
	hook := &f
	hooks.Lock()
	defer hooks.Unlock()
	hooks.list = append(slices.Clip(hooks.list), hook)
	return func() {
		hooks.Lock()
		defer hooks.Unlock()
		hooks.list = slices.DeleteFunc(slices.Clone(hooks.list), func(h *func([]byte) error) bool { return h == hook })
	}
}

// beforeFree calls the hooks, without a lock of its own so that they may call anything.
func beforeFree(mem []byte) error {
	hooks.Lock()
	list := hooks.list
	hooks.Unlock()
	for _, f := range list {
		if err := (*f)(mem); err != nil {
			return fmt.Errorf("mr: free a buffer: %w", err)
		}
	}
	return nil
}
