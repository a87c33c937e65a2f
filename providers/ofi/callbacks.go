package ofi

/*
#include <stdint.h>
*/
import "C"

import (
	"sync"
	"sync/atomic"

	"golnx/providers"
)

// C knows a core by a small number. Callbacks come while the core's progress
// lock is held, from the goroutine that called into C.
const maxCores = 4096

var (
	coresMu sync.Mutex
	cores   [maxCores]atomic.Pointer[Core]
)

func registerCore(c *Core) (uint32, bool) {
	coresMu.Lock()
	defer coresMu.Unlock()
	for i := range cores {
		if cores[i].Load() == nil {
			cores[i].Store(c)
			return uint32(i), true
		}
	}
	return 0, false
}

func unregisterCore(id uint32) { cores[id].Store(nil) }

// golnxMatch answers a slot, with the lowest bit set if a receive was posted.
//
//export golnxMatch
func golnxMatch(id, rail C.uint32_t, src, size, tag C.uint64_t) C.uint64_t {
	slot, posted := cores[id].Load().owner.Match(int(rail), uint64(src), uint64(size), uint64(tag))
	if posted {
		return C.uint64_t(slot)<<1 | 1
	}
	return C.uint64_t(slot) << 1
}

// golnxMatchMsg is golnxMatch for untagged messages.
//
//export golnxMatchMsg
func golnxMatchMsg(id, rail C.uint32_t, src, size C.uint64_t) C.uint64_t {
	slot, posted := cores[id].Load().owner.MatchMsg(int(rail), uint64(src), uint64(size))
	if posted {
		return C.uint64_t(slot)<<1 | 1
	}
	return C.uint64_t(slot) << 1
}

//export golnxDropped
func golnxDropped(id, slot C.uint32_t) {
	cores[id].Load().owner.Dropped(providers.Slot(slot))
}
