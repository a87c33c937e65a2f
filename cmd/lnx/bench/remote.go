package bench

import (
	"errors"
	"fmt"

	"golnx/lnx"
	"golnx/mr"
	"golnx/providers/fierr"
)

// remoteOp is an operation on the other end's memory.
type remoteOp struct {
	name string
	// minSize and maxSize are those of Test.
	minSize, maxSize int
	// offer fills the memory of an end; nil leaves it alone.
	offer func(t *remote)
	// start starts operation n of the run, with a slot.
	start func(t *remote, s *slot, n int) error
	// Params.Verify: before prepares the slot for operation n, after checks it when
	// the operation has ended, and seen checks what the other end's operations,
	// from first up to end, did to the memory of this end.
	before func(t *remote, s *slot, n int)
	after  func(t *remote, s *slot) error
	seen   func(t *remote, first, end int) error
}

// remote is one end of a test with operations on memory. Each end gives the other one
// room for a window of them; operation n has place n modulo the window.
type remote struct {
	*End
	p            Params
	op           *remoteOp
	mine, theirs uint64 // tags
	acts         bool   // starts operations
	suffers      bool   // the other end does
	mem          []byte
	region       *lnx.Region
	far          *lnx.RemoteMemory // the other end's
	out          []slot
	free         []*slot
	started      int
	checked      int    // operations, with Params.Verify
	fetched      []bool // which numbers fadd has, from checked on
	said, heard  slot
	met          int
}

// openRemote exchanges keys with the other end. After an error the session ends, and the
// endpoint lets go of everything.
func openRemote(e *End, p Params, op *remoteOp, leads bool) (*remote, error) {
	t := &remote{End: e, p: p, op: op, mine: tagLead, theirs: tagFollow, acts: true, suffers: true}
	if !leads {
		t.mine, t.theirs = tagFollow, tagLead
		t.acts = p.Both
	} else {
		t.suffers = p.Both
	}
	places := min(max(1, p.Window), p.total())
	t.out = e.newSlots(places, p.Size)
	for i := range t.out {
		fill(t.out[i].buf, t.mine)
		t.free = append(t.free, &t.out[i])
	}
	t.mem = e.buffers(1, places*p.Size)[0]
	if op.offer != nil {
		op.offer(t)
	}
	region, err := e.EP.Register(t.mem, mr.RemoteRead|mr.RemoteWrite)
	if err != nil {
		return nil, err
	}
	t.region = region
	key, err := region.RemoteKey()
	if err != nil {
		return nil, err
	}
	if !leads {
		if err := e.Ready(); err != nil {
			return nil, err
		}
	}
	if key, err = e.Swap(key); err != nil {
		return nil, err
	}
	if t.far, err = e.EP.Import(e.Peer, key); err != nil {
		return nil, err
	}
	if want := uint64(len(t.mem)); t.far.Len() != want {
		return nil, fmt.Errorf("the other end offers %d bytes of memory, %d are needed", t.far.Len(), want)
	}
	return t, nil
}

// close ends the test in good order: neither end takes its memory away before the other
// is done with it.
func (t *remote) close() error {
	if err := t.meet(); err != nil {
		return err
	}
	return errors.Join(t.far.Close(), t.region.Close())
}

// meet returns when the other end has come as far. No operation is under way.
func (t *remote) meet() error {
	t.patient = !t.acts
	defer func() { t.patient = false }()
	n := tagAck | uint64(t.met)
	t.met++
	if err := t.post(&t.heard, t.theirs|n, 0); err != nil {
		return err
	}
	if err := t.send(&t.said, t.mine|n); err != nil {
		return err
	}
	if err := t.settle(&t.heard); err != nil {
		return err
	}
	return t.settle(&t.said)
}

// place is where operation n has its bytes.
func (t *remote) place(n int) int { return n % len(t.out) * t.p.Size }

// begin starts the next operation, waiting while the rail takes none, as End.send does.
func (t *remote) begin(s *slot) error {
	n := t.started
	t.started++
	s.n = n
	if t.p.Verify && t.op.before != nil {
		t.op.before(t, s, n)
	}
	for {
		err := t.op.start(t, s, n)
		if err == nil {
			s.busy++
			t.idle = 0
			return t.tell(t.started)
		}
		if err == fierr.Again {
			err = t.rest()
		}
		if err != nil {
			return err
		}
	}
}

// listen looks for operations that have ended.
func (t *remote) listen() error {
	done, err := t.read()
	if err != nil {
		return err
	}
	for i := range done {
		s := done[i].Context.(*slot)
		if t.p.Verify && t.op.after != nil {
			if err := t.op.after(t, s); err != nil {
				return err
			}
		}
		t.free = append(t.free, s)
	}
	return nil
}

// next takes a free slot.
func (t *remote) next() *slot {
	s := t.free[len(t.free)-1]
	t.free = t.free[:len(t.free)-1]
	return s
}

// idleNow says whether no operation is under way.
func (t *remote) idleNow() bool { return len(t.free) == len(t.out) }

// expect waits until memory of this end has what it should: some rails say that a write
// is over when its buffer can be used again.
func (t *remote) expect(check func() error) error {
	for {
		wrong := check()
		if wrong == nil {
			t.idle = 0
			return nil
		}
		if _, err := t.read(); err != nil {
			return fmt.Errorf("%w; %w", wrong, err)
		}
	}
}
