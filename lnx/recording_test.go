package lnx_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
	"golnx/providers/fierr"
	"golnx/rail/flags"
	"golnx/rail/intercept"
	"golnx/rail/timer"
)

// recordingIn are options of a link whose operations and flags are recorded in a
// directory, as the environment asks for.
func recordingIn(dir string, c choice, more ...string) lnx.Options {
	vars := map[string]string{"INTERCEPT_TIMER_DIR": dir, "INTERCEPT_FLAGS_DIR": dir}
	for i := 0; i < len(more); i += 2 {
		vars[more[i]] = more[i+1]
	}
	opts := c.options()
	opts.Lookup = onlyEnv(vars)
	return opts
}

// rows reads a file of the op timer.
func rows[T any](t *testing.T, open func(string) (*timer.Reader[T], error), path string) (all []T) {
	t.Helper()
	r, err := open(path)
	require.NoError(t, err)
	defer r.Close()
	for row, err := range r.All() {
		require.NoError(t, err)
		all = append(all, row)
	}
	return all
}

// Every send is a row, on the rail that it took, and the program notices nothing.
func TestRecordedOperations(t *testing.T) {
	onMatchers(t, func(t *testing.T, c choice) {
		dir := t.TempDir()
		opts := recordingIn(dir, c, "RANK", "7")
		ended := 0
		opts.Hooks = []*intercept.Hooks{{Complete: func(_ *intercept.Rail, c *intercept.Completion) {
			if lnx.Flags(c.Flags)&lnx.FlagSend != 0 {
				ended++
			}
		}}}
		a, b := newNode(t, opts), newNode(t, opts)
		toB, toA := a.insert(b.ep.Name()), b.insert(a.ep.Name())
		want := map[string]int{}
		for i, m := range []message{
			{Size: 10}, {Size: 70_000}, {Size: 300, Parts: 3}, {Size: 300, Parts: 2, HasData: true, Data: 5},
			{Size: 90, HasData: true, Data: 7}, {Size: 9, Inject: true}, {Size: 8, Inject: true, HasData: true, Data: 1},
		} {
			m.Tag, m.Seed = uint64(i), uint64(i)
			in := b.post(m.Size, toA, m.Tag, 0)
			out, err := startWith(a, b, toB, m)
			require.NoError(t, err)
			sendBoth(a, b, out, in) // with the context that it has
			require.Nil(t, out.err)
			check(t, in, m, toA)
			name := "tsend"
			switch {
			case m.Inject && m.HasData:
				name = "tinjectdata"
			case m.Inject:
				name = "tinject"
			case m.Parts > 0 && m.HasData:
				name = "tsendmsg"
			case m.Parts > 0:
				name = "tsendv"
			case m.HasData:
				name = "tsenddata"
			}
			want[fmt.Sprintf("%s of %d bytes, tag %d", name, m.Size, i)]++
		}
		a.until(func() bool { return ended == len(want) }) // injects, too
		require.Empty(t, a.odd)
		require.Empty(t, b.odd)
		sent := map[int]uint64{}
		for i, s := range a.ep.Stats() {
			if n := s.TSends + s.TInjects; n > 0 {
				sent[i] = n
			}
		}
		require.NoError(t, a.ep.Close())
		require.NoError(t, b.ep.Close())
		require.NoError(t, lnx.StopRecording())

		links := rows(t, timer.OpenLinks, filepath.Join(dir, "links_rank7.csv"))
		endpoints := rows(t, timer.OpenEndpoints, filepath.Join(dir, "endpoints_rank7.csv"))
		require.Len(t, endpoints, 2)
		got, onRail := map[string]int{}, map[int]uint64{}
		for _, op := range rows(t, timer.OpenOps, filepath.Join(dir, "ops_rank7.csv")) {
			got[fmt.Sprintf("%s of %d bytes, tag %d", op.Op, op.Bytes, op.Tag)]++
			l := links[op.Link]
			onRail[l.Rail]++
			require.Less(t, op.Start, op.End)
			require.Zero(t, op.Status)
			require.Equal(t, endpoints[0].ID, l.Endpoint)
			require.Equal(t, endpoints[0].Address, l.LocalAddr)
			require.Equal(t, endpoints[1].Address, l.RemoteAddr)
			nic := map[string]string{"shm": "shm", "tcp;ofi_rxm": "lo", "tcp": "lo"}[l.Provider]
			require.Equal(t, []string{nic, nic}, []string{l.LocalNIC, l.RemoteNIC})
		}
		require.Equal(t, want, got)
		require.Equal(t, sent, onRail)
		m, err := timer.ReadMeta(filepath.Join(dir, "meta_rank7.json"))
		require.NoError(t, err)
		require.Equal(t, timer.OpCounts{RowCounts: timer.RowCounts{Recorded: uint64(len(want))}}, m.Ops)
		require.Equal(t, "closed", m.Ended)

		files, err := flags.ReadDir(dir)
		require.NoError(t, err)
		steps := map[flags.Step]int{}
		for _, r := range files[0].Records {
			steps[r.Step]++
		}
		rails := len(a.ep.Link().Rails)
		require.Equal(t, map[flags.Step]int{flags.GetInfo: steps[flags.GetInfo], flags.Domain: 2 * rails, flags.Endpoint: 2 * rails}, steps)
		require.Positive(t, steps[flags.GetInfo])
	})
}

