package main

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"golnx/internal/netns"
	"golnx/internal/ranks"
	"golnx/internal/trace"
)

// recording is a run of lnx perf with two ranks whose operations, NIC counters and flags
// were recorded.
type recording struct {
	t          *testing.T
	ops, flags string // directories
	// said is what perf printed: the leading end, rank 0, sent and received so much.
	said measured
}

func newRecording(t *testing.T) *recording {
	dir := t.TempDir()
	return &recording{t: t, ops: filepath.Join(dir, "ops"), flags: filepath.Join(dir, "flags")}
}

// prepare has a command record, as a rank unless that is empty.
func (r *recording) prepare(cmd *exec.Cmd, rank string) *exec.Cmd {
	cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(ranks.Variables, name) || strings.HasPrefix(name, "INTERCEPT_")
	})
	cmd.Env = append(cmd.Env, "INTERCEPT_TIMER_DIR="+r.ops, "INTERCEPT_TIMER_NIC=1", "INTERCEPT_TIMER_NIC_MS=2", "INTERCEPT_FLAGS_DIR="+r.flags)
	if rank != "" {
		cmd.Env = append(cmd.Env, "RANK="+rank)
	}
	return cmd
}

// bw is what is measured. Without warming up, perf counts all that it sends.
const bw = "--size 64K --iters 300 --warmup 0 --json --verify"

// One process leads and is rank 0, it starts the other one, rank 1. All goes over shm.
func TestRecordedOverShm(t *testing.T) {
	r := newRecording(t)
	cmd := r.prepare(command(t, strings.Fields("perf bw --links shm+tcp:lo "+bw)...), "")
	r.hear(cmd)
	require.Equal(t, []string{"shm"}, r.rails())
	r.check("lo")
}

// On two hosts that two cables join, both rails carry half of it.
func TestRecordedOverTwoRails(t *testing.T) {
	a, b := netns.Join(t, "", "")
	r := newRecording(t)
	const links = "--links tcp:nic0,nic1 --policy PER_MSG"
	on := func(rank, args string) *exec.Cmd {
		cmd := command(t, strings.Fields(args)...)
		// In a mount namespace of its own, where /sys shows the NICs of the host.
		cmd.Args = append([]string{"unshare", "--mount", "--uts", "sh", "-ec", `
			echo "$1" > /proc/sys/kernel/hostname
			shift
			mount -t sysfs sysfs /sys
			exec "$0" "$@"`, cmd.Path, "node" + rank}, cmd.Args[1:]...)
		var err error
		cmd.Path, err = exec.LookPath("unshare")
		require.NoError(t, err)
		return r.prepare(cmd, rank)
	}
	listener := &running{Cmd: on("1", "perf bw --listen 10.211.0.2:0 "+links), t: t, lines: make(chan string, 1000)}
	listener.beginBy(b.Start)
	addr := listener.await(`^lnx: listens on (.+)$`)[1]
	r.hearFrom(on("0", "perf bw --connect "+addr+" "+links+" "+bw), a.Start)
	code, rest := listener.finish()
	require.Zero(t, code, rest)
	require.Equal(t, []string{"tcp;ofi_rxm:nic0", "tcp;ofi_rxm:nic1"}, r.rails())
	for _, rail := range r.said.Rails {
		require.EqualValues(t, 150, rail.Tx, "half of the messages over %s", rail.Name)
	}
	r.check("nic0", "nic1")
}

// lnx run makes two processes the ranks.
func TestRecordedOfLnxRun(t *testing.T) {
	r := newRecording(t)
	where := filepath.Join(t.TempDir(), "where")
	require.NoError(t, unix.Mkfifo(where, 0o600))
	const script = `
		if [ $RANK = 1 ]; then exec "$0" perf bw --links tcp:lo --listen 127.0.0.1:0 2> "$1"; fi
		exec 3< "$1"
		read -r line <&3
		shift
		exec "$0" perf bw --links tcp:lo --connect "${line##* }" "$@"`
	self, err := os.Executable()
	require.NoError(t, err)
	args := append(strings.Fields("run -n 2 --nic lo -- sh -c"), script, self, where)
	told := r.hear(r.prepare(command(t, append(args, strings.Fields(bw)...)...), ""))
	require.Regexp(t, `(?m)^│ +0 │ .*│ lo +│`, told)
	require.Regexp(t, `(?m)^│ +1 │ .*│ lo +│`, told)
	require.Equal(t, []string{"tcp;ofi_rxm:lo"}, r.rails())
	r.checkSummary()
	r.checkDB([]string{"lo"})
	r.checkFlags()
}

