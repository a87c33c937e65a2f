package ofi

/*
#include "shim.h"
*/
import "C"

import (
	"iter"
	"unsafe"

	"golnx/providers"
)

// index implements [providers.Index]: see index.c.
type index struct{ core *Core }

// Index implements [providers.Laner].
func (c *Core) Index() providers.Index { return index{c} }

// Reserve implements [providers.Index].
func (x index) Reserve(slot providers.Slot) error {
	if unsafe.Slice(x.core.c.index.entries, x.core.c.max_rx_chunks)[slot/chunk] != nil {
		return nil
	}
	return hot("aligned_alloc", int(C.gx_index_grow(x.core.c, C.uint32_t(slot))))
}

func (x index) at(slot providers.Slot) *C.struct_gx_keyed {
	chunks := unsafe.Slice(x.core.c.index.entries, x.core.c.max_rx_chunks)
	return &unsafe.Slice(chunks[slot/chunk], chunk)[slot%chunk]
}

// Post implements [providers.Index].
func (x index) Post(slot providers.Slot, src, tag, ignore uint64) {
	C.gx_index_post(x.core.c, C.uint32_t(slot), C.uint64_t(src), C.uint64_t(tag), C.uint64_t(ignore))
}

// Cancel implements [providers.Index].
func (x index) Cancel(slot providers.Slot) bool {
	return bool(C.gx_index_cancel(x.core.c, C.uint32_t(slot)))
}

// match takes the oldest receive for a message, as get_tag does.
func (x index) match(src, tag uint64) (providers.Slot, bool) {
	link := C.gx_index_match(x.core.c, C.uint64_t(src), C.uint64_t(tag))
	return providers.Slot(link - 1), link != 0
}

// Len implements [providers.Index].
func (x index) Len() int { return int(x.core.c.index.count) }

// All implements [providers.Index].
func (x index) All() iter.Seq[providers.Slot] {
	return func(yield func(providers.Slot) bool) {
		for link := x.core.c.index.oldest; link != 0; {
			slot := providers.Slot(link - 1)
			link = x.at(slot).newer
			if !yield(slot) {
				return
			}
		}
	}
}

// Directed implements [providers.Index].
func (x index) Directed(src uint64) iter.Seq[providers.Slot] {
	return func(yield func(providers.Slot) bool) {
		for slot := range x.All() {
			if uint64(x.at(slot).src) == src && !yield(slot) {
				return
			}
		}
	}
}