// An operation that fails is a row with its error, and one that the end of the endpoint
// ends is one, too.
func TestRecordedFailures(t *testing.T) {
	dir := t.TempDir()
	tcp := choice{Links: "tcp:lo"} // over shm Close has the other end of the process take it
	opts := recordingIn(dir, tcp)
	a, b := newNode(t, opts), newNode(t, tcp.options())
	toB := a.insert(b.ep.Name())
	b.insert(a.ep.Name())
	// Above the inject size it completes when it is received, which it never is.
	_, err := startWith(a, b, toB, message{Size: 100_000, Tag: 1})
	require.NoError(t, err)
	require.Error(t, a.ep.TSend(nil, 99, 2, nil), "no such peer")
	require.NoError(t, a.ep.Close())
	require.NoError(t, lnx.StopRecording())
	ops := rows(t, timer.OpenOps, filepath.Join(dir, "ops_rank0.csv"))
	require.Len(t, ops, 1)
	require.Equal(t, int(fierr.ECanceled), ops[0].Status)
	m, err := timer.ReadMeta(filepath.Join(dir, "meta_rank0.json"))
	require.NoError(t, err)
	require.Zero(t, m.Ops.Unfinished)
}

// A bad value is an error when links are listed, which names the variable, and nothing is
// written.
func TestBadVariablesOfRecorders(t *testing.T) {
	for name, c := range map[string]struct{ value, want string }{
		"INTERCEPT_TIMER_OPS_MB":        {"lots", "a number of MiB"},
		"INTERCEPT_TIMER_NIC_MB":        {"-1", "a number of MiB"},
		"INTERCEPT_TIMER_OPS_MIN_BYTES": {"4k", "a whole number"},
		"INTERCEPT_TIMER_OPS_RANKS":     {"7-4", "neither a rank nor a range"},
		"INTERCEPT_TIMER_OPS_NIC":       {"cxi[", "no pattern"},
		"INTERCEPT_TIMER_NIC":           {"on", "1 turns the sampling of NIC counters on"},
		"INTERCEPT_TIMER_NIC_DEV":       {"nosuch0", `there is no NIC "nosuch0" with counters`},
		"INTERCEPT_TIMER_NIC_MS":        {"0", "a number of milliseconds"},
		"INTERCEPT_TIMER_NIC_COUNTERS":  {"a,,b", "an entry is empty"},
		"INTERCEPT_TIMER_CQGAP":         {"1.5", "a whole number"},
		"INTERCEPT_FLAGS_RESULTS_MAX":   {"all", "a number of answers of fi_getinfo"},
		"RANK":                          {"first", "is no rank"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			opts := recordingIn(dir, choice{Links: "shm"}, "INTERCEPT_TIMER_NIC", "1", name, c.value)
			l, err := lnx.Links(opts)
			require.ErrorContains(t, err, name+"=")
			require.ErrorContains(t, err, c.value)
			require.ErrorContains(t, err, c.want)
			require.NotErrorIs(t, err, lnx.ErrNoLinks)
			require.Empty(t, l.Links)
			require.NoDirExists(t, dir)
		})
	}
}

