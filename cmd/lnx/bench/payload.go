package bench

import (
	"bytes"
	"fmt"
	"math/rand/v2"
)

// The payload of a message is a piece of endlessly repeated random bytes, which
// begins at a place that its tag says. The number of bytes is a prime, so that
// neither the messages of a run nor the segments of one look alike.
var random = func() []byte {
	b := make([]byte, 65521)
	src := rand.NewPCG(1, 2)
	for i := range b {
		b[i] = byte(src.Uint64())
	}
	return b
}()

// place answers where the payload of a message begins.
func place(tag uint64) int { return int(tag * 0x9e3779b1 % uint64(len(random))) }

// fill writes the payload of a message.
func fill(buf []byte, tag uint64) {
	n := copy(buf, random[place(tag):])
	for n < len(buf) {
		n += copy(buf[n:], random)
	}
}

// verify compares a received payload with the one that fill writes.
func verify(buf []byte, tag uint64) error {
	want := random[place(tag):]
	for at := 0; at < len(buf); want = random {
		got := buf[at:min(len(buf), at+len(want))]
		if !bytes.Equal(got, want[:len(got)]) {
			return wrongByte(buf, at, want, tag)
		}
		at += len(got)
	}
	return nil
}

func wrongByte(buf []byte, at int, want []byte, tag uint64) error {
	i := 0
	for buf[at+i] == want[i] {
		i++
	}
	return fmt.Errorf("message %#x of %d bytes: byte %d is %#02x, %#02x was sent", tag, len(buf), at+i, buf[at+i], want[i])
}
