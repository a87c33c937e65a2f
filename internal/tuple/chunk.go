package tuple

const (
	chunkBits = 9
	chunkLen  = 1 << chunkBits
)

// Chunked is an array indexed by slot that grows by one chunk at a time: what
// is in it never moves, and chunks nobody asked for are never allocated.
type Chunked[T any] struct {
	chunks []*[chunkLen]T
}

// At answers the element of a slot that Grow was called for.
func (c *Chunked[T]) At(slot Slot) *T {
	return &c.chunks[slot>>chunkBits][slot%chunkLen]
}

// Lookup is At for a slot that may never have been seen: nil then.
func (c *Chunked[T]) Lookup(slot Slot) *T {
	i := int(slot >> chunkBits)
	if i >= len(c.chunks) || c.chunks[i] == nil {
		return nil
	}
	return &c.chunks[i][slot%chunkLen]
}

// Grow answers the element of any slot, making room for it first.
func (c *Chunked[T]) Grow(slot Slot) *T {
	i := int(slot >> chunkBits)
	if i >= len(c.chunks) || c.chunks[i] == nil {
		c.addChunk(i)
	}
	return &c.chunks[i][slot%chunkLen]
}

func (c *Chunked[T]) addChunk(i int) {
	if missing := i + 1 - len(c.chunks); missing > 0 {
		c.chunks = append(c.chunks, make([]*[chunkLen]T, missing)...)
	}
	c.chunks[i] = new([chunkLen]T)
}