// A directory that cannot be is an error when the first file would be made.
func TestRecordNowhere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o666))
	opts := choice{Links: "shm"}.options()
	opts.Lookup = onlyEnv(map[string]string{"INTERCEPT_FLAGS_DIR": file})
	_, err := lnx.Links(opts)
	require.ErrorContains(t, err, `INTERCEPT_FLAGS_DIR="`+file+`"`)

	opts.Lookup = onlyEnv(map[string]string{"INTERCEPT_TIMER_DIR": file})
	l, err := lnx.Links(opts)
	require.NoError(t, err)
	before := len(held(t).FDs)
	_, err = lnx.Open(l.Links[0])
	require.ErrorContains(t, err, `open shm: op timer: INTERCEPT_TIMER_DIR="`+file+`"`)
	require.LessOrEqual(t, len(held(t).FDs), before)
}

// contents are the files of a directory.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		all[e.Name()] = string(text)
	}
	return all
}

// Who looks at what there is, and opens nothing, does not spoil what an earlier run has
// recorded.
func TestLookingRecordsNoOperations(t *testing.T) {
	dir := t.TempDir()
	opts := choice{Links: "shm"}.options()
	opts.Lookup = onlyEnv(map[string]string{"INTERCEPT_TIMER_DIR": dir})
	a, b := newNode(t, opts), newNode(t, opts)
	exchangeOne(t, a, b, a.insert(b.ep.Name()), b.insert(a.ep.Name()))
	require.NoError(t, a.ep.Close())
	require.NoError(t, b.ep.Close())
	require.NoError(t, lnx.StopRecording())
	recorded := contents(t, dir)
	require.Equal(t, 1+4, strings.Count(recorded["ops_rank0.csv"], "\n"))

	_, err := lnx.Links(opts)
	require.NoError(t, err)
	require.NoError(t, lnx.StopRecording())
	require.Equal(t, recorded, contents(t, dir))
}

// When recording is stopped, endpoints that are open go on.
func TestStopRecording(t *testing.T) {
	dir := t.TempDir()
	a, b := newNode(t, recordingIn(dir, choice{Links: "shm"})), newNode(t, choice{Links: "shm"}.options())
	toB, toA := a.insert(b.ep.Name()), b.insert(a.ep.Name())
	exchangeOne(t, a, b, toB, toA)
	in := b.post(8, toA, 1, 0)
	out, err := startWith(a, b, toB, message{Size: 8, Tag: 1})
	require.NoError(t, err)
	require.NoError(t, lnx.StopRecording())
	recorded := contents(t, dir)
	sendBoth(a, b, out, in)
	require.Nil(t, out.err)
	exchangeOne(t, a, b, toB, toA)
	require.NoError(t, lnx.StopRecording())
	require.NoError(t, a.ep.Close())
	require.Equal(t, recorded, contents(t, dir))
	m, err := timer.ReadMeta(filepath.Join(dir, "meta_rank0.json"))
	require.NoError(t, err)
	require.Equal(t, uint64(3), m.Ops.Recorded+m.Ops.Unfinished)
}

