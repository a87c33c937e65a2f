package mr

import (
	"errors"
	"runtime"
)

// entry is one range of memory with what the rails have registered of it. It is pinned
// from its making to its end.
type entry struct {
	// What a hit touches stands together.
	refs         int    // of regions and operations
	older, newer *entry // in the list of idle entries
	regs         []railReg
	made         int // regs that hold a registration
	// private entries have one region each, and end with it; the others are cached.
	private bool
	indexed bool // can be found by address

	mem        Memory
	start, end uintptr
	access     Access
	pin        runtime.Pinner
}

// railReg is one rail's registration of an entry.
type railReg struct {
	reg   Registration // nil if there is none
	desc  uintptr
	key   uint64 // that this side chose
	ready bool   // false with a reg: one that failed and could not be closed
}

func newEntry(mem Memory, access Access, rails int) *entry {
	e := &entry{mem: mem, start: mem.start(), end: mem.end(), access: access, regs: make([]railReg, rails)}
	if mem.Base != nil {
		e.pin.Pin(mem.Base)
	}
	return e
}

// register has rail i register the memory, unless it has.
func (e *entry) register(i int, r *rail) error {
	reg := &e.regs[i]
	if reg.ready {
		return nil
	}
	if reg.reg != nil {
		if err := e.closeOn(i, r); err != nil {
			return err
		}
	}
	if err := r.supports(&e.mem); err != nil {
		return err
	}
	made, key, err := r.register(&Attr{Memory: e.mem, Access: e.access})
	if made != nil {
		*reg = railReg{reg: made, key: key}
		e.made++
	}
	if err != nil {
		return err
	}
	reg.desc, reg.ready = made.Desc(), true
	return nil
}

func (e *entry) closeOn(i int, r *rail) error {
	reg := &e.regs[i]
	reg.ready = false
	if err := reg.reg.Close(); err != nil {
		return railError(r, "close a registration", err)
	}
	r.keys.put(reg.key)
	*reg = railReg{}
	e.made--
	return nil
}

// close ends the registrations, and then the pin. What could not be closed is kept,
// pinned, for another try.
func (e *entry) close(rails []rail) error {
	var errs []error
	for i := range e.regs {
		if e.regs[i].reg != nil {
			errs = append(errs, e.closeOn(i, &rails[i]))
		}
	}
	if e.made == 0 {
		e.pin.Unpin()
		e.mem.Base = nil
	}
	return errors.Join(errs...)
}

// idleList has the entries that nobody uses, by when they became so.
type idleList struct{ oldest, newest *entry }

func (l *idleList) push(e *entry) {
	e.older, e.newer = l.newest, nil
	if l.newest != nil {
		l.newest.newer = e
	} else {
		l.oldest = e
	}
	l.newest = e
}

func (l *idleList) remove(e *entry) {
	if e.older != nil {
		e.older.newer = e.newer
	} else {
		l.oldest = e.newer
	}
	if e.newer != nil {
		e.newer.older = e.older
	} else {
		l.newest = e.older
	}
	e.older, e.newer = nil, nil
}
