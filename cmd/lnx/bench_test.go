package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/cmd/lnx/benchtable"
)

// buildCbench builds testdata/cbench and answers the program.
func buildCbench(t *testing.T) string {
	t.Helper()
	libs, err := exec.Command("pkg-config", "--cflags", "--libs", "libfabric").Output()
	require.NoError(t, err, "pkg-config libfabric")
	cc := strings.Fields(os.Getenv("CC")) // may hold options
	if len(cc) == 0 {
		cc = []string{"gcc"}
	}
	sources, err := filepath.Glob("../../testdata/cbench/*.c")
	require.NoError(t, err)
	program := filepath.Join(t.TempDir(), "cbench")
	args := append(cc[1:], "-Wall", "-Wextra", "-Werror", "-O2", "-o", program)
	out, err := exec.Command(cc[0], append(append(args, sources...), strings.Fields(string(libs))...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// The programs' tests share one cbench.
func TestCbench(t *testing.T) {
	program := buildCbench(t)
	for name, test := range map[string]func(t *testing.T, cbench string){
		"reports as perf":    cbenchReportsAsPerf,
		"on memory over tcp": cbenchOnMemoryOverTCP,
		"both ways":          cbenchBothWays,
		"refuses":            cbenchRefuses,
		"bench quickly":      benchQuickly,
	} {
		t.Run(name, func(t *testing.T) { test(t, program) })
	}
}

// runC runs cbench to its end.
func runC(t *testing.T, program string, args ...string) outcome {
	t.Helper()
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		require.NoError(t, err)
	}
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// shape is a line of JSON without its figures.
func shape(out string) string {
	out = regexp.MustCompile(`("(?:p50|p99|mean|msgs_per_s|ops_per_s|bytes_per_s|reg_ns|cpu_percent|half_rtt_us)":)[\d.]+`).ReplaceAllString(out, "$1N")
	// When the other end says that it has come as far differs.
	out = regexp.MustCompile(`"rx_msgs":\d+,"ops"`).ReplaceAllString(out, `"rx_msgs":N,"ops"`)
	return regexp.MustCompile(`"links":"[^"]*"`).ReplaceAllString(out, `"links":L`)
}

// The two programs run the same patterns and report them alike, messages on the way
// included.
func cbenchReportsAsPerf(t *testing.T, program string) {
	for _, args := range []string{
		"lat --size 0,8,9000 --iters 30 --warmup 3",
		"rate --size 8 --iters 100 --warmup 7 --window 8",
		"rate --size 8,64 --iters 50 --warmup 0 --window 1,8",
		"bw --size 4096,100000 --iters 40 --warmup 5 --window 4",
		"match --kind exact,tag,source --posted 0,1,50 --iters 20",
		"match --kind exact,tag,source --unexpected 1,50 --iters 20",
		"lat --op send --size 0,8,9000 --iters 30 --warmup 3",
		"rate --op send --size 8 --iters 100 --warmup 7 --window 8",
		"bw --op send --size 4096,100000 --iters 40 --warmup 5 --window 4",
		"lat --op read --size 1,9000 --iters 30 --warmup 3",
		"lat --op write --size 1,9000 --iters 300 --warmup 3",
		"rate --op read --size 8 --iters 100 --warmup 7 --window 8",
		"rate --op write --size 8 --iters 50 --warmup 0 --window 1",
		"bw --op read --size 4096,100000 --iters 40 --warmup 5 --window 4",
		"bw --op write --size 4096,100000 --iters 40 --warmup 5 --window 4 --both",
		"bw --op read --size 100000 --iters 40 --both --huge",
		"lat --size 3000000 --iters 5 --huge",
		"lat --op fadd --iters 30 --warmup 3",
		"rate --op fadd --iters 100 --warmup 7 --window 8 --both",
		"idle --iters 3 --warmup 2",
		"reg --op write --size 8,4096 --iters 100 --warmup 3",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			words := strings.Fields(args)
			c := runC(t, program, append(words, "--provider", "shm", "--timeout", "30")...)
			require.Zero(t, c.code, c.stderr)
			require.Empty(t, c.stderr)
			got := execute(t, append([]string{"perf", "--links=shm", "--json"}, words...)...)
			require.Zero(t, got.code, got.stderr)
			require.Equal(t, shape(c.stdout), shape(got.stdout))
		})
	}
}

func cbenchOnMemoryOverTCP(t *testing.T, program string) {
	for _, args := range []string{"lat --op read", "lat --op write", "rate --op read --both", "bw --op write", "lat --op fadd"} {
		c := runC(t, program, append(strings.Fields(args), strings.Fields("--provider tcp;ofi_rxm --domain lo --iters 50 --timeout 30")...)...)
		require.Zero(t, c.code, c.stderr)
		require.EqualValues(t, 50, parse(t, c.stdout)[0].Rails[0].Ops)
	}
}

// Both ways, an end may begin a little before the other: what arrives may differ.
func cbenchBothWays(t *testing.T, program string) {
	for _, provider := range []string{"shm", "lnx", "tcp;ofi_rxm"} {
		c := runC(t, program, "rate", "--both", "--iters", "100", "--window", "8", "--timeout", "30", "--provider", provider, "--domain", "lo")
		if provider == "shm" { // which has no interface
			c = runC(t, program, "rate", "--both", "--iters", "100", "--window", "8", "--timeout", "30", "--provider", provider)
		}
		require.Zero(t, c.code, c.stderr)
		require.Regexp(t, `^\{"test":"rate","op":"tsend","links":"[^"]+","size":8,"iters":100,"window":8,"both":true,"msgs_per_s":\d+,"rails":\[.*\]\}\n$`, c.stdout)
		require.Positive(t, parse(t, c.stdout)[0].Msgs)
	}
}

func cbenchRefuses(t *testing.T, program string) {
	for want, args := range map[string]string{
		"--provider is missing":          "lat",
		"there is no test nosuch":        "nosuch --provider shm",
		"no number from 0":               "lat --provider shm --size -1",
		"no kind of receive: all":        "match --provider shm --kind all",
		"--cpus wants two":               "lat --provider shm --cpus 1",
		"C LNX 2.1 crashes with more":    "match --provider lnx --posted 100000",
		"no operation: copy":             "lat --provider shm --op copy",
		"tagged messages only, no write": "bw --provider lnx --op write",
		"reg is done with write":         "reg --provider shm --op read",
		"match and idle are done with":   "match --provider shm --op send",
		"idle are done with tsend":       "idle --provider shm --op read",
		"bw is not done with fadd":       "bw --provider shm --op fadd",
		"--size is 8 for fadd":           "lat --provider shm --op fadd --size 8,16",
		"fi_cq_open: Function not impl":  "idle --provider lnx --domain lo",
		"--size is at least 1 for read":  "bw --provider shm --op read --size 8,0",
		"--both is for rate and bw":      "lat --provider shm --both",
		"--timeout is at least 1":        "lat --provider shm --timeout 0",
		"fi_getinfo: No data available":  "lat --provider nosuch",
	} {
		got := runC(t, program, strings.Fields(args)...)
		require.NotZero(t, got.code, args)
		require.Contains(t, got.stderr, want, args)
		require.Empty(t, got.stdout)
	}
}

// Everything that make bench compares can be run. What cannot be made here, as a
// network namespace, is skipped by the command itself, with its reason.
func benchQuickly(t *testing.T, program string) {
	out := t.TempDir()
	got := execute(t, "bench", "--cbench="+program, "--quick", "--rounds=1", "--out="+out)
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, got.stdout, "Medians of 1 rounds")
	measured := readMeasurement(t, out).Rows
	for i, r := range benchtable.Rows(quickDepths) {
		require.Equal(t, r.Name, measured[i].Name)
		require.Contains(t, got.stdout, r.Name)
		require.Empty(t, measured[i].Failed)
		if measured[i].Skipped == "" || os.Getenv("CI") != "" {
			require.Len(t, measured[i].Ours, 1, r.Name)
			require.Positive(t, measured[i].Ours[0], r.Name)
		}
	}
}

func TestBenchSelectsRows(t *testing.T) {
	for _, c := range []struct {
		benchCmd
		want int
	}{
		{benchCmd{Rows: "^half RTT 8 B, shm.tcp:lo / C"}, 2},
		{benchCmd{Rows: "^half RTT (8|64) B, shm.tcp:lo / C"}, 4},
		{benchCmd{Rows: "^half RTT (8|64) B, shm.tcp:lo / C", Goals: true}, 2},
		{benchCmd{Rows: "with 100000 posted", Goals: true}, 3},
		{benchCmd{Rows: "with 10+ posted"}, 3*5 + 3*4},
	} {
		c.Rounds = 1
		rows, err := c.rows()
		require.NoError(t, err)
		require.Len(t, rows, c.want, "%+v", c.benchCmd)
	}
}

// readMeasurement reads the one file that a folder has.
func readMeasurement(t *testing.T, dir string) (m measurement) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	text, err := os.ReadFile(files[0])
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &m))
	require.Equal(t, 1, m.Rounds)
	require.NotEmpty(t, m.Go)
	return m
}
