// Package db writes a recorded run into one SQLite database.
package db

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"strings"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"golnx/internal/trace"
	"golnx/rail/timer"
)

var (
	//go:embed schema.sql
	schema string
	//go:embed indexes.sql
	indexes string
)

// Nothing is kept of a database that could not be written to its end, so it need not
// be safe meanwhile.
const pragmas = "_pragma=journal_mode(off)&_pragma=synchronous(off)&_pragma=locking_mode(exclusive)&_pragma=cache_size(-8192)"

// Write makes a database of a run at a path where there is no file. After an error or
// the end of the context the file is of no use.
func Write(ctx context.Context, run *trace.Run, path string, p *trace.Progress) (err error) {
	database, err := sql.Open("sqlite", name(path, pragmas))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, database.Close()) }()
	database.SetMaxOpenConns(1)
	tx, err := database.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("make the database %s: %w", path, err)
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it does nothing
	w := &writer{ctx: ctx, tx: tx}
	if err := w.all(run, p); err != nil {
		return fmt.Errorf("write the database %s: %w", path, err)
	}
	return tx.Commit()
}

// name is what the driver calls a file, whatever characters its path has.
func name(path, parameters string) string {
	return (&url.URL{Scheme: "file", Opaque: url.PathEscape(path), RawQuery: parameters}).String()
}

type writer struct {
	ctx context.Context
	tx  *sql.Tx
}

func (w *writer) all(run *trace.Run, p *trace.Progress) error {
	if _, err := w.tx.ExecContext(w.ctx, schema); err != nil {
		return err
	}
	if err := w.operations(run, p); err != nil {
		return err
	}
	if err := w.counters(run, p); err != nil {
		return err
	}
	if err := w.gaps(run, p); err != nil {
		return err
	}
	// After the operations, which may have brought links to light that no file names.
	if err := w.ranks(run); err != nil {
		return err
	}
	_, err := w.tx.ExecContext(w.ctx, indexes)
	return err
}

func (w *writer) operations(run *trace.Run, p *trace.Progress) error {
	t, err := w.table("operations", 8)
	if err != nil {
		return err
	}
	err = run.Ops(w.ctx, p, func(op *trace.Op) error {
		return t.add(op.Link.Rank.Rank, op.Start, op.Duration(), op.Op.Op, op.Bytes, op.Link.ID, int64(op.Tag), op.Status)
	})
	return errors.Join(err, t.close())
}

func (w *writer) counters(run *trace.Run, p *trace.Progress) error {
	t, err := w.table("counters", 5)
	if err != nil {
		return err
	}
	err = run.Samples(w.ctx, p, func(k *trace.Rank, s *timer.NICSample) error {
		return t.add(k.Rank, s.Device, s.Counter, s.Time, int64(s.Value))
	})
	return errors.Join(err, t.close())
}

func (w *writer) gaps(run *trace.Run, p *trace.Progress) error {
	t, err := w.table("cq_gaps", 4)
	if err != nil {
		return err
	}
	err = run.Gaps(w.ctx, p, func(k *trace.Rank, g *timer.CQGap) error {
		return t.add(k.Rank, int64(g.Endpoint), g.Start, g.End)
	})
	return errors.Join(err, t.close())
}

func (w *writer) ranks(run *trace.Run) (err error) {
	var tables []*table
	open := func(name string, columns int) *table {
		t, openErr := w.table(name, columns)
		err = errors.Join(err, openErr)
		tables = append(tables, t)
		return t
	}
	ranks, endpoints, links := open("ranks", 7), open("endpoints", 4), open("links", 10)
	if err != nil {
		return err
	}
	for _, k := range run.Ranks {
		m := &k.Meta
		err = errors.Join(err, ranks.add(k.Rank, m.Host, m.PID, m.Start, m.End, m.Ended, int64(m.Ops.Dropped)))
		for _, e := range k.Endpoints {
			err = errors.Join(err, endpoints.add(k.Rank, int64(e.ID), e.Address, e.Link))
		}
		for _, l := range k.Links {
			var peer any
			if l.Peer != trace.Unknown {
				peer = l.Peer
			}
			err = errors.Join(err, links.add(k.Rank, l.ID, int64(l.Endpoint), l.Path.Rail, l.Provider, l.LocalNIC, l.RemoteNIC, l.LocalAddr, l.RemoteAddr, peer))
		}
	}
	for _, t := range tables {
		err = errors.Join(err, t.close())
	}
	return err
}

// rowsAtOnce is how many rows one statement inserts: of the rows' time, most goes into
// what each statement takes.
const rowsAtOnce = 64

// table collects rows of a table and inserts many at once.
type table struct {
	w       *writer
	name    string
	columns int
	many    *sql.Stmt
	values  []any
}

func (w *writer) table(name string, columns int) (*table, error) {
	many, err := w.tx.PrepareContext(w.ctx, insert(name, columns, rowsAtOnce))
	return &table{w: w, name: name, columns: columns, many: many}, err
}

func insert(name string, columns, rows int) string {
	row := "(" + strings.Repeat("?,", columns-1) + "?)"
	return "INSERT INTO " + name + " VALUES " + strings.Repeat(row+",", rows-1) + row
}

func (t *table) add(values ...any) error {
	t.values = append(t.values, values...)
	if len(t.values) < t.columns*rowsAtOnce {
		return nil
	}
	_, err := t.many.ExecContext(t.w.ctx, t.values...)
	t.values = t.values[:0]
	return err
}

// close inserts what is left.
func (t *table) close() error {
	err := t.many.Close()
	if len(t.values) > 0 {
		_, insertErr := t.w.tx.ExecContext(t.w.ctx, insert(t.name, t.columns, len(t.values)/t.columns), t.values...)
		err = errors.Join(err, insertErr)
	}
	return err
}
