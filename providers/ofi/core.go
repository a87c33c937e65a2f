package ofi

/*
#include <stdlib.h>
#include "shim.h"
#include "signals.h"
#include "atomic.h"

*/
import "C"

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"unsafe"

	"golnx/providers"
	"golnx/providers/fierr"
)

// Options size a Core. Zero values mean the defaults that are named.
type Options struct {
	MaxRx  int // receive entries, posted and unexpected together; 2,097,152
	MaxTx  int // sends under way; 65,536
	CQSize int // entries asked of each provider's CQ; 1,024
	AVSize int // peers expected; 64
	// Direct opens the only rail without the owner's queues (see
	// [providers.Matcher]); its info comes from [DirectHints].
	Direct bool
	// OpenCQ is called in place of the opening of a rail's CQ, which it does with a
	// size; nil opens it with CQSize.
	OpenCQ func(rail, size int, open func(size int) error) error
	// Setup is called for each rail's endpoint before it is enabled; it may be nil.
	Setup func(rail int, ep *Endpoint) error
}

func (o Options) withDefaults() Options {
	set := func(v *int, def int) {
		if *v == 0 {
			*v = def
		}
	}
	set(&o.MaxRx, 1<<21)
	set(&o.MaxTx, 1<<16)
	set(&o.CQSize, 1024)
	set(&o.AVSize, 64)
	if o.OpenCQ == nil {
		o.OpenCQ = func(_, size int, open func(int) error) error { return open(size) }
	}
	return o
}

// signals is held while the process's signal actions may be libfabric's.
var signals sync.Mutex

// slackChunks is how far the slab of receive entries may grow beyond MaxRx for
// messages that arrive before their owner stops driving the rails.
const slackChunks = 4096

const chunk = C.GX_CHUNK

// Both sides have to agree.
var (
	_ [providers.SmallRecv]byte  = [C.GX_SMALL]byte{}
	_ [providers.ColdRounds]byte = [C.GX_COLD]byte{}
	_ [providers.LaneSize]byte   = [C.GX_LANE]byte{}
	_ [providers.BatchSize]byte  = [C.GX_BATCH]byte{}
)

// Core implements [providers.Core] over libfabric.
type Core struct {
	c     *C.struct_gx_core
	id    uint32
	owner providers.Owner
	rails []*rail
	infos []providers.Info
	opts  Options

	rx, tx         []unsafe.Pointer // chunks
	freeRx, freeTx []providers.Slot
	usedRx         int
	atomic         *C.struct_gx_atomic // scratch; nil before the first atomic
}

var (
	_ providers.Core     = (*Core)(nil)
	_ providers.Prober   = (*Core)(nil)
	_ providers.Laner    = (*Core)(nil)
	_ providers.Fetcher  = (*Core)(nil)
	_ providers.Batcher  = (*Core)(nil)
	_ providers.Injector = (*Core)(nil)
	_ providers.Matcher  = (*Core)(nil)
)

// Open opens one rail per info, in that order, or nothing. The owner is called
// back from the Core's own methods.
func Open(infos []*Info, owner providers.Owner, opts Options) (*Core, error) {
	if err := Load(); err != nil {
		return nil, err
	}
	if opts.Direct && len(infos) != 1 {
		return nil, fmt.Errorf("%d rails asked for: direct mode has exactly one", len(infos))
	}
	if len(infos) == 0 || len(infos) > providers.MaxRails {
		return nil, fmt.Errorf("%d rails asked for: 1 to %d are possible", len(infos), providers.MaxRails)
	}
	c := &Core{owner: owner, opts: opts.withDefaults()}
	id, ok := registerCore(c)
	if !ok {
		return nil, fmt.Errorf("%d endpoints are open in this process, the most that are possible", maxCores)
	}
	c.id = id
	if err := c.allocate(); err != nil {
		unregisterCore(id)
		return nil, err
	}
	signals.Lock() // one Open's handlers must not pass for the actions before another
	defer signals.Unlock()
	var saved C.struct_gx_signals
	C.gx_signals_save(&saved)
	defer C.gx_signals_restore(&saved)
	for _, info := range infos {
		r, err := openRail(c.c, info, c.opts)
		c.rails = append(c.rails, r)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("rail %s: %w", info.Name(), err), c.Close())
		}
		c.infos = append(c.infos, info.Info)
	}
	return c, nil
}

