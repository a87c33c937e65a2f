package tuple

import "math/bits"

// Seed makes the hashes of one queue differ from another's, so that who does
// not know it cannot choose tags that collide.
type Seed [2]uint64

// NewSeed spreads a caller's number, any number, over a Seed.
func NewSeed(n uint64) Seed {
	var s Seed
	for i := range s {
		n += 0x9e3779b97f4a7c15
		z := n
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		s[i] = z ^ z>>31
	}
	return s
}

// hash mixes a key to 32 bits, all of them good: the highest choose a segment,
// the lowest a cell in it, and all are compared before an entry is looked at.
func (s *Seed) hash(tag, src uint64) uint32 {
	hi, lo := bits.Mul64(tag^s[0], src^s[1])
	x := (hi ^ lo ^ s[0]) * 0x9fb21c651e98df25
	return uint32(x>>32 ^ x)
}
