package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"golnx/internal/shmclean"
)

var update = flag.Bool("update", false, "rewrite golden files")

// asCommand makes the test binary the command, so that what it starts is it, too.
const asCommand = "LNX_TEST_AS_COMMAND"

// patience is for what should take no time; running into it is a failure.
const patience = 60 * time.Second

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(run(os.Args[1:]))
	}
	for _, name := range []string{"FI_LNX_PROV_LINKS", "FI_LNX_MULTI_RAIL_SELECTION", "FI_LNX_DISABLE_SHM", "FI_LNX_DUMP_STATS"} {
		if err := os.Unsetenv(name); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// command prepares the real command.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append(os.Environ(), asCommand+"=1", "GORACE=atexit_sleep_ms=0")
	return cmd
}

// outcome is how a command ended.
type outcome struct {
	stdout, stderr string
	code           int
}

// execute runs the real command to its end.
func execute(t *testing.T, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := command(t, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// within runs a command that starts no process in this one.
func within(t *testing.T, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	a := &app{ctx: t.Context(), out: &stdout, err: &stderr}
	code := a.exitCode(a.command(args))
	return outcome{stdout.String(), stderr.String(), code}
}

// running is a command that has not ended.
type running struct {
	*exec.Cmd
	t     *testing.T
	lines chan string // of its standard error
}

func start(t *testing.T, args ...string) *running {
	t.Helper()
	r := &running{Cmd: command(t, args...), t: t, lines: make(chan string, 1000)}
	r.begin()
	return r
}

// begin starts what has been prepared.
func (r *running) begin() { r.t.Helper(); r.beginBy((*exec.Cmd).Start) }

func (r *running) beginBy(start func(*exec.Cmd) error) {
	r.t.Helper()
	stderr, err := r.StderrPipe()
	require.NoError(r.t, err)
	require.NoError(r.t, start(r.Cmd))
	go func() {
		defer close(r.lines)
		for s := bufio.NewScanner(stderr); s.Scan(); {
			r.lines <- s.Text()
		}
	}()
}

// await reads lines until one matches, and answers the submatches.
func (r *running) await(pattern string) []string {
	r.t.Helper()
	re := regexp.MustCompile(pattern)
	for {
		select {
		case line, ok := <-r.lines:
			require.True(r.t, ok, "ended without a line like %q", pattern)
			if m := re.FindStringSubmatch(line); m != nil {
				return m
			}
		case <-time.After(patience):
			require.FailNow(r.t, "no line like "+pattern)
		}
	}
}

// finish waits for the end and answers the code and the rest of standard error.
func (r *running) finish() (int, string) {
	r.t.Helper()
	var rest strings.Builder
	for line := range r.lines {
		rest.WriteString(line + "\n")
	}
	var exit *exec.ExitError
	if err := r.Wait(); !errors.As(err, &exit) {
		require.NoError(r.t, err)
	}
	return r.ProcessState.ExitCode(), rest.String()
}

// process is another process, to be seen ending.
type process struct{ pid, fd int }

func watch(t *testing.T, pid string) process {
	t.Helper()
	n, err := strconv.Atoi(pid)
	require.NoError(t, err)
	fd, err := unix.PidfdOpen(n, 0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Close(fd)) })
	return process{n, fd}
}

func (p process) requireEnd(t *testing.T) {
	t.Helper()
	fds := []unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}
	deadline := time.Now().Add(patience)
	for {
		n, err := unix.Poll(fds, int(time.Until(deadline).Milliseconds()))
		if err == unix.EINTR {
			continue
		}
		require.NoError(t, err)
		require.Equal(t, 1, n, "process %d is still there", p.pid)
		return
	}
}

// requireNoRegions checks that the processes, which have ended, left no memory.
func requireNoRegions(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		regions, err := filepath.Glob("/dev/shm/" + strconv.Itoa(pid) + ":*")
		require.NoError(t, err)
		require.Empty(t, regions)
	}
}

