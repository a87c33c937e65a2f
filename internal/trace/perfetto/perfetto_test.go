package perfetto

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/internal/trace"
	"golnx/internal/trace/synth"
	"golnx/rail/timer"
)

// event is one of the file's.
type event struct {
	Ph   string
	PID  int
	Name string
	Cat  string
	ID   string
	TS   *float64
	Args map[string]any
}

type file struct {
	DisplayTimeUnit string
	OtherData       struct {
		Base string `json:"base_unix_ns"`
	}
	TraceEvents []event
}

// written answers what is written of a run, decoded.
func written(t *testing.T, run *trace.Run) file {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, Write(t.Context(), run, &out, nil))
	var f file
	d := json.NewDecoder(&out)
	d.UseNumber() // of the arguments
	require.NoError(t, d.Decode(&f))
	require.Equal(t, io.EOF, d.Decode(new(any)), "nothing follows")
	return f
}

func opened(t *testing.T, c synth.Config) *trace.Run {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, synth.Write(dir, c))
	run, err := trace.Open(dir)
	require.NoError(t, err)
	return run
}

// thread tells tracks of async events apart.
type thread struct {
	pid     int
	cat, id string
}

// pairs checks that the events of each id come as begin and end in turn, and answers
// each pair as text.
func pairs(t *testing.T, events []event) []string {
	t.Helper()
	tracks := map[thread][]event{}
	for _, e := range events {
		if e.Ph == "b" || e.Ph == "e" {
			key := thread{e.PID, e.Cat, e.ID}
			tracks[key] = append(tracks[key], e)
		}
	}
	var all []string
	for key, events := range tracks {
		require.NotEmpty(t, key.id)
		slices.SortStableFunc(events, func(a, b event) int {
			switch {
			case *a.TS < *b.TS:
				return -1
			case *a.TS > *b.TS:
				return 1
			}
			return 0
		})
		require.Zero(t, len(events)%2, key)
		for i := 0; i < len(events); i += 2 {
			b, e := events[i], events[i+1]
			require.Equal(t, "be", b.Ph+e.Ph, "%v at %v", key, *b.TS)
			require.Equal(t, b.Name, e.Name)
			all = append(all, fmt.Sprintf("%d %s %.3f %.3f %v", key.pid, b.Name, *b.TS, *e.TS, b.Args["bytes"]))
		}
	}
	slices.Sort(all)
	return all
}

func TestOperations(t *testing.T) {
	run := opened(t, synth.Config{Ops: 5000})
	f := written(t, run)
	require.Equal(t, fmt.Sprint(synth.Start), f.OtherData.Base)
	var want []string
	ids := map[string]bool{}
	require.NoError(t, run.Ops(t.Context(), nil, func(op *trace.Op) error {
		want = append(want, fmt.Sprintf("%d %s %s %.3f %.3f %d", op.Link.Rank.Rank, op.Op.Op, op.Link.Path,
			float64(op.Start-synth.Start)/1e3, float64(op.End-synth.Start)/1e3, op.Bytes))
		return nil
	}))
	slices.Sort(want)
	require.Equal(t, want, pairs(t, f.TraceEvents))
	for _, e := range f.TraceEvents {
		ids[e.ID] = true
	}
	require.Less(t, len(ids), 2000, "operations that do not overlap share an id")
}

