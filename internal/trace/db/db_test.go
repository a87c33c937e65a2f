package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/internal/trace"
	"golnx/internal/trace/synth"
	"golnx/rail/timer"
)

func opened(t *testing.T, c synth.Config) *trace.Run {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, synth.Write(dir, c))
	run, err := trace.Open(dir)
	require.NoError(t, err)
	return run
}

// written answers a database of the run.
func written(t *testing.T, run *trace.Run, file string) *sql.DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), file)
	require.NoError(t, Write(t.Context(), run, path, nil))
	require.FileExists(t, path)
	database, err := sql.Open("sqlite", name(path, "mode=ro"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, database.Close()) })
	return database
}

// number answers the only number that a query has.
func number(t *testing.T, database *sql.DB, query string, args ...any) int64 {
	t.Helper()
	var n int64
	require.NoError(t, database.QueryRow(query, args...).Scan(&n), query)
	return n
}

func TestEveryRowIsThere(t *testing.T) {
	// A number that no number of rows at once divides.
	run := opened(t, synth.Config{Ops: 4321})
	database := written(t, run, "trace.db")
	require.EqualValues(t, 4321, number(t, database, "SELECT count(*) FROM operations"))
	require.EqualValues(t, 4321, number(t, database, "SELECT count(*) FROM ops"), "every operation has a link")
	rows, err := run.Summarise(t.Context(), nil, true)
	require.NoError(t, err)
	for _, r := range rows {
		require.Equal(t, r.Bytes, number(t, database,
			"SELECT sum(bytes) FROM ops WHERE rank = ? AND peer = ? AND rail = ? AND op = ?", r.Rank, r.Peer, r.Path.Rail, r.Op))
	}
	values := int64(0)
	for _, k := range run.Ranks {
		require.Equal(t, int64(len(k.Links)), number(t, database, "SELECT count(*) FROM links WHERE rank = ?", k.Rank))
		require.Equal(t, int64(len(k.Endpoints)), number(t, database, "SELECT count(*) FROM endpoints WHERE rank = ?", k.Rank))
		require.EqualValues(t, synth.Start, number(t, database, "SELECT start_ns FROM ranks WHERE rank = ?", k.Rank))
	}
	require.NoError(t, run.Samples(t.Context(), nil, func(*trace.Rank, *timer.NICSample) error { values++; return nil }))
	require.Equal(t, values, number(t, database, "SELECT count(*) FROM counters"))
}

// What the timer writes that SQLite has no type for.
func TestLargeAndUnknown(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"ops_rank3.csv": "start_ns,end_ns,op,bytes,link,tag,status\n10,25,tsend,8,7,0xfedcba9876543210,5\n",
		"nic_rank3.csv": "time_ns,device,counter,value\n1,eth0,x,18446744073709551610\n2,eth0,x,18446744073709551615\n3,eth0,x,2\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	run, err := trace.Open(dir)
	require.NoError(t, err)
	database := written(t, run, "odd?name=%41&x.db")
	var tag, rail string
	var peer sql.NullInt64
	require.NoError(t, database.QueryRow("SELECT printf('%x', tag), rail, peer FROM ops").Scan(&tag, &rail, &peer))
	require.Equal(t, "fedcba9876543210", tag)
	require.Equal(t, "unknown", rail)
	require.False(t, peer.Valid)
	require.EqualValues(t, 5, number(t, database, "SELECT delta FROM counter_deltas WHERE time_ns = 2"))
}

func TestExtremes(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, synth.Extremes(dir))
	run, err := trace.Open(dir)
	require.NoError(t, err)
	database := written(t, run, "trace.db")
	require.EqualValues(t, math.MaxInt64, number(t, database, "SELECT max(duration_ns) FROM ops"))
	require.EqualValues(t, 4, number(t, database, "SELECT count(*) FROM ops"))
	require.EqualValues(t, 1, number(t, database, "SELECT count(*) FROM cq_gaps WHERE endpoint = -1"))
}

// The queries of the documentation run and find something.
func TestQueriesOfTheDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../../docs/trace.md")
	require.NoError(t, err)
	queries := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllSubmatch(text, -1)
	require.Len(t, queries, 7)
	run := opened(t, synth.Config{Ops: 8000})
	f, err := os.OpenFile(run.Ranks[0].Ops, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = fmt.Fprintf(f, "%d,%d,tsend,8,0,0x1,%d\n", synth.Start, synth.Start+1000, 110)
	require.NoError(t, errors.Join(err, f.Close()), "one that failed")
	database := written(t, run, "trace.db")
	for _, q := range queries {
		rows, err := database.Query(string(q[1]))
		require.NoError(t, err, "%s", q[1])
		columns, err := rows.Columns()
		require.NoError(t, err)
		n := 0
		for ; rows.Next(); n++ {
			values := make([]any, len(columns))
			for i := range values {
				values[i] = new(any)
			}
			require.NoError(t, rows.Scan(values...))
			for i, v := range values {
				require.NotNil(t, *v.(*any), "%s is NULL in %s", columns[i], q[1])
			}
		}
		require.NoError(t, rows.Err(), "%s", q[1])
		require.NoError(t, rows.Close())
		require.Positive(t, n, "%s finds nothing", q[1])
	}
}

func TestIndexes(t *testing.T) {
	database := written(t, opened(t, synth.Config{Ops: 1000}), "trace.db")
	for query, index := range map[string]string{
		"SELECT * FROM operations WHERE start_ns > 5":                  "operations_by_time",
		"SELECT * FROM operations WHERE rank = 1 AND link = 2":         "operations_by_link",
		"SELECT * FROM operations ORDER BY duration_ns DESC LIMIT 1":   "operations_by_duration",
		"SELECT * FROM counters WHERE rank = 1 AND device = 'eth0'":    "counters_by_time",
		"SELECT * FROM cq_gaps WHERE rank = 1 AND start_ns > 5":        "cq_gaps_by_time",
		"SELECT * FROM ops WHERE rank = 1 AND peer = 2 AND rail = 'x'": "operations_by_link",
	} {
		rows, err := database.Query("EXPLAIN QUERY PLAN " + query)
		require.NoError(t, err)
		plan := ""
		for rows.Next() {
			var id, parent, unused int
			var step string
			require.NoError(t, rows.Scan(&id, &parent, &unused, &step))
			plan += step + "\n"
		}
		require.NoError(t, rows.Close())
		require.Contains(t, plan, index, query)
	}
}

func TestErrors(t *testing.T) {
	run := opened(t, synth.Config{Ops: 100})
	require.ErrorContains(t, Write(t.Context(), run, filepath.Join(t.TempDir(), "none", "trace.db"), nil), "trace.db")
	path := filepath.Join(t.TempDir(), "trace.db")
	require.NoError(t, Write(t.Context(), run, path, nil))
	require.ErrorContains(t, Write(t.Context(), run, path, nil), "already exists")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, Write(ctx, run, filepath.Join(t.TempDir(), "trace.db"), nil), context.Canceled)
}
