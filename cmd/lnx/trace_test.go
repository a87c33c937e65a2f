package main

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/internal/trace/synth"
)

// traced makes up what the op timer recorded.
func traced(t *testing.T, c synth.Config) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, synth.Write(dir, c))
	return dir
}

func TestTraceSummary(t *testing.T) {
	dir := traced(t, synth.Config{Ops: 3000})
	got := within(t, "trace", "summary", dir)
	require.Zero(t, got.code, got.stderr)
	require.Empty(t, got.stderr)
	require.Contains(t, got.stdout, "shm+tcp, 4 ranks")
	require.Regexp(t, `│ tcp;ofi_rxm:eth1 +│ node1/eth1 +│ node0/eth1 +│ tsend +│ +\d+ │ +\d+ │ +[\d.]+ MiB │ +[\d.]+ .s │ +[\d.]+ .s │ +[\d.]+ .s │`, got.stdout)
	require.NotContains(t, got.stdout, "peer")

	got = within(t, "trace", "summary", "--ranks", dir)
	require.Regexp(t, `│ rank +│ peer +│`, got.stdout)
}

func TestTraceSummaryJSON(t *testing.T) {
	dir := traced(t, synth.Config{Ops: 3000})
	got := within(t, "trace", "summary", "--json", dir)
	require.Zero(t, got.code, got.stderr)
	count := int64(0)
	for line := range strings.Lines(got.stdout) {
		require.Regexp(t, `^\{"rail":".*","local_nic":".*","remote_nic":".*","op":"\w+","count":\d+,"failed":\d+,"bytes":\d+,"p50_ns":\d+,"p99_ns":\d+,"max_ns":\d+\}\n$`, line)
		var r traceRow
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		require.LessOrEqual(t, r.P50, r.P99)
		require.LessOrEqual(t, r.P99, r.Max)
		count += r.Count
	}
	require.EqualValues(t, 3000, count)
	got = within(t, "trace", "summary", "--json", "--ranks", dir)
	require.Contains(t, got.stdout, `"rank":0,"peer":1,"op"`)
}

// A terminal does not obey names from files.
func TestTraceSummaryOfHostileNames(t *testing.T) {
	got := within(t, "trace", "summary", traced(t, synth.Config{Ops: 100, Suffix: "\x1b]0;x\x07\u009b2J"}))
	require.Zero(t, got.code)
	require.NotContains(t, got.stdout, "\x1b")
	require.NotContains(t, got.stdout, "\u009b")
	require.Contains(t, got.stdout, "eth0�]0;x��2J")
}

func TestTraceFiles(t *testing.T) {
	dir, out := traced(t, synth.Config{Ops: 3000}), t.TempDir()
	run := func(args ...string) {
		t.Helper()
		got := within(t, append([]string{"trace"}, args...)...)
		require.Zero(t, got.code, got.stderr)
		require.Contains(t, got.stderr, "lnx: wrote ")
		require.Empty(t, got.stdout)
	}
	read := func(name string) []byte {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(out, name))
		require.NoError(t, err)
		return text
	}
	// An older file is replaced.
	require.NoError(t, os.WriteFile(filepath.Join(out, "r.html"), []byte("old"), 0o644))
	run("report", dir, "-o", filepath.Join(out, "r.html"))
	require.True(t, bytes.HasPrefix(read("r.html"), []byte("<!DOCTYPE html>")))

	run("perfetto", dir, "-o", filepath.Join(out, "t.json"))
	require.True(t, json.Valid(read("t.json")))
	run("perfetto", dir, "-o", filepath.Join(out, "t.json.gz"))
	z, err := gzip.NewReader(bytes.NewReader(read("t.json.gz")))
	require.NoError(t, err)
	plain, err := io.ReadAll(z)
	require.NoError(t, err)
	require.Equal(t, read("t.json"), plain)

	for range 2 {
		run("db", dir, "-o", filepath.Join(out, "t.db"))
	}
	database, err := sql.Open("sqlite", filepath.Join(out, "t.db"))
	require.NoError(t, err)
	defer database.Close()
	n := 0
	require.NoError(t, database.QueryRow("SELECT count(*) FROM operations").Scan(&n))
	require.Equal(t, 3000, n)

	run("plot", dir, "-o", filepath.Join(out, "plots"), "--format", "svg")
	figures, err := filepath.Glob(filepath.Join(out, "plots", "*"))
	require.NoError(t, err)
	require.Len(t, figures, 7)

	left, err := filepath.Glob(filepath.Join(out, ".lnx-trace-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// What is wrong with the files is told, and the rest is shown.
func TestTraceOfKilledRank(t *testing.T) {
	dir := traced(t, synth.Config{Ops: 3000})
	path := filepath.Join(dir, "ops_rank1.csv")
	st, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(path, st.Size()-5))
	got := within(t, "trace", "summary", dir)
	require.Zero(t, got.code)
	require.Equal(t, "lnx: note: "+path+": the last line is cut off\n", got.stderr)
	require.Contains(t, got.stdout, "4 ranks")
}

func TestTraceErrors(t *testing.T) {
	dir := traced(t, synth.Config{Ops: 100})
	got := within(t, "trace", "summary", filepath.Join(dir, "none"))
	require.Equal(t, exitUsage, got.code)
	got = within(t, "trace", "summary", t.TempDir())
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.stderr, "has no files of the op timer")
	for _, what := range []string{"report", "perfetto", "db"} {
		got = within(t, "trace", what, dir, "-o", filepath.Join(dir, "none", "out"))
		require.Equal(t, exitFailed, got.code)
		require.Contains(t, got.stderr, filepath.Join("none", "out"))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "links_rank0.csv"), []byte("a,b\n"), 0o644))
	out := filepath.Join(t.TempDir(), "r.html")
	got = within(t, "trace", "report", dir, "-o", out)
	require.Equal(t, exitFailed, got.code)
	require.NoFileExists(t, out)
}

// A command that is told to end leaves no half a file.
func TestTraceInterrupted(t *testing.T) {
	dir, out := traced(t, synth.Config{Ops: 200_000}), t.TempDir()
	r := start(t, "--verbose", "trace", "db", dir, "-o", filepath.Join(out, "t.db"))
	r.await("reads 4 ranks")
	require.NoError(t, r.Process.Signal(syscall.SIGINT))
	code, _ := r.finish()
	require.Equal(t, exitInterrupted, code)
	left, err := os.ReadDir(out)
	require.NoError(t, err)
	require.Empty(t, left)
}