func TestProcessesAndCounters(t *testing.T) {
	run := opened(t, synth.Config{Ops: 5000})
	f := written(t, run)
	names := map[int]any{}
	sums := map[string]float64{}
	last := map[string]event{}
	for _, e := range f.TraceEvents {
		switch e.Ph {
		case "M":
			if e.Name == "process_name" {
				names[e.PID] = e.Args["name"]
			}
		case "C":
			key := fmt.Sprint(e.PID, e.Name)
			if prev, ok := last[key]; ok {
				sums[key] += number(t, prev.Args["value"]) * (*e.TS - *prev.TS) / 1e6
			}
			last[key] = e
		}
	}
	require.Equal(t, map[int]any{0: "rank 0 on node0", 1: "rank 1 on node0", 2: "rank 2 on node1", 3: "rank 3 on node1"}, names)
	require.Len(t, last, 16)
	// What the rates add up to is by how much the counter grew, but for the last interval.
	values := map[string][]uint64{}
	require.NoError(t, run.Samples(t.Context(), nil, func(k *trace.Rank, s *timer.NICSample) error {
		key := fmt.Sprint(k.Rank, s.Device+" "+s.Counter+" per s")
		values[key] = append(values[key], s.Value)
		return nil
	}))
	for key, v := range values {
		grown := float64(v[len(v)-2] - v[0])
		require.InDelta(t, grown, sums[key], math.Max(1, grown*1e-4), key)
	}
}

func number(t *testing.T, v any) float64 {
	t.Helper()
	n, err := v.(json.Number).Float64()
	require.NoError(t, err)
	return n
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
}

const opsHeader = "start_ns,end_ns,op,bytes,link,tag,status\n"

// Without a record of when recording began, times count from the earliest operation.
func TestOddOperations(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "ops_rank5.csv", opsHeader+
		"1000000000000005000,1000000000000009001,tsend,8,0,0xffffffffffffffff,5\n"+
		"1000000000000000001,1000000000000000001,\"odd \"\"</script>\",0,9,0x0,0\n"+ // takes no time, and is late
		"1000000000000009001,1000000000000009001,tsend,1,0,0x0,0\n")
	write(t, dir, "cqgaps_rank5.csv", "start_ns,end_ns,endpoint\n1000000000000002000,1000000000000003000,1\n")
	run, err := trace.Open(dir)
	require.NoError(t, err)
	f := written(t, run)
	require.Equal(t, "1000000000000000001", f.OtherData.Base)
	require.Equal(t, []string{
		"5 CQ not read 1.999 2.999 <nil>",
		"5 odd \"</script> unknown → unknown 0.000 0.000 0",
		"5 tsend unknown → unknown 4.999 9.000 8",
		"5 tsend unknown → unknown 9.000 9.000 1",
	}, pairs(t, f.TraceEvents))
	i := slices.IndexFunc(f.TraceEvents, func(e event) bool { return e.Args["error"] != nil })
	require.Equal(t, "0xffffffffffffffff", f.TraceEvents[i].Args["tag"])
	require.NotEmpty(t, f.TraceEvents[i].Args["error"])
	require.NotContains(t, f.TraceEvents[i].Args, "peer")
}

func TestExtremes(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, synth.Extremes(dir))
	run, err := trace.Open(dir)
	require.NoError(t, err)
	require.Len(t, pairs(t, written(t, run).TraceEvents), 5)
}

func TestNothing(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "ops_rank0.csv", "")
	run, err := trace.Open(dir)
	require.NoError(t, err)
	require.Empty(t, pairs(t, written(t, run).TraceEvents))
}

// A counter that was set back has no rate over that time.
func TestCounterSetBack(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "nic_rank0.csv", "time_ns,device,counter,value\n0,eth0,x,10\n1000000000,eth0,x,20\n2000000000,eth0,x,5\n3000000000,eth0,x,8\n")
	run, err := trace.Open(dir)
	require.NoError(t, err)
	var rates []float64
	for _, e := range written(t, run).TraceEvents {
		if e.Ph == "C" {
			rates = append(rates, number(t, e.Args["value"]))
		}
	}
	require.Equal(t, []float64{10, 3}, rates)
}

func TestErrors(t *testing.T) {
	run := opened(t, synth.Config{Ops: 50_000})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, Write(ctx, run, new(bytes.Buffer), nil), context.Canceled)
	full := errFull{}
	require.ErrorIs(t, Write(t.Context(), run, &full, nil), errFull{})
}

// errFull is a full disk.
type errFull struct{}

func (errFull) Error() string                  { return "full" }
func (e *errFull) Write(b []byte) (int, error) { return 0, *e }
