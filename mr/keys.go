package mr

// keySpace chooses the keys of one domain where the provider does not. A key is taken
// again as late as possible, so that one which a peer still remembers stays unknown.
type keySpace struct {
	next, max uint64
	used      map[uint64]struct{}
}

// newKeySpace has keys of size bytes, 0 meaning 8, beginning at first.
func newKeySpace(size int, first uint64) keySpace {
	k := keySpace{max: KeyNotAvail - 1, used: map[uint64]struct{}{}}
	if size > 0 && size < 8 {
		k.max = 1<<(8*size) - 1
	}
	k.next = first % (k.max + 1)
	return k
}

// take answers a key that is not in use, or false if there is none.
func (k *keySpace) take() (uint64, bool) {
	if uint64(len(k.used)) > k.max {
		return 0, false
	}
	for {
		key := k.next
		if k.next++; key >= k.max {
			k.next = 0
		}
		if _, ok := k.used[key]; !ok {
			k.used[key] = struct{}{}
			return key, true
		}
	}
}

func (k *keySpace) put(key uint64) { delete(k.used, key) }
