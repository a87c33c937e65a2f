package oracle

import "math/rand/v2"

// Choose answers a number in [0, n). A random program is one that asks it at
// every turn, so that the same program can be drawn by a seeded generator, by a
// property test that shrinks, or from a fuzzer's bytes.
type Choose func(n int) int

// Seeded chooses at random, the same for the same seed.
func Seeded(seed uint64) Choose {
	return rand.New(rand.NewPCG(seed, 0)).IntN
}

// Bytes chooses by two bytes at a time, and always 0 after the last; more says
// whether there are any left.
func Bytes(data []byte) (choose Choose, more func() bool) {
	choose = func(n int) int {
		if len(data) < 2 {
			data = nil
			return 0
		}
		v := int(data[0])<<8 | int(data[1])
		data = data[2:]
		return v % n
	}
	return choose, func() bool { return len(data) > 0 }
}

// Domain draws what a random program works with: few tags, sources and masks,
// so that matches, ties and wildcards abound, and a depth to steer for, on
// either side of where the queues change how they search.
type Domain struct {
	Choose Choose
	Slots  int // slots are below it
	Depth  int // what the queue's depth should tend to

	masks   int // how many masks are used now
	first   int // the first of them
	stretch int // steps until the next phase
}

const (
	tagBits = 6
	sources = 4
)

var depths = []int{0, 2, 30, 62, 66, 90, 300, 700}
var maskCounts = []int{1, 4, 12, 1 << tagBits}

// Step moves on by a step; now and then it changes the masks, and the depth every other time.
func (d *Domain) Step() {
	if d.stretch > 0 {
		d.stretch--
		return
	}
	if d.Choose(2) == 0 {
		d.Depth = depths[d.Choose(len(depths))]
	}
	d.masks = maskCounts[d.Choose(len(maskCounts))]
	d.first = d.Choose(1 << tagBits)
	d.stretch = 10 + d.Choose(2000)
}

// Grow says whether the next change should add to a queue of this length.
func (d *Domain) Grow(length int) bool {
	if length < d.Depth {
		return d.Choose(8) < 6
	}
	return d.Choose(8) < 2
}

// Tag draws a tag. Its bits are spread over the 64.
func (d *Domain) Tag() uint64 { return spread(d.Choose(1 << tagBits)) }

// Ignore draws an ignore mask: none in half of all cases.
func (d *Domain) Ignore() uint64 {
	if d.Choose(2) == 0 {
		return 0
	}
	return spread((d.first + d.Choose(d.masks)) % (1 << tagBits))
}

// Source draws a source or AnySource.
func (d *Domain) Source() uint64 {
	if s := d.Choose(sources + 1); s < sources {
		return uint64(s)
	}
	return AnySource
}

// Slot draws a slot.
func (d *Domain) Slot() uint32 { return uint32(d.Choose(d.Slots)) }

func spread(n int) uint64 {
	var v uint64
	for i, at := range [tagBits]int{0, 1, 17, 32, 47, 63} {
		v |= uint64(n>>i&1) << at
	}
	return v
}
