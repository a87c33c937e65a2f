package livekeys

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"golnx/internal/peerfd"
)

// ErrUnavailable says that a table cannot be made or opened.
var ErrUnavailable = errors.New("table of live keys unavailable")

const (
	magic     = "golnxkey"
	memfdName = "golnx-keys"
	places    = 1 << 16
	headSize  = 64
	tableSize = headSize + places*int(unsafe.Sizeof(place{}))

	seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
)

// Memory is what a key is good for.
type Memory struct {
	Start, Len uint64 // as peers address it
	Access     uint64 // bits that the initiator's have to be among
}

func (m *Memory) covers(want *Memory) bool {
	off := want.Start - m.Start
	return want.Access&^m.Access == 0 && want.Start >= m.Start && off <= m.Len && want.Len <= m.Len-off
}

// place is where a key stands, and how many are about to use one that belongs here.
type place struct {
	key   atomic.Uint64 // 0 if there is none
	users atomic.Int64
	mem   Memory // changes while there is neither key nor user
	_     [24]byte
}

type mapping struct{ mem []byte }

// at answers the place of a key: keys that follow each other lie far apart.
func (m mapping) at(key uint64) *place {
	i := key * 0x9e3779b97f4a7c15 >> 48
	return (*place)(unsafe.Pointer(&m.mem[headSize+int(i)*int(unsafe.Sizeof(place{}))]))
}

// Table is the owner's side. Its methods are for one goroutine at a time.
type Table struct {
	mapping
	name Name
	good map[uint64]struct{}
}

// New makes a table that can be opened by whoever knows the token.
func New(token uint64) (*Table, error) {
	t := &Table{name: Name{PID: int32(os.Getpid()), FD: -1, Token: token}, good: map[uint64]struct{}{}}
	if err := t.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrUnavailable, err), t.Close())
	}
	return t, nil
}

func (t *Table) open() error {
	fd, mem, err := peerfd.NewMemory(memfdName, tableSize)
	if err != nil {
		return err
	}
	t.name.FD, t.mem = int32(fd), mem
	putHeader(t.mem, t.name.Token)
	return peerfd.Seal(fd, seals)
}

// Name says where the table is, for Open.
func (t *Table) Name() Name { return t.name }

// Add makes a key good for some memory. It answers false if the place is taken, as another key's or for
// good, or the key is 0; another one has to be tried then.
func (t *Table) Add(key uint64, mem Memory) bool {
	if t.mem == nil || key == 0 {
		return false
	}
	p := t.at(key)
	if p.users.Load() != 0 || p.key.Load() != 0 {
		return false
	}
	p.mem = mem
	p.key.Store(key)
	t.good[key] = struct{}{}
	return true
}

// Remove makes a key bad. A key that is not good is nothing.
func (t *Table) Remove(key uint64) {
	if _, ok := t.good[key]; ok {
		delete(t.good, key)
		t.at(key).key.Store(0)
	}
}

// InUse says, after Remove, whether anybody is between Enter and Leave with the key. (It
// may be another one with the same place.)
func (t *Table) InUse(key uint64) bool { return t.mem != nil && t.at(key).users.Load() != 0 }

// RemoveAll makes every key bad, and answers those that somebody is in with.
func (t *Table) RemoveAll() (inUse []uint64) {
	for key := range t.good {
		t.Remove(key)
		if t.InUse(key) {
			inUse = append(inUse, key)
		}
	}
	return inUse
}

// Close removes every key that is good, and gives the memory back. Closing twice does
// nothing.
func (t *Table) Close() error {
	var errs []error
	t.RemoveAll()
	if t.mem != nil {
		clear(t.mem[:headSize]) // nobody opens it any more
		errs = append(errs, unix.Munmap(t.mem))
		t.mem = nil
	}
	if t.name.FD >= 0 {
		errs = append(errs, unix.Close(int(t.name.FD)))
		t.name.FD = -1
	}
	return errors.Join(errs...)
}
