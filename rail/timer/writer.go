package timer

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// writer is the goroutine that writes all files but the NICs' counters.
type writer struct {
	r         *Recorder
	lock      *os.File
	meta      *metaWriter
	endpoints *table
	ops       *table // nil in a rank that records none
	links     *table
	gaps      *table // nil if they are not recorded

	scratch []*endpoint
	tails   []uint64
}

func newWriter(r *Recorder) (*writer, error) {
	w := &writer{r: r}
	if err := w.open(); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// open makes the files. After an error those that were made are open.
func (w *writer) open() (err error) {
	r := w.r
	if err := w.claim(); err != nil {
		return err
	}
	if w.meta, err = newMetaWriter(metaFile.path(r.cfg.Dir, r.cfg.Rank)); err != nil {
		return err
	}
	none := limit{}
	mb := limit{r.cfg.OpsBytes, opsMBKnob, r.cfg.Knobs()[opsMBKnob]}
	if w.endpoints, err = r.table(endpointsFile, endpointColumns, none, r.opsEnded); err != nil {
		return err
	}
	if r.cfg.recordsOps() {
		if w.links, err = r.table(linksFile, linkColumns, none, r.opsEnded); err != nil {
			return err
		}
		if w.ops, err = r.table(opsFile, opColumns, mb, r.opsEnded); err != nil {
			return err
		}
	}
	if r.cfg.CQGap > 0 {
		w.gaps, err = r.table(cqGapsFile, cqGapColumns, mb, func(cause error) { r.ended(cause, "no more CQ gaps are recorded") })
	}
	return err
}

// claim makes sure that no other process writes the files of this rank, and removes
// those of an earlier run. Where the file system has no locks there is no check.
func (w *writer) claim() error {
	dir, rank := w.r.cfg.Dir, w.r.cfg.Rank
	path := endpointsFile.path(dir, rank)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	w.lock = f
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		return fmt.Errorf("%s is being written by another process or recorder: each process needs a rank of its own (RANK=0, RANK=1 …), each run a directory of its own (%s)", path, dirKnob)
	}
	for k := range fileFields {
		if k == endpointsFile {
			continue
		}
		if err := os.Remove(k.path(dir, rank)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// table makes one of the rank's files.
func (r *Recorder) table(k kind, columns []string, l limit, endedBy func(error)) (*table, error) {
	return newTable(r.env.create, k.path(r.cfg.Dir, r.cfg.Rank), columns, l, endedBy)
}

func (w *writer) run() {
	var ticks <-chan time.Time
	if w.r.env.Ticker != nil {
		var stop func()
		ticks, stop = w.r.env.Ticker(flushEvery)
		defer stop()
	}
	for {
		select {
		case <-w.r.wake:
			w.drain()
		case <-ticks:
			w.drain()
			w.flush()
			w.retire()
		case written := <-w.r.flushes:
			w.drain()
			w.flush()
			if err := w.meta.write(w.r.meta("")); err != nil {
				w.r.ended(err, "")
			}
			close(written)
		case <-w.r.stop:
			w.drain()
			w.flush()
			return
		}
	}
}

// drain takes what the endpoints have recorded. A link's row is there before the first
// record that names it, so it reads how far the records go first, and the rows after.
func (w *writer) drain() {
	r := w.r
	r.mu.Lock()
	w.scratch = append(w.scratch[:0], r.endpoints...)
	r.mu.Unlock()
	w.tails = w.tails[:0]
	for _, ep := range w.scratch {
		tail := uint64(0)
		if ep.timing != nil {
			tail = ep.ring.tail.Load()
		}
		w.tails = append(w.tails, tail)
	}
	r.mu.Lock()
	waiting := r.waiting
	r.waiting = rows{}
	r.mu.Unlock()
	w.write(&waiting)
	for i, ep := range w.scratch {
		if ep.timing != nil {
			ep.ring.take(w.tails[i], func(rec *record) { w.ops.add(appendOp(w.ops.buf, rec)) })
		}
	}
	clear(w.scratch)
}

func (w *writer) write(waiting *rows) {
	for i := range waiting.endpoints {
		w.endpoints.add(appendEndpoint(w.endpoints.buf, &waiting.endpoints[i]))
	}
	for i := range waiting.links {
		w.links.add(appendLink(w.links.buf, &waiting.links[i]))
	}
	for i := range waiting.gaps {
		w.gaps.add(appendCQGap(w.gaps.buf, &waiting.gaps[i]))
	}
	if len(waiting.links) > 0 {
		w.links.flush()
	}
	if w.ops != nil && w.r.broken() {
		w.ops.ended = true // what comes now may name links that are in no file
	}
}

func (w *writer) flush() {
	for _, t := range w.tables() {
		t.flush()
	}
}

// tables answers those that there are, the operations last.
func (w *writer) tables() []*table {
	return slices.DeleteFunc([]*table{w.endpoints, w.links, w.gaps, w.ops}, func(t *table) bool { return t == nil })
}

// retire forgets endpoints that have closed: those that are idle after a while in which
// their last operations could end, the others when it becomes unlikely.
func (w *writer) retire() {
	r := w.r
	r.mu.Lock()
	defer r.mu.Unlock()
	index := *r.index.Load()
	r.endpoints = slices.DeleteFunc(r.endpoints, func(ep *endpoint) bool {
		if !ep.closing.Load() {
			return false
		}
		ep.ticks++
		if ep.ticks < 2 || ep.ticks < 10 && ep.timing != nil && ep.unfinished() > 0 {
			return false
		}
		index[ep.id].Store(nil)
		ep.count(&r.counts, true)
		return true
	})
}

// close closes the files; those that there are not are nil.
func (w *writer) close() error {
	var all []error
	for _, t := range w.tables() {
		all = append(all, t.file.Close())
	}
	if w.meta != nil {
		all = append(all, w.meta.file.Close())
	}
	if w.lock != nil {
		all = append(all, w.lock.Close())
	}
	return errors.Join(all...)
}