// allocate makes the part that lies in C.
func (c *Core) allocate() error {
	rxChunks := (c.opts.MaxRx + chunk - 1) / chunk
	txChunks := (c.opts.MaxTx + chunk - 1) / chunk
	c.c = C.gx_core_new(C.uint32_t(c.id), C.uint32_t(rxChunks+slackChunks), C.uint32_t(txChunks))
	if c.c == nil {
		return fail("calloc", -int(fierr.ENoMem), "endpoint")
	}
	c.c.index.seed = [2]C.uint64_t{C.uint64_t(rand.Uint64()), C.uint64_t(rand.Uint64())}
	return nil
}

// Close closes the rails, newest first, and frees all memory. Closing twice
// does nothing. Should a rail's endpoint refuse, the others are closed all the
// same, and the memory that it may still refer to is kept.
func (c *Core) Close() error {
	if c.c == nil {
		return nil
	}
	c.c.closing = true
	C.free(unsafe.Pointer(c.atomic))
	c.atomic = nil
	var errs []error
	kept := false
	for _, r := range slices.Backward(c.rails) {
		errs = append(errs, r.close())
		kept = kept || r.c != nil
	}
	if !kept {
		C.gx_core_free(c.c)
		unregisterCore(c.id)
	}
	c.c = nil
	c.rails, c.rx, c.tx, c.freeRx, c.freeTx = nil, nil, nil, nil, nil
	return errors.Join(errs...)
}

// Rails implements [providers.Core].
func (c *Core) Rails() []providers.Info { return c.infos }

// Name implements [providers.Core].
func (c *Core) Name(rail int) ([]byte, error) { return c.rails[rail].ep.Name() }

// Insert implements [providers.Core].
func (c *Core) Insert(rail int, addr []byte) (uint64, error) { return c.rails[rail].av.Insert(addr) }

// Remove implements [providers.Core].
func (c *Core) Remove(rail int, addr uint64) error { return c.rails[rail].av.Remove(addr) }

// handle passes C memory to C as a number.
func handle(p unsafe.Pointer) C.uintptr_t { return C.uintptr_t(uintptr(p)) }

func (c *Core) rxAt(slot providers.Slot) *C.struct_gx_rx {
	return (*C.struct_gx_rx)(unsafe.Add(c.rx[slot/chunk], uintptr(slot%chunk)*unsafe.Sizeof(C.struct_gx_rx{})))
}

func (c *Core) txAt(slot providers.Slot) *C.struct_gx_tx {
	return (*C.struct_gx_tx)(unsafe.Add(c.tx[slot/chunk], uintptr(slot%chunk)*unsafe.Sizeof(C.struct_gx_tx{})))
}

// AllocTx implements [providers.Core].
func (c *Core) AllocTx() (providers.Slot, error) {
	if len(c.freeTx) == 0 {
		if ret := int(C.gx_grow_tx(c.c)); ret != 0 {
			return 0, hot("AllocTx", ret)
		}
		c.tx = append(c.tx, unsafe.Pointer(unsafe.Slice(c.c.tx, c.c.tx_chunks)[len(c.tx)]))
		c.freeTx = appendChunk(c.freeTx, len(c.tx)-1)
	}
	slot := c.freeTx[len(c.freeTx)-1]
	c.freeTx = c.freeTx[:len(c.freeTx)-1]
	return slot, nil
}

// FreeTx implements [providers.Core].
func (c *Core) FreeTx(slot providers.Slot) {
	c.txAt(slot).hdr.gen++
	c.freeTx = append(c.freeTx, slot)
}

// AllocRx implements [providers.Core].
func (c *Core) AllocRx(overLimit bool) (providers.Slot, error) {
	if c.usedRx >= c.opts.MaxRx && !overLimit {
		return 0, fierr.Again
	}
	if len(c.freeRx) == 0 {
		if ret := int(C.gx_grow_rx(c.c)); ret != 0 {
			return 0, hot("AllocRx", ret)
		}
		c.rx = append(c.rx, unsafe.Pointer(unsafe.Slice(c.c.rx, c.c.rx_chunks)[len(c.rx)]))
		c.freeRx = appendChunk(c.freeRx, len(c.rx)-1)
	}
	slot := c.freeRx[len(c.freeRx)-1]
	c.freeRx = c.freeRx[:len(c.freeRx)-1]
	c.usedRx++
	return slot, nil
}

// appendChunk adds a new chunk's slots so that the lowest is taken first.
func appendChunk(free []providers.Slot, n int) []providers.Slot {
	for i := chunk - 1; i >= 0; i-- {
		free = append(free, providers.Slot(n*chunk+i))
	}
	return free
}

// ReleaseRx implements [providers.Core].
func (c *Core) ReleaseRx(slot providers.Slot) {
	rx := c.rxAt(slot)
	if rx.entry.srx != nil && rx.hdr.state&C.GX_RELEASED == 0 {
		// the provider still refers to it; free_entry lists it when it stops
		rx.hdr.state |= C.GX_DRAINED
		return
	}
	c.recycleRx(slot, rx)
}

