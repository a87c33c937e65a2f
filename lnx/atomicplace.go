package lnx

import (
	"runtime"
	"slices"
	"sync"

	"golnx/mr"
	"golnx/providers"
)

// placeAtomic sees to it that operands and results have a place that stays: the block if
// they are small, otherwise the caller's buffers.
func (ep *Endpoint) placeAtomic(r int, op *txOp, a *atomicArgs, fetch bool) (err error) {
	x, c := op.atomic, &ep.atomics.call
	x.release(ep)
	sides := [...]struct {
		to     *providers.AtomicBufs
		bufs   [][]byte
		access mr.Access
	}{{&c.Operands, a.operands, mr.Write}, {&c.Compare, a.compare, mr.Write}, {&c.Result, a.result, mr.Read}}
	for i := range sides {
		s := &sides[i]
		bufs, pin := s.bufs, true
		switch {
		case len(bufs) == 0 || len(bufs[0]) == 0:
			s.to.Count = 0
			continue
		case op.len <= smallAtomic:
			ep.atomics.one[i][0] = x.block[i][:op.len]
			if s.access == mr.Write {
				gather(x.block[i][:0], bufs)
			} else {
				x.results = append(x.results[:0], bufs...)
			}
			bufs, pin = ep.atomics.one[i][:], false // all blocks are
		case a.flags&FlagInject != 0:
			x.copied = gather(x.copied[:0], bufs)
			ep.atomics.one[i][0] = x.copied
			bufs = ep.atomics.one[i][:]
		}
		if err = ep.keepAtomic(r, x, s.to, bufs, s.access, pin); err != nil {
			return err
		}
	}
	if fetch { // into nothing
		x.sink = slices.Grow(x.sink[:0], int(op.len))
		ep.atomics.one[2][0] = x.sink[:op.len]
		if err = ep.keepAtomic(r, x, &c.Result, ep.atomics.one[2][:], mr.Read, true); err != nil {
			return err
		}
	}
	if a.op == AtomicRead { // its number of elements, and no address
		c.Operands.Count, c.Operands.IOV[0], c.Operands.Desc[0] = 1, providers.IOVec{Len: uintptr(op.len)}, 0
	}
	ep.atomics.one = [3][1][]byte{}
	return nil
}

// keepAtomic describes buffers that stay where they are until the operation has ended.
func (ep *Endpoint) keepAtomic(r int, x *atomicOp, to *providers.AtomicBufs, bufs [][]byte, access mr.Access, pin bool) error {
	to.Count = len(bufs)
	for i, b := range bufs {
		to.IOV[i], to.Desc[i] = iovOf(b), 0
		if ep.rma.local[r] {
			l, err := ep.rma.mem.AcquireLocked(r, b, access)
			if err != nil {
				return err // dropTx gives the others back
			}
			x.leases[x.nleases] = l
			x.nleases++
			to.Desc[i] = l.Desc
		}
		if pin {
			pinSlice(&x.pin, b)
		}
	}
	return nil
}

func gather(dst []byte, bufs [][]byte) []byte {
	for _, b := range bufs {
		dst = append(dst, b...)
	}
	return dst
}

// take answers an operation's own part, with a block.
func (s *atomicState) take() *atomicOp {
	if len(s.free) == 0 {
		blocks := new([blockChunk]atomicBlock)
		s.pin.Pin(blocks)
		s.made += blockChunk
		for i := range blocks {
			s.free = append(s.free, &atomicOp{block: &blocks[i]})
		}
	}
	x := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	return x
}

// deliver puts the results where the caller wants them.
func (x *atomicOp) deliver() {
	from := x.block[2][:]
	for _, b := range x.results {
		from = from[copy(b, from):]
	}
}

// release lets go of buffers, which the provider does not have (any more).
func (x *atomicOp) release(ep *Endpoint) {
	x.pin.Unpin()
	for _, l := range x.leases[:x.nleases] {
		ep.rma.mem.ReleaseLocked(l)
	}
	clear(x.leases[:x.nleases])
	clear(x.results)
	x.nleases, x.results = 0, x.results[:0]
}

// endAtomic ends an operation that its provider does not have (any more).
func (ep *Endpoint) endAtomic(op *txOp) {
	if op.atomic == nil {
		return
	}
	op.atomic.release(ep)
	ep.atomics.free = append(ep.atomics.free, op.atomic)
	op.atomic = nil
}

// abandoned is release when the endpoint closes.
func (s *atomicState) abandoned(x *atomicOp, unpin bool) {
	if unpin {
		x.pin.Unpin()
	} else {
		keptPins.keep(&x.pin)
	}
}

func (s *atomicState) close(unpin bool) {
	if unpin {
		s.pin.Unpin()
	} else {
		keptPins.keep(&s.pin)
	}
	s.free = nil
}

// keptPins are those of memory that a provider which could not be closed may refer to.
var keptPins pins

type pins struct {
	mu   sync.Mutex
	list []*runtime.Pinner
}

func (p *pins) keep(pin *runtime.Pinner) {
	p.mu.Lock()
	p.list = append(p.list, pin)
	p.mu.Unlock()
}