// hear runs the leading end, and answers what it told on standard error.
func (r *recording) hear(cmd *exec.Cmd) string {
	r.t.Helper()
	return r.hearFrom(cmd, (*exec.Cmd).Start)
}

func (r *recording) hearFrom(cmd *exec.Cmd, start func(*exec.Cmd) error) string {
	r.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(r.t, start(cmd))
	require.NoError(r.t, cmd.Wait(), &stderr)
	r.said = parse(r.t, stdout.String())[0]
	require.Equal(r.t, 300, r.said.Iters)
	return stderr.String()
}

// rails are those that carried something.
func (r *recording) rails() (names []string) {
	for _, rail := range r.said.Rails {
		if rail.Tx+rail.Rx > 0 {
			names = append(names, rail.Name)
		}
	}
	return names
}

// railOf is what a rank sent over a rail.
type railOf struct {
	Rank int
	Rail string
}

// sends is how many messages perf says that each rank has sent.
func (r *recording) sends() map[railOf]int64 {
	all := map[railOf]int64{}
	for _, rail := range r.said.Rails {
		if rail.Tx+rail.Rx > 0 {
			all[railOf{0, rail.Name}], all[railOf{1, rail.Name}] = int64(rail.Tx), int64(rail.Rx)
		}
	}
	return all
}

// bytes is what rank 0 has sent over a rail. (Rank 1 acknowledges without a payload.)
func (r *recording) bytes(rail string) int64 { return r.sends()[railOf{0, rail}] * int64(r.said.Size) }

// check has every command show the recording, and compares it with what perf said. The
// NICs are those that have counters.
func (r *recording) check(nics ...string) {
	r.checkSummary()
	r.checkDB(nics)
	r.checkPerfetto(nics)
	r.checkReport()
	r.checkPlot()
	r.checkFlags()
}

// show runs a command that shows the recording.
func (r *recording) show(args ...string) string {
	r.t.Helper()
	got := within(r.t, args...)
	require.Zero(r.t, got.code, got.stderr)
	require.NotContains(r.t, got.stderr, "note:")
	return got.stdout
}

func (r *recording) checkSummary() {
	t, sent := r.t, map[railOf]int64{}
	for line := range strings.Lines(r.show("trace", "summary", "--json", "--ranks", r.ops)) {
		var row traceRow
		require.NoError(t, json.Unmarshal([]byte(line), &row))
		require.Equal(t, "tsend", row.Op)
		require.NotNil(t, row.Peer, "the rank at the other end is known")
		require.Equal(t, 1-*row.Rank, *row.Peer)
		require.Zero(t, row.Failed)
		require.Positive(t, row.P50)
		require.LessOrEqual(t, row.P50, row.P99)
		if *row.Rank == 0 {
			require.Equal(t, r.bytes(row.Rail), row.Bytes)
		}
		sent[railOf{*row.Rank, row.Rail}] += row.Count
	}
	require.Equal(t, r.sends(), sent)
	table := r.show("trace", "summary", r.ops)
	for _, rail := range r.rails() {
		require.Contains(t, table, "│ "+rail+" ")
	}
}

func (r *recording) checkDB(nics []string) {
	t, path := r.t, filepath.Join(r.t.TempDir(), "trace.db")
	r.show("trace", "db", r.ops, "-o", path)
	database, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer database.Close()
	sent := map[railOf]int64{}
	r.query(database, `SELECT rank, rail, count(*), sum(bytes) FROM ops WHERE peer = 1 - rank GROUP BY rank, rail`, func(scan func(...any) error) error {
		var of railOf
		var n, bytes int64
		err := scan(&of.Rank, &of.Rail, &n, &bytes)
		sent[of] = n
		if of.Rank == 0 {
			require.Equal(t, r.bytes(of.Rail), bytes)
		}
		return err
	})
	require.Equal(t, r.sends(), sent)
	grown := map[string]int64{}
	r.query(database, `SELECT rank, device, counter, sum(delta) FROM counter_deltas WHERE counter IN ('rx_bytes', 'tx_bytes') GROUP BY rank, device, counter`, func(scan func(...any) error) error {
		var rank, delta int64
		var device, counter string
		err := scan(&rank, &device, &counter, &delta)
		grown[fmt.Sprint(rank, " ", device, " ", counter)] = delta
		return err
	})
	for _, nic := range nics {
		for rank := range 2 {
			for _, counter := range []string{"rx_bytes", "tx_bytes"} {
				require.Contains(t, grown, fmt.Sprint(rank, " ", nic, " ", counter))
			}
		}
		// What a rail carried went through its NIC, from rank 0 to rank 1.
		for _, rail := range r.rails() {
			if strings.HasSuffix(rail, ":"+nic) {
				require.GreaterOrEqual(t, grown["0 "+nic+" tx_bytes"], r.bytes(rail), rail)
				require.GreaterOrEqual(t, grown["1 "+nic+" rx_bytes"], r.bytes(rail), rail)
			}
		}
	}
}

