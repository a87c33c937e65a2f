package fault

import (
	"fmt"
	"iter"
	"sync/atomic"

	"golnx/providers/fierr"
)

// Op is a kind of operation that can fail.
type Op string

// The operations. All but the last three are methods, of providers.Core or Prober where
// nothing else is said.
const (
	Name    Op = "Name"
	Insert  Op = "Insert"
	Remove  Op = "Remove"
	AllocTx Op = "AllocTx"
	Send    Op = "Send"
	Probe   Op = "Probe"
	AllocRx Op = "AllocRx"
	Start   Op = "Start"
	Close   Op = "Close"

	RMA      Op = "RMA"      // of providers.RMAer
	Atomic   Op = "Atomic"   // of providers.AtomicCore
	Register Op = "Register" // of mr.Registrar

	Open     Op = "Open"     // of a Core, if its opener asks Plan.Fail
	Transmit Op = "Transmit" // the completion of a send, or of an operation on a peer's memory
	Receive  Op = "Receive"  // the completion of a receive
)

// Plan says which operation fails. It is safe for concurrent use and must not be
// copied; its fields are not changed after the first call.
type Plan struct {
	// Op is the kind of operations that are counted; empty counts all.
	Op Op
	// N says which one of them fails, 0 for the first. With a negative N
	// nothing does.
	N int64
	// Err is the error it fails with; EIO if 0.
	Err fierr.Errno
	// Late, if not 0, has a completion come late rather than fail, with those behind it:
	// so many calls of Core.Ready leave it out.
	Late int

	calls atomic.Int64
	fired atomic.Pointer[Op]
}

// Each answers plans that fail operation 0, 1, 2 and so on, of one kind or ("") of
// all, and ends after the first that was not used up: then the scenario has no
// further operation that could fail.
func Each(op Op, err fierr.Errno) iter.Seq[*Plan] {
	return func(yield func(*Plan) bool) {
		for n := int64(0); ; n++ {
			plan := &Plan{Op: op, N: n, Err: err}
			if !yield(plan) || !plan.Fired() {
				return
			}
		}
	}
}

// Fail counts an operation and answers the error that it is to fail with, or nil.
// The error is a preallocated fierr.Errno, as on the data path.
func (p *Plan) Fail(op Op) error {
	if !p.hit(op) {
		return nil
	}
	return p.err()
}

func (p *Plan) hit(op Op) bool {
	if p.Op != "" && p.Op != op || p.calls.Add(1)-1 != p.N {
		return false
	}
	p.fired.Store(&op)
	return true
}

func (p *Plan) err() fierr.Errno {
	if p.Err == 0 {
		return fierr.EIO
	}
	return p.Err
}

// Calls is how many operations were counted.
func (p *Plan) Calls() int64 { return p.calls.Load() }

// Fired says whether the failure has happened.
func (p *Plan) Fired() bool { return p.fired.Load() != nil }

// Where is the operation that failed, empty if none has.
func (p *Plan) Where() Op {
	if op := p.fired.Load(); op != nil {
		return *op
	}
	return ""
}

// String says what the plan does, and did.
func (p *Plan) String() string {
	op := p.Op
	if op == "" {
		op = "operation"
	}
	s := fmt.Sprintf("%s %d fails with %v", op, p.N, p.err())
	if p.Late > 0 {
		s = fmt.Sprintf("%s %d comes late by %d calls", op, p.N, p.Late)
	}
	if p.Fired() && p.Op == "" {
		return s + ": " + string(p.Where())
	}
	return s
}
