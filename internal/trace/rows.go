package trace

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"sync/atomic"

	"golnx/rail/timer"
)

// Op is one operation, with where it ran.
type Op struct {
	timer.Op
	Link *Link // of which Rank is the rank
	// Row is the operation's place in its file, from 0.
	Row int
}

// Duration is the time from issue to completion in ns.
func (o *Op) Duration() int64 { return o.End - o.Start }

// Progress tells how far reading is, to another goroutine. It may be nil.
type Progress struct{ done atomic.Int64 }

// Done answers the bytes of files that were read.
func (p *Progress) Done() int64 { return p.done.Load() }

// reading is what the rows of a file are read with.
type reading struct {
	ctx      context.Context
	progress *Progress
}

// rowsBetween is after how many rows progress is told and the context looked at.
const rowsBetween = 4096

// Size answers the bytes of all files that Ops, and those that Samples and Gaps read.
func (r *Run) Size() (ops, others int64) {
	for _, k := range r.Ranks {
		ops += fileSize(k.Ops)
		others += fileSize(k.NIC) + fileSize(k.CQGaps)
	}
	return ops, others
}

func fileSize(path string) int64 {
	if st, err := os.Stat(path); err == nil {
		return st.Size()
	}
	return 0
}

// Ops calls f with every operation, rank after rank, in the order of the files. The
// operation is valid until f returns.
func (r *Run) Ops(ctx context.Context, p *Progress, f func(*Op) error) error {
	for _, k := range r.Ranks {
		op := Op{Row: -1}
		err := each(r, k.Ops, timer.OpenOps, &reading{ctx, p}, func(row *timer.Op) error {
			op.Op, op.Row = *row, op.Row+1
			op.Start, op.End, op.Bytes = max(op.Start, 0), max(op.End, 0), max(op.Bytes, 0) // -1 is no time, and no length
			if op.Link == nil || op.Link.ID != row.Link {
				op.Link = r.linkOf(k, row.Link)
			}
			return f(&op)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Samples calls f with every value of every counter, rank after rank.
func (r *Run) Samples(ctx context.Context, p *Progress, f func(*Rank, *timer.NICSample) error) error {
	for _, k := range r.Ranks {
		err := each(r, k.NIC, timer.OpenNIC, &reading{ctx, p}, func(s *timer.NICSample) error {
			s.Time = max(s.Time, 0)
			return f(k, s)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Gaps calls f with every time in which nobody read a completion queue.
func (r *Run) Gaps(ctx context.Context, p *Progress, f func(*Rank, *timer.CQGap) error) error {
	for _, k := range r.Ranks {
		err := each(r, k.CQGaps, timer.OpenCQGaps, &reading{ctx, p}, func(g *timer.CQGap) error {
			g.Start, g.End = max(g.Start, 0), max(g.End, 0)
			return f(k, g)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Earliest answers a time in Unix ns before which nothing happened: when recording
// began, or, if some rank does not say so, the start of the first operation.
func (r *Run) Earliest(ctx context.Context) (int64, error) {
	earliest, known := int64(math.MaxInt64), true
	for _, k := range r.Ranks {
		known = known && k.Meta.Start != 0
		earliest = min(earliest, k.Meta.Start)
	}
	if known {
		return earliest, nil
	}
	earliest = math.MaxInt64
	err := errors.Join(
		r.Ops(ctx, nil, func(op *Op) error { earliest = min(earliest, op.Start); return nil }),
		r.Samples(ctx, nil, func(_ *Rank, s *timer.NICSample) error { earliest = min(earliest, s.Time); return nil }))
	if earliest == math.MaxInt64 {
		earliest = 0
	}
	return earliest, err
}

// each calls f with the rows of a file, and keeps account of lines that are none. No
// path is a file without rows.
func each[T any](r *Run, path string, open func(string) (*timer.Reader[T], error), how *reading, f func(*T) error) error {
	if path == "" {
		return nil
	}
	in, err := open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	bad := &badLines{file: path}
	n, told := 0, int64(0)
	tell := func() error {
		if how == nil {
			return nil
		}
		if how.progress != nil {
			how.progress.done.Add(in.Offset() - told)
			told = in.Offset()
		}
		return how.ctx.Err()
	}
	row := new(T) // one for all, because f may keep the compiler from leaving it on the stack
	for value, err := range in.All() {
		if n++; n%rowsBetween == 0 {
			if err := tell(); err != nil {
				return err
			}
		}
		var line *timer.LineError
		switch {
		case errors.As(err, &line):
			bad.add(line)
			continue
		case err != nil:
			return err
		}
		*row = value
		if err := f(row); err != nil {
			return err
		}
	}
	if bad.cut = in.Cut(); bad.cut || bad.lines > 0 {
		r.bad[path] = bad
	}
	return tell()
}

// badLines are the lines of a file that are no rows.
type badLines struct {
	file  string
	lines int
	first *timer.LineError
	cut   bool
}

func (b *badLines) add(err *timer.LineError) {
	if b.lines++; b.first == nil {
		b.first = err
	}
}

func (b *badLines) String() string {
	text := b.file + ": "
	if b.lines > 0 {
		text += fmt.Sprintf("%d lines were passed over, the first for: line %d: %v", b.lines, b.first.Line, b.first.Err)
	}
	if b.cut {
		if b.lines > 0 {
			text += "; "
		}
		text += "the last line is cut off"
	}
	return text
}