// requireRegionsRemoved does so for processes of which one was killed: the other can
// put its memory away where it can be known that it is nobody else's.
func requireRegionsRemoved(t *testing.T, pids ...int) {
	t.Helper()
	if _, err := shmclean.Find(shmclean.Roots{}); errors.Is(err, shmclean.ErrElsewhere) {
		t.Log("not checked:", err)
		return
	}
	requireNoRegions(t, pids...)
}

// requireGolden compares with a file of testdata.
func requireGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestBadFlags(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"", "a command is missing: lnx has info, demo,"},
		{"nosuch", `lnx has no command "nosuch": there are info, demo,`},
		{"inf", `lnx has no command "inf", did you mean "info"?`},
		{"trace", "a command is missing: lnx trace has summary, report,"},
		{"trace nosuch", `lnx trace has no command "nosuch": there are summary, report,`},
		{"trace summary", "<dir> is missing; see lnx trace summary --help"},
		{"trace summary /nosuch", "lnx: /nosuch: no such file or directory"},
		{"info more", "unexpected argument more; see lnx info --help"},
		{"doctor --x", "unknown flag --x; see lnx doctor --help"},
		{"run", "--ranks=N is missing; see lnx run --help"},
		{"plan --links", "--links: its value is missing; see lnx plan --help"},
		{"plan --numa -1", "--numa: \"-1\" looks like a flag: write --numa=-1"},
		{"plan --numa x", `--numa: "x" is no whole number in range`},
		{"plan --seed=-1", `--seed: "-1" is no whole number from 0`},
		{"plan --machine=testdata", "exists but is a directory"},
		{"perf", "<test> is missing; see lnx perf --help"},
		{"perf lat --itrs=5", `unknown flag --itrs, did you mean "--iters"?`},
		{"perf lat --timeout=x", `--timeout: "x" is no time: write a number with a unit, as`},
		{"perf lat --duration=5", `--duration: "5" is no time: write a number with a unit, as`},
		{"perf nosuch", `there is no test "nosuch"`},
		{"perf exchange", `there is no test "exchange"`},
		{"perf lat --size=-1", `"-1" is no size`},
		{"perf lat --size -1", "--size"},
		{"perf lat --size=8x", `"8x" is no size`},
		{"perf lat --size=", `"" is no size`},
		{"perf lat --size=8,1G", "--size 1073741824: 0 to"},
		{"perf lat --size=99999999999G", "too large"},
		{"perf lat --iters=0", "--iters 0: 1 to"},
		{"perf lat --iters=-5", "--iters -5: 1 to"},
		{"perf lat --iters=99999999999", "--iters 99999999999: 1 to"},
		{"perf lat --iters=99999999999999999999999", "--iters"},
		{"perf lat --warmup=-1", "--warmup -1: 0 to"},
		{"perf lat --window=4", "one message under way at a time"},
		{"perf bw --window=0", "--window 0: 1 to"},
		{"perf rate --window=1,64,0", "--window 0: 1 to"},
		{"perf rate --window=64,16385", "--window 16385: 1 to"},
		{"perf rate --window=1,x", `"x" is no number`},
		{"perf rate --window=1,", `"" is no number`},
		{"perf rate --window=", `"" is no number`},
		{"perf lat --window=1,4", "one message under way at a time"},
		{"perf bw --window=1,16384 --size=8,1M", "--window 16384 with --size 1048576: the product may be"},
		{"perf bw --window=16384 --size=1M", "the product may be"},
		{"perf lat --both", "--both: it is for rate and bw, not for lat"},
		{"perf rate --percentiles", "rate times all of them"},
		{"perf bw --histogram", "bw times all of them"},
		{"perf lat --csv --json", "can't be used together"},
		{"perf lat --iters=1 --duration=1s", "can't be used together"},
		{"perf lat --duration=0s", "--duration 0s"},
		{"perf lat --duration=2h", "--duration 2h0m0s"},
		{"perf lat --op=copy", `--op "copy": there are`},
		{"perf bw --op=fadd", "--op fadd: bw is done with read, send, tsend, write"},
		{"perf lat --op=fadd --size=16", "--size 16: lat --op fadd takes 8 to 8 bytes"},
		{"perf match --op=send", "--op send: match is done with tsend"},
		{"perf rate --op=send --batch=2", "with --op tsend"},
		{"perf match --op=read", "--op read: match is done with tsend"},
		{"perf idle --op=write", "--op write: idle is done with tsend"},
		{"perf nosuch --op=write", `there is no test "nosuch"`},
		{"perf bw --op=read --size=0", "--size 0: bw --op read takes 1 to"},
		{"perf rate --op=write --batch=2", "with --op tsend"},
		{"perf rate --op=write --goroutines=2", "rate --op write has one at each end"},
		{"perf lat --goroutines=0", "--goroutines 0: 1 to"},
		{"perf bw --goroutines=2", "bw --op tsend has one at each end"},
		{"perf lat --goroutines=2 --cpus=0,1", "with --goroutines there is none"},
		{"perf lat --cpus=0", "write two processors"},
		{"perf lat --cpus=0,x", `"x" is no processor`},
		{"perf lat --cpus=0,1024", `"1024" is no processor`},
		{"perf lat --posted=1", "for the test match"},
		{"perf match --kind=all", `--kind "all": there are exact`},
		{"perf match --posted=1000001", "--posted 1000001: 0 to"},
		{"perf match --posted=0,", `"" is no number`},
		{"perf match --unexpected=-1", "--unexpected -1: 0 to"},
		{"perf lat --policy=NO", `--policy: unknown policy "NO": known are NEAREST, PER_MSG, PER_PEER, WEIGHTED`},
		{"perf lat --links=shm+", "--links: link spec, column 5: found the end of the spec"},
		{"perf lat --links=shm,tcp", `column 4: found ",", expected "+" and another provider,`},
		{"perf lat --timeout=0s", "--timeout 0s"},
		{"perf lat --listen=:1 --connect=:1", "--listen and --connect can't be used together"},
		{"perf lat --listen=:1 --size=8", "--listen leaves everything but"},
		{"perf lat --connect=nowhere", `"nowhere" is no HOST:PORT`},
		{"perf lat --listen=:1 --csv", "--listen leaves everything"},
		{"bench --cbench=x --rows=[", "--rows"},
		{"bench --cbench=x --rows=nosuch", "no row is called like that"},
		{"bench --cbench=x --goals --rows=unexpected", "no row with a goal is called like that"},
		{"bench --cbench=x --rounds=0", "--rounds 0: at least 1"},
		{"info --links=shm|", "found the end of the spec"},
		{"demo --links=+", "link spec"},
		{"plan --peers=0", "--peers 0: 1 to"},
		{"plan --messages=-1", "--messages -1: 1 to"},
		{"plan --machine=testdata/nosuch", "no such file"},
		{"plan --links=shm --local --peers=1000 --messages=1000", "at most"},
	} {
		t.Run(c.args, func(t *testing.T) {
			got := within(t, strings.Fields(c.args)...)
			require.Equal(t, exitUsage, got.code, got.stderr)
			require.Contains(t, got.stderr, c.want)
			require.NotRegexp(t, `bit u?int|EOL|token|strconv|expected (one of |"<|a valid|an int|int |uint |duration)|stat /`, got.stderr, "words of a parser, not of the user")
			require.Empty(t, got.stdout)
			for line := range strings.Lines(got.stderr) {
				require.True(t, strings.HasPrefix(line, "lnx: "), line)
			}
		})
	}
}

func TestExitCodeOfUsage(t *testing.T) {
	got := execute(t, "perf", "lat", "--iters=0")
	require.Equal(t, outcome{"", "lnx: perf: --iters 0: 1 to 1000000000 are possible\n", exitUsage}, got)
}

func TestVersion(t *testing.T) {
	got := execute(t, "version")
	require.Zero(t, got.code, got.stderr)
	require.Regexp(t, `^golnx .+\nlibfabric headers (\d+\.\d+)\nlibfabric library \d+\.\d+\n$`, got.stdout)
	text := regexp.MustCompile(`libfabric headers (.*)`).FindStringSubmatch(got.stdout)[1]

	got = execute(t, "version", "--json")
	require.Zero(t, got.code, got.stderr)
	var out versions
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &out))
	require.NotEmpty(t, out.Golnx)
	require.Equal(t, versions{out.Golnx, text, text}, out)
}