func (c *Core) recycleRx(slot providers.Slot, rx *C.struct_gx_rx) {
	if rx.fetched {
		C.gx_unfetch(handle(unsafe.Pointer(rx)))
	}
	rx.entry.srx = nil
	rx.hdr.state = 0
	rx.hdr.gen++
	c.usedRx--
	c.freeRx = append(c.freeRx, slot)
}

// reclaim takes back the entries that providers let go of after Go had.
func (c *Core) reclaim() {
	for c.c.freed != 0 {
		slot := providers.Slot(c.c.freed - 1)
		rx := c.rxAt(slot)
		c.c.freed = rx.next_free
		c.recycleRx(slot, rx)
	}
}

// iovec is C's struct iovec with an integer for the address: Go must not
// store pointers of its own in C memory, pinned or not, without hiding them
// from the write barrier.
type iovec struct{ base, len uintptr }

// SetBuffers implements [providers.Core].
func (c *Core) SetBuffers(slot providers.Slot, iov []providers.IOVec) {
	rx := c.rxAt(slot)
	dst := (*[providers.MaxIOV]iovec)(unsafe.Pointer(&rx.iov))
	total := uintptr(0)
	for i, b := range iov {
		dst[i] = iovec{uintptr(b.Base), b.Len}
		rx.desc[i] = nil
		total += b.Len
	}
	if len(iov) == 0 {
		dst[0] = iovec{} // providers read the first address for the completion
	}
	rx.entry.count = C.size_t(len(iov))
	rx.posted = C.uint64_t(total)
}

// SetSmall implements [providers.Core].
func (c *Core) SetSmall(slot providers.Slot, size int) {
	rx := c.rxAt(slot)
	(*[providers.MaxIOV]iovec)(unsafe.Pointer(&rx.iov))[0] = iovec{uintptr(unsafe.Pointer(&rx.small)), uintptr(size)}
	rx.desc[0] = nil
	rx.entry.count = 1
	rx.posted = C.uint64_t(size)
}

// Small implements [providers.Core].
func (c *Core) Small(slot providers.Slot) []byte {
	return (*[providers.SmallRecv]byte)(unsafe.Pointer(&c.rxAt(slot).small))[:]
}

// Unexpected implements [providers.Core].
func (c *Core) Unexpected(slot providers.Slot) providers.Message {
	rx := c.rxAt(slot)
	return providers.Message{
		Size:  uint64(rx.entry.msg_size),
		Tag:   uint64(rx.entry.tag),
		Data:  uint64(rx.entry.cq_data),
		Flags: uint64(rx.entry.flags),
		Src:   uint64(rx.entry.addr),
		Rail:  int(rx.rail),
	}
}

// Start implements [providers.Core].
func (c *Core) Start(slot providers.Slot) error {
	return hot("start_tag", int(C.gx_start(handle(unsafe.Pointer(c.rxAt(slot))))))
}

// Fetch implements [providers.Fetcher].
func (c *Core) Fetch(slot providers.Slot) error {
	rx := c.rxAt(slot)
	if rx.fetched {
		return nil
	}
	return hot("start_tag", int(C.gx_fetch(handle(unsafe.Pointer(rx)))))
}

// Fetched implements [providers.Fetcher].
func (c *Core) Fetched(slot providers.Slot) []byte {
	rx := c.rxAt(slot)
	return unsafe.Slice((*byte)(unsafe.Pointer(rx.spill)), int(rx.spill_len))
}

// Deliver implements [providers.Fetcher].
func (c *Core) Deliver(slot providers.Slot, n int) {
	C.gx_deliver(handle(unsafe.Pointer(c.rxAt(slot))), C.uint64_t(n))
}

// Whose implements [providers.Core].
func (c *Core) Whose(slot providers.Slot) uint64 {
	rx := c.rxAt(slot)
	return uint64(C.gx_whose(c.rails[rx.rail].c, rx))
}

// Send implements [providers.Core]. The buffers go to C as integers: what C keeps is
// pinned, the rest op keeps alive, and cgo would otherwise look for pointers in the
// whole object that a buffer is a part of.
func (c *Core) Send(rail int, op *providers.SendOp) error {
	r, tx := handle(unsafe.Pointer(c.rails[rail].c)), handle(unsafe.Pointer(c.txAt(op.Slot)))
	dest, tag, data, flags := C.uint64_t(op.Dest), C.uint64_t(op.Tag), C.uint64_t(op.Data), C.uint64_t(op.Flags)
	if op.Flags&providers.FlagMsg != 0 {
		return c.sendMsg(r, tx, op)
	}
	if op.Count == 1 {
		return hot("fi_tsend", int(C.gx_send(r, handle(op.IOV[0].Base), C.size_t(op.IOV[0].Len), dest, tag, data, flags, tx)))
	}
	c.scatter(op)
	return hot("fi_tsendmsg", int(C.gx_sendv(r, C.size_t(op.Count), dest, tag, data, flags, tx)))
}