// A limit that is reached ends the recording with one line, whole files, and no harm to
// the program.
func TestRecordingReachesItsLimit(t *testing.T) {
	text := stderrOf(t)
	dir := t.TempDir()
	opts := recordingIn(dir, choice{Links: "shm"}, "INTERCEPT_TIMER_OPS_MB", "0.0009765625")
	a, b := newNode(t, opts), newNode(t, choice{Links: "shm"}.options())
	toB, toA := a.insert(b.ep.Name()), b.insert(a.ep.Name())
	const n = 200
	for i := range n {
		in := b.post(8, toA, uint64(i), 0)
		out, err := startWith(a, b, toB, message{Size: 8, Tag: uint64(i)})
		require.NoError(t, err)
		sendBoth(a, b, out, in)
		require.Nil(t, out.err)
	}
	require.NoError(t, a.ep.Close())
	require.NoError(t, lnx.StopRecording())
	require.Equal(t, "golnx op timer: ops_rank0.csv has reached INTERCEPT_TIMER_OPS_MB=0.0009765625: no more operations are recorded\n", text())
	ops := contents(t, dir)["ops_rank0.csv"]
	require.LessOrEqual(t, len(ops), 1024)
	require.True(t, strings.HasSuffix(ops, "\n"))
	m, err := timer.ReadMeta(filepath.Join(dir, "meta_rank0.json"))
	require.NoError(t, err)
	require.Equal(t, uint64(strings.Count(ops, "\n")-1), m.Ops.Recorded)
	require.Equal(t, uint64(n), m.Ops.Recorded+m.Ops.Dropped)
}

// NIC counters are sampled of the NICs that the rails have, and grow with what they carry.
func TestRecordedNIC(t *testing.T) {
	dir := t.TempDir()
	opts := recordingIn(dir, choice{Links: "shm+tcp:lo", DisableShm: true}, "INTERCEPT_TIMER_NIC", "1", "INTERCEPT_TIMER_NIC_MS", "1", "INTERCEPT_TIMER_NIC_COUNTERS", "[rt]x_bytes")
	a, b := newNode(t, opts), newNode(t, opts)
	toB, toA := a.insert(b.ep.Name()), b.insert(a.ep.Name())
	const size, n = 1 << 20, 10
	for i := range n {
		in := b.post(size, toA, uint64(i), 0)
		out, err := startWith(a, b, toB, message{Size: size, Tag: uint64(i)})
		require.NoError(t, err)
		sendBoth(a, b, out, in)
	}
	require.NoError(t, a.ep.Close())
	require.NoError(t, b.ep.Close())
	require.NoError(t, lnx.StopRecording())
	first, last, before := map[string]uint64{}, map[string]uint64{}, map[string]int64{}
	for _, s := range rows(t, timer.OpenNIC, filepath.Join(dir, "nic_rank0.csv")) {
		require.Equal(t, "lo", s.Device)
		require.GreaterOrEqual(t, s.Time, before[s.Counter])
		before[s.Counter] = s.Time
		if _, ok := first[s.Counter]; !ok {
			first[s.Counter] = s.Value
		}
		last[s.Counter] = s.Value
	}
	require.ElementsMatch(t, []string{"rx_bytes", "tx_bytes"}, slices.Collect(maps.Keys(first)))
	for counter := range first {
		require.GreaterOrEqual(t, last[counter]-first[counter], uint64(n*size), counter)
	}
	// One clock: operations lie between the first and the last sample.
	for _, op := range rows(t, timer.OpenOps, filepath.Join(dir, "ops_rank0.csv")) {
		require.Less(t, op.End, before["tx_bytes"])
		require.Less(t, time.Since(time.Unix(0, op.End)), time.Hour)
	}
}

// Blocking calls get their own ends, whatever the recorder put in the way.
func TestRecordedBlockingCalls(t *testing.T) {
	dir := t.TempDir()
	opts := recordingIn(dir, choice{Links: "shm"})
	a, b := newNode(t, opts), newNode(t, opts)
	toB, toA := a.insert(b.ep.Name()), b.insert(a.ep.Name())
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for i := range 50 {
		sent := make(chan error, 1)
		go func() { sent <- a.ep.Send(ctx, toB, uint64(i), make([]byte, 9000)) }()
		info, err := b.ep.Recv(ctx, toA, uint64(i), 0, make([]byte, 9000))
		require.NoError(t, err)
		require.NoError(t, <-sent)
		require.Equal(t, lnx.RecvInfo{Len: 9000, Tag: uint64(i), From: toA}, info)
	}
	require.NoError(t, a.ep.Close())
	require.NoError(t, b.ep.Close())
	require.NoError(t, lnx.StopRecording())
	require.Len(t, rows(t, timer.OpenOps, filepath.Join(dir, "ops_rank0.csv")), 50)
}
