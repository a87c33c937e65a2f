// Package perfetto writes a recorded run in the Trace Event Format (JSON), which
// Perfetto and chrome://tracing open.
//
// A rank is a process. An operation is an async event, because operations overlap; its
// name is call and path, so that Perfetto shows those of one path together. A counter
// is a counter track of its growth per second.
package perfetto

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"golnx/internal/trace"
	"golnx/providers/fierr"
	"golnx/rail/timer"
)

// Write writes the events as they are read: an operation's two one after the other,
// which the format allows in any order of time.
func Write(ctx context.Context, run *trace.Run, out io.Writer, p *trace.Progress) error {
	w := &writer{out: bufio.NewWriterSize(out, 1<<16), names: map[string]string{}, tracks: map[trackKey]*track{}}
	var err error
	if w.base, err = run.Earliest(ctx); err != nil {
		return err
	}
	fmt.Fprintf(w.out, `{"displayTimeUnit":"ns","otherData":{"base_unix_ns":"%d"},"traceEvents":[`, w.base)
	for _, k := range run.Ranks {
		w.process(k)
	}
	if err := run.Ops(ctx, p, func(op *trace.Op) error { return w.op(op) }); err != nil {
		return err
	}
	last := map[counter]*timer.NICSample{}
	err = run.Samples(ctx, p, func(k *trace.Rank, s *timer.NICSample) error { return w.sample(last, k, s) })
	if err != nil {
		return err
	}
	if err := run.Gaps(ctx, p, func(k *trace.Rank, g *timer.CQGap) error { return w.gap(k, g) }); err != nil {
		return err
	}
	return w.end()
}

type writer struct {
	out *bufio.Writer
	// base is the time in Unix ns that the events' times count from: numbers of
	// JSON do not hold a Unix time to the nanosecond.
	base   int64
	id     uint64            // the last one given out
	names  map[string]string // as JSON
	tracks map[trackKey]*track
	line   []byte
}

// track has the operations of one call on one path.
type track struct {
	name string
	// slots are the ids in use. Operations that do not overlap share one: a million
	// ids are a million rows to Perfetto.
	slots []slot
}

type trackKey struct {
	rank int
	path *trace.Path
	op   string
}

// slot is an id, and when the last event that has it ends.
type slot struct {
	id  uint64
	end int64
}

// mostSlots bounds the search for an id; an operation beyond it has one of its own.
const mostSlots = 1024

// counter tells the counters of a run apart.
type counter struct {
	rank            int
	device, counter string
}

func (w *writer) end() error {
	w.out.WriteString("\n]}\n")
	return w.out.Flush()
}

// event begins an event's line, after the comma of the one before.
func (w *writer) event(phase byte, rank int) {
	if len(w.line) > 0 {
		w.line = append(w.line[:0], ',')
	}
	w.line = append(w.line, "\n{\"ph\":\""...)
	w.line = append(append(w.line, phase), `","pid":`...)
	w.line = strconv.AppendInt(w.line, int64(rank), 10)
}

// done ends the event's line.
func (w *writer) done() error {
	w.line = append(w.line, '}')
	_, err := w.out.Write(w.line)
	return err
}

func (w *writer) text(key, value string) {
	w.line = append(append(append(w.line, `,"`...), key...), `":`...)
	w.line = append(w.line, w.quoted(value)...)
}

func (w *writer) number(key string, value int64) {
	w.line = append(append(append(w.line, `,"`...), key...), `":`...)
	w.line = strconv.AppendInt(w.line, value, 10)
}

// time is microseconds with three digits.
func (w *writer) time(t int64) {
	t -= w.base
	w.line = append(w.line, `,"ts":`...)
	if t < 0 {
		t, w.line = -t, append(w.line, '-')
	}
	w.line = strconv.AppendInt(w.line, t/1000, 10)
	w.line = append(w.line, '.', byte('0'+t/100%10), byte('0'+t/10%10), byte('0'+t%10))
}

// quoted answers a text as JSON; names come again and again.
func (w *writer) quoted(s string) string {
	q, ok := w.names[s]
	if !ok {
		text, _ := json.Marshal(s) // of a string it does not fail
		q = string(text)
		if len(w.names) < mostNames {
			w.names[s] = q
		}
	}
	return q
}

const mostNames = 1 << 14