// Inject implements [providers.Injector].
func (c *Core) Inject(rail int, op *providers.SendOp) error {
	r := handle(unsafe.Pointer(c.rails[rail].c))
	return hot("fi_tinject", int(C.gx_inject(r, handle(op.IOV[0].Base), C.size_t(op.IOV[0].Len),
		C.uint64_t(op.Dest), C.uint64_t(op.Tag), C.uint64_t(op.Data), C.bool(op.Flags&providers.FlagRemoteCQData != 0))))
}

// Stage implements [providers.Batcher].
func (c *Core) Stage(i int, op *providers.SendOp) {
	tx := uintptr(0)
	if op.Slot != providers.NoSlot {
		tx = uintptr(unsafe.Pointer(c.txAt(op.Slot)))
	}
	c.c.staged[i] = C.struct_gx_staged{
		buf: C.uint64_t(uintptr(op.IOV[0].Base)), len: C.uint64_t(op.IOV[0].Len),
		dest: C.uint64_t(op.Dest), tag: C.uint64_t(op.Tag), data: C.uint64_t(op.Data), flags: C.uint64_t(op.Flags),
		tx: C.uint64_t(tx),
	}
}

// SendStaged implements [providers.Batcher].
func (c *Core) SendStaged(rail, n int) (int, error) {
	taken := int(C.gx_send_staged(handle(unsafe.Pointer(c.rails[rail].c)), C.uint32_t(n)))
	if taken == n {
		return n, nil
	}
	return taken, hot("fi_tsend", int(c.c.refused))
}

// Lane implements [providers.Laner].
func (c *Core) Lane() *providers.Lane { return (*providers.Lane)(unsafe.Pointer(&c.c.lane)) }

// MapPeer implements [providers.Laner].
func (c *Core) MapPeer(rail int, addr, peer uint64) error {
	if ret := int(C.gx_map_peer(c.rails[rail].c, C.uint64_t(addr), C.uint64_t(peer))); ret != 0 {
		return fail("MapPeer", ret, "address %d of rail %d", addr, rail)
	}
	return nil
}

// scatter leaves the buffers of op where gx_sendv takes them.
func (c *Core) scatter(op *providers.SendOp) {
	dst := (*[providers.MaxIOV]iovec)(unsafe.Pointer(&c.c.iov))
	for i := range op.Count {
		dst[i] = iovec{uintptr(op.IOV[i].Base), op.IOV[i].Len}
	}
}

// Progress implements [providers.Core].
func (c *Core) Progress(rails uint64) int {
	n := int(C.gx_progress(handle(unsafe.Pointer(c.c)), C.uint64_t(rails)))
	if c.c.freed != 0 {
		c.reclaim()
	}
	return n
}

// Spin implements [providers.Core].
func (c *Core) Spin(hotRails, all uint64, rounds int) int {
	n := int(C.gx_spin(handle(unsafe.Pointer(c.c)), C.uint64_t(hotRails), C.uint64_t(all), C.uint32_t(rounds)))
	if c.c.freed != 0 {
		c.reclaim()
	}
	return n
}

// Ready implements [providers.Core].
func (c *Core) Ready() []providers.Completion {
	n := c.c.tail - c.c.head
	if n == 0 {
		return nil
	}
	at := c.c.head & c.c.mask
	n = min(n, c.c.mask+1-at)
	ring := (*providers.Completion)(unsafe.Pointer(c.c.ring))
	return unsafe.Slice(ring, c.c.mask+1)[at : at+n]
}

// Consume implements [providers.Core].
func (c *Core) Consume(n int) {
	c.c.head += C.uint64_t(n)
	if c.c.head == c.c.tail { // the next one is where the processor's cache has it
		c.c.head, c.c.tail = 0, 0
	}
}

// WaitFDs implements [providers.Core].
func (c *Core) WaitFDs() (fds []int, without uint64) {
	for i, r := range c.rails {
		if r.cq.fd >= 0 {
			fds = append(fds, r.cq.fd)
		} else {
			without |= 1 << i
		}
	}
	return fds, without
}

// TryWait implements [providers.Core].
func (c *Core) TryWait() bool {
	for _, r := range c.rails {
		if r.cq.fd >= 0 && !trywait(r.fabric, r.cq) {
			return false
		}
	}
	return true
}
