package bench

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// Payloads are made of the run's seed and the message's tag, so that a message
// that is cut short, mixed up or delivered twice is noticed.

// fill writes the payload of a message.
func fill(buf []byte, seed, tag uint64) {
	var word [8]byte
	src := rand.NewPCG(seed, tag)
	for ; len(buf) >= len(word); buf = buf[len(word):] {
		binary.LittleEndian.PutUint64(buf, src.Uint64())
	}
	binary.LittleEndian.PutUint64(word[:], src.Uint64())
	copy(buf, word[:])
}

// verify compares a received payload with the one that fill writes.
func verify(buf []byte, seed, tag uint64) error {
	var word [8]byte
	src := rand.NewPCG(seed, tag)
	for at := 0; at < len(buf); at += len(word) {
		want := src.Uint64()
		rest := buf[at:]
		if len(rest) >= len(word) && binary.LittleEndian.Uint64(rest) == want {
			continue
		}
		binary.LittleEndian.PutUint64(word[:], want)
		for i := range min(len(rest), len(word)) {
			if rest[i] != word[i] {
				return fmt.Errorf("message %#x of %d bytes: byte %d is %#02x, %#02x was sent", tag, len(buf), at+i, rest[i], word[i])
			}
		}
	}
	return nil
}