func (w *writer) process(k *trace.Rank) {
	name := fmt.Sprintf("rank %d", k.Rank)
	if k.Meta.Host != "" {
		name += " on " + k.Meta.Host
	}
	w.event('M', k.Rank)
	w.text("name", "process_name")
	w.line = append(append(w.line, `,"args":{"name":`...), w.quoted(name)...)
	w.line = append(w.line, '}')
	_ = w.done() // as all writes: a bufio.Writer keeps its error
	w.event('M', k.Rank)
	w.text("name", "process_sort_index")
	w.line = append(w.line, `,"args":{"sort_index":`...)
	w.line = append(strconv.AppendInt(w.line, int64(k.Rank), 10), '}')
	_ = w.done()
}

func (w *writer) op(op *trace.Op) error {
	t, rank := w.track(op), op.Link.Rank.Rank
	id := w.place(t, op)
	w.async('b', rank, "operation", id, t.name, op.Start)
	w.line = append(w.line, `,"args":{"bytes":`...)
	w.line = strconv.AppendInt(w.line, op.Bytes, 10)
	w.text("rail", op.Link.Path.Rail)
	w.number("link", int64(op.Link.ID))
	if op.Link.Peer != trace.Unknown {
		w.number("peer", int64(op.Link.Peer))
	}
	w.line = strconv.AppendUint(append(w.line, `,"tag":"0x`...), op.Tag, 16)
	w.line = append(w.line, '"')
	if op.Status != 0 {
		w.text("error", fierr.Errno(op.Status).Error())
	}
	w.line = append(w.line, '}')
	if err := w.done(); err != nil {
		return err
	}
	w.async('e', rank, "operation", id, t.name, op.End)
	return w.done()
}

func (w *writer) track(op *trace.Op) *track {
	key := trackKey{op.Link.Rank.Rank, op.Link.Path, op.Op.Op}
	t := w.tracks[key]
	if t == nil {
		t = &track{name: op.Op.Op + " " + op.Link.Path.String()}
		if len(w.tracks) < mostNames {
			w.tracks[key] = t
		}
	}
	return t
}

// place answers an id that no operation at the same time has: of those that are free,
// the one that became so last.
func (w *writer) place(t *track, op *trace.Op) uint64 {
	best := -1
	for i := range t.slots {
		if end := t.slots[i].end; end < op.Start && (best < 0 || end > t.slots[best].end) {
			best = i
		}
	}
	if best >= 0 {
		t.slots[best].end = op.End
		return t.slots[best].id
	}
	w.id++
	if len(t.slots) < mostSlots {
		t.slots = append(t.slots, slot{w.id, op.End})
	}
	return w.id
}

// async is one end of an async event.
func (w *writer) async(phase byte, rank int, category string, id uint64, name string, at int64) {
	w.event(phase, rank)
	w.number("tid", int64(rank))
	w.line = append(append(append(w.line, `,"cat":"`...), category...), `","id":"0x`...)
	w.line = append(strconv.AppendUint(w.line, id, 16), '"')
	w.text("name", name)
	w.time(at)
}

func (w *writer) gap(k *trace.Rank, g *timer.CQGap) error {
	w.id++
	w.async('b', k.Rank, "cq", w.id, "CQ not read", g.Start)
	if err := w.done(); err != nil {
		return err
	}
	w.async('e', k.Rank, "cq", w.id, "CQ not read", g.End)
	return w.done()
}

// sample is a counter's growth per second since its last sample, from then on.
func (w *writer) sample(last map[counter]*timer.NICSample, k *trace.Rank, s *timer.NICSample) error {
	key := counter{k.Rank, s.Device, s.Counter}
	prev := last[key]
	if prev == nil {
		if len(last) == mostNames {
			return fmt.Errorf("%s has more than %d counters", k.NIC, mostNames)
		}
		first := *s
		last[key] = &first
		return nil
	}
	defer func() { *prev = *s }()
	if s.Time <= prev.Time || s.Value < prev.Value { // set back
		return nil
	}
	w.event('C', k.Rank)
	w.text("name", s.Device+" "+s.Counter+" per s")
	w.time(prev.Time)
	w.line = append(w.line, `,"args":{"value":`...)
	w.line = strconv.AppendFloat(w.line, float64(s.Value-prev.Value)/float64(s.Time-prev.Time)*1e9, 'g', 6, 64)
	w.line = append(w.line, '}')
	return w.done()
}