func (r *recording) query(database *sql.DB, text string, row func(scan func(...any) error) error) {
	r.t.Helper()
	rows, err := database.Query(text)
	require.NoError(r.t, err)
	defer rows.Close()
	for rows.Next() {
		require.NoError(r.t, row(rows.Scan))
	}
	require.NoError(r.t, rows.Err())
}

func (r *recording) checkPerfetto(nics []string) {
	t, path := r.t, filepath.Join(r.t.TempDir(), "trace.json.gz")
	r.show("trace", "perfetto", r.ops, "-o", path)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	z, err := gzip.NewReader(bytes.NewReader(text))
	require.NoError(t, err)
	var all struct {
		TraceEvents []struct {
			Ph, Name string
			PID      int
			Args     struct {
				Rail  string
				Value float64
			}
		}
	}
	require.NoError(t, json.NewDecoder(z).Decode(&all))
	begun, tracks := map[railOf]int64{}, map[string]float64{}
	for _, e := range all.TraceEvents {
		switch e.Ph {
		case "b":
			begun[railOf{e.PID, e.Args.Rail}]++
		case "C":
			tracks[fmt.Sprint(e.PID, " ", e.Name)] += e.Args.Value
		}
	}
	require.Equal(t, r.sends(), begun)
	for _, nic := range nics {
		require.Contains(t, tracks, "0 "+nic+" tx_bytes per s")
		require.Contains(t, tracks, "1 "+nic+" rx_bytes per s")
	}
}

func (r *recording) checkReport() {
	t, path := r.t, filepath.Join(r.t.TempDir(), "report.html")
	r.show("trace", "report", r.ops, "-o", path)
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(page, []byte("<!DOCTYPE html>")))
	sum := int64(0)
	for _, n := range r.sends() {
		sum += n
	}
	text := html.UnescapeString(string(page))
	require.Contains(t, text, trace.FormatCount(sum))
	for _, rail := range r.rails() {
		require.Contains(t, text, rail)
	}
}

func (r *recording) checkPlot() {
	t, dir := r.t, filepath.Join(r.t.TempDir(), "plots")
	r.show("trace", "plot", r.ops, "-o", dir)
	// (There is none of counters if none of them grew.)
	for _, name := range []string{"durations", "rails", "shares", "latency", "ranks", "nics"} {
		text, err := os.ReadFile(filepath.Join(dir, name+".png"))
		require.NoError(t, err)
		picture, err := png.Decode(bytes.NewReader(text))
		require.NoError(t, err, name)
		require.Greater(t, picture.Bounds().Dx(), 500, name)
		text, err = os.ReadFile(filepath.Join(dir, name+".svg"))
		require.NoError(t, err)
		d := xml.NewDecoder(bytes.NewReader(text))
		for err == nil {
			_, err = d.Token()
		}
		require.True(t, errors.Is(err, io.EOF), "%s: %v", name, err)
	}
}

// checkFlags looks for what both ranks asked for, and were granted, of each rail.
func (r *recording) checkFlags() {
	t := r.t
	var all struct{ Steps []readStep }
	require.NoError(t, json.Unmarshal([]byte(r.show("flags", "--json", r.flags)), &all))
	steps := map[string]int{}
	for _, s := range all.Steps {
		if s.Rail != nil {
			steps[fmt.Sprint(s.Rank, " ", s.Step, " ", s.Rail.Name)]++
			require.NotEmpty(t, s.Attributes)
		} else {
			steps[fmt.Sprint(s.Rank, " ", s.Step, " ", s.Provider)] = 1
		}
	}
	want := map[string]int{}
	for _, rail := range r.said.Rails {
		provider, _, _ := strings.Cut(rail.Name, ":")
		for rank := range 2 {
			want[fmt.Sprint(rank, " getinfo ", provider)] = 1
			want[fmt.Sprint(rank, " domain ", rail.Name)] = 1
			want[fmt.Sprint(rank, " endpoint ", rail.Name)] = 1
		}
	}
	require.Equal(t, want, steps)
	text := r.show("flags", r.flags)
	for _, rail := range r.rails() {
		require.Regexp(t, `ranks 0-1: fi_endpoint of rail \d \(`+regexp.QuoteMeta(rail)+`\)`, text)
	}
}
