package sim

import (
	"fmt"
	"math/rand/v2"
	"sync"
)

// Options of a Fabric. The zero value is useful.
type Options struct {
	// Seed is what jitter is drawn from.
	Seed uint64
	// Auto moves the time to the next event when an endpoint is driven that
	// has nothing to do.
	Auto bool
}

// Fabric is a network in virtual time. It is safe for concurrent use; only with
// one goroutine is what happens always the same.
type Fabric struct {
	auto bool

	// mu guards all that two endpoints can touch. No foreign code runs under
	// it.
	mu     sync.Mutex
	now    int64
	seq    uint64 // numbers what happens
	events events
	byAddr map[string]*rail
	opened int // endpoints so far, which number the addresses
	jitter *rand.Rand
	free   []*message
	breach error
}

// New makes a fabric without endpoints at time 0.
func New(o Options) *Fabric {
	return &Fabric{auto: o.Auto, byAddr: map[string]*rail{}, jitter: rand.New(rand.NewPCG(o.Seed, 0))}
}

// Now is the virtual time in nanoseconds.
func (f *Fabric) Now() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

// Advance moves the time on by so many nanoseconds; what happens in between does
// so at its time. A negative ns moves nothing.
func (f *Fabric) Advance(ns int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runUntil(f.now + max(0, ns))
}

// Step moves the time to the next event and lets all happen that does at that
// time. It answers false if nothing is to come.
func (f *Fabric) Step() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.events) == 0 {
		return false
	}
	f.runUntil(f.events[0].at)
	return true
}

// Err is the first breach of the contract of providers.Core by an owner, nil if
// there was none.
func (f *Fabric) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.breach
}

func (f *Fabric) breached(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.breach == nil {
		f.breach = fmt.Errorf("sim: "+format, args...)
	}
}

// runUntil lets everything happen up to and at a time; f.mu is held.
func (f *Fabric) runUntil(t int64) {
	for len(f.events) > 0 && f.events[0].at <= t {
		e := f.events.pop()
		f.now = e.at
		switch e.kind {
		case departs:
			f.depart(e.m)
		case arrives:
			f.arrive(e.m)
		case goesDown:
			f.down(e.rail, e.loss)
		case comesUp:
			e.rail.up = !e.rail.closed
		}
	}
	f.now = t
}

// schedule adds an event, at once if its time has passed; f.mu is held.
func (f *Fabric) schedule(e event) {
	e.at, e.seq = max(e.at, f.now), f.next()
	f.events.push(e)
}

func (f *Fabric) next() uint64 {
	f.seq++
	return f.seq
}
