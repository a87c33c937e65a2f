// Package pair brings the two ends of a test together: it starts this program
// once more as the other end, or meets it over TCP, and carries small messages
// between them.
//
// A connection begins with Preamble from both sides; then come frames: the length
// in four bytes, the most significant first, and that many bytes of JSON, a
// [Message]. What arrives is not trusted: lengths are bounded by MaxFrame, and
// whatever has begun to arrive must be there within the channel's time limit.
package pair
