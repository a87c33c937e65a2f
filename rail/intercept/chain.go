package intercept

import (
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"golnx/providers/fierr"
)

// Base does what an operation does without hooks.
type Base struct {
	Send   func(*Send) error
	Recv   func(*Recv) error
	RMA    func(*RMA) error
	Atomic func(*Atomic) error
}

// Chain is the hooks of all consumers for one rail, composed once. An operation that
// nobody hooks is nil in it.
type Chain struct {
	Rail *Rail
	Send [NumOps]func(*Send) error
	Recv [NumOps]func(*Recv) error
	RMA  [NumOps]func(*RMA) error
	// Atomic are the atomic operations.
	Atomic [NumOps]func(*Atomic) error
	// Complete runs the Complete hooks for what this side starts, CompleteRecv for
	// receives, the last consumer's first. The error is that of a hook which panicked.
	Complete, CompleteRecv func(*Completion) error
}

// NewChain composes the hooks of a rail around what base does. A consumer that comes
// earlier in hooks sees a call before the others.
func NewChain(hooks []*Hooks, r *Rail, base Base) *Chain {
	c := &Chain{Rail: r}
	for op, o := range operations {
		switch {
		case o.send != nil:
			c.Send[op] = wrap(hooks, r, o.name, func(h *Hooks) hook[Send] { return hook[Send](o.send(h)) }, base.Send)
		case o.recv != nil:
			c.Recv[op] = wrap(hooks, r, o.name, func(h *Hooks) hook[Recv] { return hook[Recv](o.recv(h)) }, base.Recv)
		case o.atomic != nil:
			c.Atomic[op] = wrap(hooks, r, o.name, func(h *Hooks) hook[Atomic] { return hook[Atomic](o.atomic(h)) }, base.Atomic)
		default:
			c.RMA[op] = wrap(hooks, r, o.name, func(h *Hooks) hook[RMA] { return hook[RMA](o.rma(h)) }, base.RMA)
		}
	}
	for _, h := range hooks {
		if h.Complete == nil {
			continue
		}
		starts, receives := h.completes()
		if starts {
			c.Complete = c.completion(h, c.Complete)
		}
		if receives {
			c.CompleteRecv = c.completion(h, c.CompleteRecv)
		}
	}
	return c
}

// completes says of what Complete is told.
func (h *Hooks) completes() (starts, receives bool) {
	for _, o := range operations {
		starts = starts || o.send != nil && o.send(h) != nil || o.rma != nil && o.rma(h) != nil ||
			o.atomic != nil && o.atomic(h) != nil
		receives = receives || o.recv != nil && o.recv(h) != nil
	}
	all := !starts && !receives
	return starts || all, receives || all
}

// completion puts a consumer before those that were registered earlier.
func (c *Chain) completion(h *Hooks, earlier func(*Completion) error) func(*Completion) error {
	one := func(done *Completion) (err error) {
		defer caught(&err, h.Name, "complete")
		h.Complete(c.Rail, done)
		return nil
	}
	if earlier == nil {
		return one
	}
	return func(done *Completion) error {
		err := one(done)
		if e := earlier(done); err == nil {
			err = e
		}
		return err
	}
}

// Reads composes the CQRead or CQWait hooks of an endpoint; nil if there are none.
func Reads(hooks []*Hooks, e *Endpoint, name string, slot func(*Hooks) ReadFunc, base func([]Entry) (int, error)) func([]Entry) (int, error) {
	var fn func([]Entry) (int, error)
	for _, h := range slices.Backward(hooks) {
		f, next := slot(h), fn
		if f == nil {
			continue
		}
		if next == nil {
			next = base
		}
		fn = func(entries []Entry) (n int, err error) {
			r := readings.Get().(*reading)
			r.next, r.n = next, 0
			defer r.done(&n, &err, h.Name, name)
			return f(e, entries, r.call)
		}
	}
	return fn
}

// reading is a hook's call of next on its way. Entries that next has answered are gone
// from the queue: when the hook panics then, they are answered all the same.
type reading struct {
	next func([]Entry) (int, error)
	n    int
	call func([]Entry) (int, error)
}

var readings = sync.Pool{New: func() any {
	r := new(reading)
	r.call = func(entries []Entry) (n int, err error) {
		if r.next == nil {
			return 0, fmt.Errorf("next was called after its hook had returned: %w", fierr.EOpBadState)
		}
		n, err = r.next(entries)
		r.n = n
		return n, err
	}
	return r
}}

func (r *reading) done(n *int, err *error, consumer, op string) {
	if v := recover(); v != nil {
		*n, *err = r.n, &PanicError{consumer, op, v, debug.Stack()}
	}
	r.next = nil
	readings.Put(r)
}

// OpenCQ runs the CQOpen hooks of a rail around base.
func OpenCQ(hooks []*Hooks, r *Rail, c *CQOpen, base func(*CQOpen) error) error {
	return run(wrap(hooks, r, "cq_open", func(h *Hooks) hook[CQOpen] { return h.CQOpen }, base), base, c)
}

// Getinfo runs the GetInfo hooks around base.
func Getinfo(hooks []*Hooks, c *GetInfo, base func(*GetInfo) error) error {
	slot := func(h *Hooks) hook[GetInfo] {
		if h.GetInfo == nil {
			return nil
		}
		return func(_ *Rail, c *GetInfo, next func(*GetInfo) error) error { return h.GetInfo(c, next) }
	}
	return run(wrap(hooks, nil, "getinfo", slot, base), base, c)
}

func run[C any](chain, base func(*C) error, c *C) error {
	if chain == nil {
		return base(c)
	}
	return chain(c)
}

// Tell calls one of the lifecycle callbacks of every consumer. The error names those
// that panicked; the others are called all the same.
func Tell(hooks []*Hooks, what string, call func(*Hooks)) error {
	var first error
	for _, h := range hooks {
		err := func() (err error) {
			defer caught(&err, h.Name, what)
			call(h)
			return nil
		}()
		if first == nil {
			first = err
		}
	}
	return first
}

type hook[C any] func(r *Rail, c *C, next func(*C) error) error

// wrap puts the consumers' hooks of one operation around base; nil if nobody has one.
func wrap[C any](hooks []*Hooks, r *Rail, name string, slot func(*Hooks) hook[C], base func(*C) error) func(*C) error {
	var fn func(*C) error
	for _, h := range slices.Backward(hooks) {
		f, next := slot(h), fn
		if f == nil {
			continue
		}
		if next == nil {
			next = base
		}
		fn = func(c *C) (err error) {
			defer caught(&err, h.Name, name)
			return f(r, c, next)
		}
	}
	return fn
}

// PanicError is the error of a call whose hook panicked.
type PanicError struct {
	Consumer string // Hooks.Name
	Op       string // the operation, or the lifecycle callback
	Value    any    // of panic
	Stack    []byte
}

// Error names the consumer and the operation.
func (e *PanicError) Error() string {
	return fmt.Sprintf("hook %q of %s panicked: %v", e.Consumer, e.Op, e.Value)
}

// Unwrap makes it EOTHER, and the error that panic was called with, if it was one.
func (e *PanicError) Unwrap() []error {
	if err, ok := e.Value.(error); ok {
		return []error{fierr.EOther, err}
	}
	return []error{fierr.EOther}
}

func caught(err *error, consumer, op string) {
	if v := recover(); v != nil {
		*err = &PanicError{consumer, op, v, debug.Stack()}
	}
}
