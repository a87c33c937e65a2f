package doorbell

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ErrUnavailable says that a doorbell cannot be made, or not be rung. The receiver
// has to be polled for, or has to poll, as if there were none.
var ErrUnavailable = errors.New("doorbell unavailable")

// The page, in the byte order of the host. State has a cache line of its own: the
// sequence number of the last Arm times two, plus asleep.
const (
	magic   = "golnxdbl"
	version = 1

	versionAt = 8  // uint32
	tokenAt   = 16 // uint64
	devAt     = 24 // uint64, st_dev of the pipe
	inoAt     = 32 // uint64, st_ino of the pipe
	headSize  = 40
	stateAt   = 64 // uint64

	asleep = 1
)

// memfdName is what proc_pid_fd(5) shows of a page, after "/memfd:".
const memfdName = "golnx-doorbell"

// seals (F_ADD_SEALS(2const)): a page keeps its size, so that reading it raises no
// SIGBUS, and nobody but those who map it already can write to it, nor punch a hole.
const (
	wantedSeals = unix.F_SEAL_SHRINK | unix.F_SEAL_FUTURE_WRITE
	seals       = wantedSeals | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
)

// header is what a page says besides the state.
type header struct {
	magic    string
	version  uint32
	token    uint64
	dev, ino uint64
}

func (h header) put(page []byte) {
	copy(page, h.magic)
	binary.NativeEndian.PutUint32(page[versionAt:], h.version)
	binary.NativeEndian.PutUint64(page[tokenAt:], h.token)
	binary.NativeEndian.PutUint64(page[devAt:], h.dev)
	binary.NativeEndian.PutUint64(page[inoAt:], h.ino)
}

func parseHeader(page []byte) header {
	return header{
		magic:   string(page[:len(magic)]),
		version: binary.NativeEndian.Uint32(page[versionAt:]),
		token:   binary.NativeEndian.Uint64(page[tokenAt:]),
		dev:     binary.NativeEndian.Uint64(page[devAt:]),
		ino:     binary.NativeEndian.Uint64(page[inoAt:]),
	}
}

func state(page []byte) *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Pointer(&page[stateAt])) }

// unavailable marks an error.
func unavailable(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// refuse is the error for something that is not what it should be.
func refuse(what string, found, want any) error {
	return fmt.Errorf("%w: %s is %v, want %v", ErrUnavailable, what, found, want)
}

// failed is the error for a call that did not succeed.
func failed(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %s: %w", ErrUnavailable, what, err)
}
