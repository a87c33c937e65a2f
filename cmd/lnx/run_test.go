package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"golnx/cmd/lnx/launch"
	"golnx/cmd/lnx/ui"
	"golnx/internal/ranks"
)

// machineTree makes the files of a machine, and answers its root.
func machineTree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text+"\n"), 0o644))
	}
	return root
}

// twoSockets has a Slingshot NIC at each of two sockets, and an Ethernet NIC.
var twoSockets = map[string]string{
	"sys/devices/system/node/node0/cpulist":  "0-31,64-95",
	"sys/devices/system/node/node0/distance": "10 32",
	"sys/devices/system/node/node1/cpulist":  "32-63,96-127",
	"sys/devices/system/node/node1/distance": "32 10",
	"sys/class/cxi/cxi0/device/numa_node":    "1",
	"sys/class/cxi/cxi1/device/numa_node":    "0",
	"sys/class/net/eth0/device/numa_node":    "0",
	"sys/class/net/lo/operstate":             "unknown",
}

func TestRunPlacement(t *testing.T) {
	t.Setenv(launch.DeviceVariable, "")
	root := machineTree(t, twoSockets)
	var out bytes.Buffer
	for _, c := range []runCmd{{Ranks: 4}, {Ranks: 2, NIC: "cxi0,ib*"}} {
		c.Root = root
		ranks, err := c.place(nil)
		require.NoError(t, err)
		require.NoError(t, ui.Print(&out, placementTable(ranks, nil)))
	}
	t.Setenv(launch.DeviceVariable, "cxi0")
	ranks, err := (&runCmd{Ranks: 2, Root: root}).place([]int{31, 32, 33})
	require.NoError(t, err)
	require.NoError(t, ui.Print(&out, placementTable(ranks, []startedRank{{pid: 4711}, {pid: 4713}})))
	requireGolden(t, "run.golden", out.String())
}

func TestRunPrint(t *testing.T) {
	root := machineTree(t, twoSockets)
	got := within(t, "run", "-n", "2", "--root", root, "--print", "--nic", "eth?", "--", "false")
	require.Zero(t, got.code, got.stderr)
	require.Equal(t, 2, strings.Count(got.stdout, "eth0"))
	require.NotContains(t, got.stdout, "pid")

	got = within(t, "run", "-n", "2", "--root", root, "--print", "--nic", "mlx5_0")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.stderr, "no NIC fits mlx5_0: there are cxi0, cxi1, eth0, lo")
	require.Empty(t, got.stdout)
}

func TestRunBadFlags(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"run", "--ranks=N is missing; see lnx run --help"},
		{"run -n 2", "nothing to run"},
		{"run -n 0 -- true", "-n 0: 1 to"},
		{"run --ranks=-1 -- true", "-n -1: 1 to"},
		{"run -n 1025 -- true", "-n 1025: 1 to"},
		{"run -n x -- true", `--ranks: "x" is no whole number in range`},
		{"run -n 1 --nic=cxi[ -- true", "--nic cxi["},
		{"run -n 1 --timeout=-1s -- true", "--timeout -1s"},
		{"run -n 1 --grace=-1s -- true", "--grace -1s"},
		{"run -n 1 --grace=25h -- true", "--grace 25h0m0s: 0 to 24h"},
	} {
		got := within(t, strings.Fields(c.args)...)
		require.Equal(t, exitUsage, got.code, c.args)
		require.Contains(t, got.stderr, c.want, c.args)
	}
}

// runScript runs a shell's script as ranks, and answers how that ended, its lines in order.
func runScript(t *testing.T, script string, flags ...string) outcome {
	t.Helper()
	got := execute(t, slices.Concat([]string{"run"}, flags, []string{"--", "sh", "-c", script})...)
	got.stdout = sorted(got.stdout)
	return got
}

func sorted(lines string) string {
	all := slices.Sorted(strings.Lines(lines))
	return strings.Join(all, "")
}

func TestRunEnvironment(t *testing.T) {
	for _, name := range ranks.Variables { // as under any launcher
		t.Setenv(name, "9")
	}
	t.Setenv(launch.DeviceVariable, "")
	got := runScript(t, `echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE ${SLURM_PROCID-none} ${PMI_RANK-none}; cat`, "-n", "3", "--quiet")
	require.Zero(t, got.code, got.stderr)
	require.Equal(t, "0/3 0/3 none none\n1/3 1/3 none none\n2/3 2/3 none none\n", got.stdout)
	require.Empty(t, got.stderr)
}

// Each rank is told its NIC, and the table tells the user.
func TestRunNIC(t *testing.T) {
	root := machineTree(t, map[string]string{
		"sys/devices/system/node/node0/cpulist":  "0-1023",
		"sys/devices/system/node/node0/distance": "10 32",
		"sys/devices/system/node/node1/cpulist":  "",
		"sys/devices/system/node/node1/distance": "32 10",
		"sys/class/cxi/cxi0/device/numa_node":    "1",
		"sys/class/cxi/cxi1/device/numa_node":    "0",
	})
	const script = `echo $RANK:$INTERCEPT_TIMER_NIC_DEV`
	t.Setenv(launch.DeviceVariable, "")
	got := runScript(t, script, "-n", "2", "--root", root)
	require.Equal(t, "0:cxi1\n1:cxi1\n", got.stdout)
	require.Regexp(t, `(?m)^│ +0 │ +[0-9]+ │ [0-9,-]+ +│ +0 │ cxi1 │ +10 │$`, got.stderr)

	t.Setenv(launch.DeviceVariable, "mine*")
	got = runScript(t, script, "-n", "2", "--root", root)
	require.Equal(t, "0:mine*\n1:mine*\n", got.stdout)
	require.Contains(t, got.stderr, "mine*")

	got = runScript(t, script, "-n", "2", "--root", root, "--nic", "cxi0")
	require.Equal(t, "0:cxi0\n1:cxi0\n", got.stdout, "the command line says more")

	t.Setenv(launch.DeviceVariable, "")
	got = runScript(t, `echo ${INTERCEPT_TIMER_NIC_DEV-unset}`, "-n", "1", "--root", t.TempDir())
	require.Equal(t, "\n", got.stdout, "as it was: there is no NIC")
}

// Ranks run on the processors of their node, or on those that lnx has.
func TestRunPinning(t *testing.T) {
	allowed, err := allowedCPUs()
	require.NoError(t, err)
	last := strconv.Itoa(allowed[len(allowed)-1])
	root := machineTree(t, map[string]string{"sys/devices/system/node/node0/cpulist": last})
	const script = `grep Cpus_allowed_list /proc/self/status`
	require.Equal(t, "Cpus_allowed_list:\t"+last+"\n", runScript(t, script, "-n", "1", "--root", root).stdout)
	require.Equal(t, "Cpus_allowed_list:\t"+launch.FormatCPUs(allowed)+"\n", runScript(t, script, "-n", "1", "--root", root, "--no-pin").stdout)
}

func TestRunLabels(t *testing.T) {
	got := runScript(t, `echo out; printf 'no end' >&2`, "-n", "2", "--label", "--quiet")
	require.Zero(t, got.code)
	require.Equal(t, "[0] out\n[1] out\n", got.stdout)
	require.Equal(t, "[0] no end\n[1] no end\n", sorted(got.stderr))
}

// Lines that are written bit by bit, by several ranks at a time to one place, are whole.
func TestRunLines(t *testing.T) {
	const script = `
		for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
			for j in 1 2 3 4 5 6 7 8 9 10; do printf "$RANK$RANK$RANK"; printf "$RANK" >&2; done
			echo; echo >&2
		done`
	var both bytes.Buffer
	cmd := command(t, "run", "-n", "4", "--label", "--quiet", "--", "sh", "-c", script)
	cmd.Stdout, cmd.Stderr = &both, &both
	require.NoError(t, cmd.Run())
	seen := map[string]int{}
	for line := range strings.Lines(both.String()) {
		seen[line]++
	}
	want := map[string]int{}
	for rank := range 4 {
		want[fmt.Sprintf("[%d] %s\n", rank, strings.Repeat(strconv.Itoa(rank), 30))] = 20
		want[fmt.Sprintf("[%d] %s\n", rank, strings.Repeat(strconv.Itoa(rank), 10))] = 20
	}
	require.Equal(t, want, seen)
}

func TestRunManyRanks(t *testing.T) {
	got := runScript(t, `echo $RANK`, "-n", "64", "--quiet")
	require.Zero(t, got.code, got.stderr)
	require.Equal(t, 64, strings.Count(got.stdout, "\n"))
}

func TestRunCannotStart(t *testing.T) {
	got := execute(t, "run", "-n", "2", "--", "no-such-program")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.stderr, `lnx: exec: "no-such-program": executable file not found`)

	bad := filepath.Join(t.TempDir(), "bad")
	require.NoError(t, os.WriteFile(bad, []byte("no program\n"), 0o755))
	got = execute(t, "run", "-n", "2", "--", bad)
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.stderr, "lnx: rank 0 cannot be started: fork/exec "+bad)
}

// If one rank cannot be started, those before it are ended.
func TestRunCannotStartAll(t *testing.T) {
	real := command(t, "run", "-n", "60", "--quiet", "--", "sleep", "1000")
	cmd := exec.Command("sh", append([]string{"-c", `ulimit -n 50; exec "$0" "$@"`, real.Path}, real.Args[1:]...)...)
	cmd.Env = real.Env
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Equal(t, exitFailed, cmd.ProcessState.ExitCode())
	require.Regexp(t, `^lnx: rank [0-9]+ cannot be started: .*too many open files\n$`, string(out))
}

// pids awaits processes that say "pid N", and watches them.
func (r *running) pids(n int) (all []process) {
	r.t.Helper()
	for range n {
		all = append(all, watch(r.t, r.await(`pid ([0-9]+)$`)[1]))
	}
	return all
}

func requireEnds(t *testing.T, all []process) {
	t.Helper()
	for _, p := range all {
		p.requireEnd(t)
	}
}

// gate is where a script waits, at "read x < file", until it is opened.
type gate string

func newGate(t *testing.T) gate {
	t.Helper()
	g := gate(filepath.Join(t.TempDir(), "gate"))
	require.NoError(t, unix.Mkfifo(string(g), 0o600))
	return g
}

func (g gate) open(t *testing.T) {
	t.Helper()
	f, err := os.OpenFile(string(g), os.O_WRONLY, 0) // waits for the reader
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// sleeps is a rank that does not end by itself, and neither does what it starts.
const sleeps = `sleep 1000 & echo pid $! >&2; echo pid $$ >&2; wait`

// hidden is a process in a session of its own, with another one like that below it.
const hidden = `setsid sh -c 'setsid sleep 1000 & echo pid $! >&2; echo pid $$ >&2; wait'`

// The first rank that fails ends the others, and its code is that of the run.
func TestRunFailure(t *testing.T) {
	g := newGate(t)
	r := start(t, "run", "-n", "3", "--quiet", "--", "sh", "-c", `if [ $RANK = 1 ]; then read x < `+string(g)+`; exit 3; fi; `+sleeps)
	left := r.pids(4)
	g.open(t)
	code, rest := r.finish()
	require.Equal(t, 3, code)
	require.Regexp(t, `^lnx: rank 1, process [0-9]+: exit status 3; the others are ended\n$`, rest)
	requireEnds(t, left)
}

func TestRunFailureBySignal(t *testing.T) {
	got := runScript(t, `kill -KILL $$`, "-n", "1", "--quiet")
	require.Equal(t, 128+int(unix.SIGKILL), got.code)
	require.Regexp(t, `^lnx: rank 0, process [0-9]+: ended by SIGKILL\n$`, got.stderr)
}

// What ranks that ended well left behind is ended, too, also what hides in a session of
// its own.
func TestRunLeavesNothing(t *testing.T) {
	g := newGate(t)
	r := start(t, "run", "-n", "1", "--quiet", "--grace", "1h", "--", "sh", "-c", `sleep 1000 & echo pid $! >&2; `+hidden+` & read x < `+string(g)+`; exit 0`)
	left := r.pids(3)
	g.open(t)
	code, rest := r.finish()
	require.Zero(t, code)
	require.Empty(t, rest)
	requireEnds(t, left)
}

// processesToTheEnd reads to the end, and answers those of the processes that said "pid N"
// that are still there, and what else was said.
func (r *running) processesToTheEnd() (left []process, said []string) {
	r.t.Helper()
	for line := range r.lines {
		m := regexp.MustCompile(`^pid ([0-9]+)$`).FindStringSubmatch(line)
		if m == nil {
			said = append(said, line)
			continue
		}
		pid := atoi(r.t, m[1])
		fd, err := unix.PidfdOpen(pid, 0)
		if err == unix.ESRCH {
			continue
		}
		require.NoError(r.t, err)
		r.t.Cleanup(func() { require.NoError(r.t, unix.Close(fd)) })
		left = append(left, process{pid, fd})
	}
	return left, said
}

func atoi(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

// Who does not want to end is killed, and so is who comes to light then.
func TestRunStubborn(t *testing.T) {
	r := start(t, "run", "-n", "2", "--quiet", "--grace", "100ms", "--", "sh", "-c", `trap "" TERM; `+hidden+` & `+sleeps)
	left := r.pids(8)
	require.NoError(t, r.Process.Signal(unix.SIGTERM))
	code, rest := r.finish()
	require.Equal(t, 128+int(unix.SIGKILL), code)
	require.Regexp(t, `lnx: rank 0, process [0-9]+, did not end within 100ms and is killed\n`, rest)
	require.NotContains(t, rest, "cannot be killed")
	requireEnds(t, left)
}

func TestRunTimeout(t *testing.T) {
	r := start(t, "run", "-n", "2", "--quiet", "--timeout", "500ms", "--", "sh", "-c", sleeps)
	left, said := r.processesToTheEnd()
	code, _ := r.finish()
	require.Equal(t, launch.CodeTimeout, code)
	require.Equal(t, []string{"lnx: not done within 500ms: everything is ended"}, said)
	requireEnds(t, left)
}

// Signals are passed on: those that end a run, and others.
func TestRunSignals(t *testing.T) {
	const script = `
		trap 'echo got USR1 >&2' USR1
		trap 'echo got INT >&2; exit 7' INT
		trap 'echo got TERM >&2; exit 8' TERM
		(trap '' USR1; exec sleep 1000) & echo pid $$ >&2
		while :; do wait $!; done`
	for signal, want := range map[syscall.Signal]int{unix.SIGINT: 7, unix.SIGTERM: 8, unix.SIGHUP: 128 + int(unix.SIGHUP)} {
		t.Run(unix.SignalName(signal), func(t *testing.T) {
			r := start(t, "run", "-n", "2", "--quiet", "--label", "--", "sh", "-c", script)
			left := r.pids(2)
			require.NoError(t, r.Process.Signal(unix.SIGUSR1))
			r.await(`got USR1`)
			r.await(`got USR1`)
			require.NoError(t, r.Process.Signal(signal))
			code, _ := r.finish()
			require.Equal(t, want, code)
			requireEnds(t, left)
		})
	}
}

// A signal reaches what a rank has started.
func TestRunSignalsReachAll(t *testing.T) {
	const script = `
		sh -c 'trap "echo child got it >&2" USR1; (trap "" USR1; exec sleep 1000) & echo pid $$ >&2; while :; do wait $!; done' &
		trap 'echo rank got it >&2' USR1; echo pid $$ >&2
		while :; do wait; done`
	r := start(t, "run", "-n", "1", "--quiet", "--", "sh", "-c", script)
	left := r.pids(2)
	require.NoError(t, r.Process.Signal(unix.SIGUSR1))
	got := []string{r.await(`(.*) got it`)[1], r.await(`(.*) got it`)[1]}
	require.ElementsMatch(t, []string{"rank", "child"}, got)
	require.NoError(t, r.Process.Signal(unix.SIGTERM))
	code, _ := r.finish()
	require.Equal(t, 128+int(unix.SIGTERM), code)
	requireEnds(t, left)
}

// Ranks that end well when a signal asks them to are an interrupted run all the same.
func TestRunInterrupted(t *testing.T) {
	r := start(t, "run", "-n", "1", "--quiet", "--", "sh", "-c", `trap 'exit 0' INT; sleep 1000 & echo pid $$ >&2; wait`)
	left := r.pids(1)
	require.NoError(t, r.Process.Signal(unix.SIGINT))
	code, rest := r.finish()
	require.Equal(t, exitInterrupted, code)
	require.Empty(t, rest)
	requireEnds(t, left)
}

// Nothing is left when lnx is killed.
func TestRunKilled(t *testing.T) {
	r := start(t, "run", "-n", "1", "--quiet", "--", "sh", "-c", hidden+` & echo parent $PPID >&2; `+sleeps)
	var left []process
	var second process
	for range 5 {
		m := r.await(`(pid|parent) ([0-9]+)$`)
		p := watch(t, m[2])
		left = append(left, p)
		if m[1] == "parent" {
			second = p
		}
	}
	require.NotZero(t, second.pid)
	require.NoError(t, r.Process.Kill())
	requireEnds(t, left)
}

// Nothing is left when the process is killed that looks after the ranks, and lnx says so.
func TestRunSecondKilled(t *testing.T) {
	r := start(t, "run", "-n", "1", "--quiet", "--", "sh", "-c", hidden+` & echo parent $PPID >&2; `+sleeps)
	var left []process
	second := 0
	for range 5 {
		m := r.await(`(pid|parent) ([0-9]+)$`)
		left = append(left, watch(t, m[2]))
		if m[1] == "parent" {
			second = atoi(t, m[2])
		}
	}
	require.NotEqual(t, r.Process.Pid, second)
	require.NoError(t, unix.Kill(second, unix.SIGKILL))
	code, rest := r.finish()
	require.Equal(t, 128+int(unix.SIGKILL), code)
	require.Equal(t, fmt.Sprintf("lnx: the process that looks after the ranks, process %d: ended by SIGKILL\n", second), rest)
	requireEnds(t, left)
}

// Ranks end when nobody reads any more what they write.
func TestRunClosedPipe(t *testing.T) {
	read, write, err := os.Pipe()
	require.NoError(t, err)
	cmd := command(t, "run", "-n", "2", "--quiet", "--", "yes")
	cmd.Stdout = write
	require.NoError(t, cmd.Start())
	require.NoError(t, write.Close())
	buf := make([]byte, 2)
	_, err = read.Read(buf)
	require.NoError(t, err)
	require.Equal(t, "y\n", string(buf))
	require.NoError(t, read.Close())
	require.Error(t, cmd.Wait())
	require.Equal(t, 128+int(unix.SIGPIPE), cmd.ProcessState.ExitCode())
}

// Nobody waits for a reader that does not read when the run is interrupted: while the
// ranks write, or when they have written.
func TestRunNotRead(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"while they write", `echo pid $$ >&2; exec yes`, "not read"},
		{"afterwards", `head -c 100000 /dev/zero | tr '\0' x; echo pid $$ >&2`, "not read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			read, write, err := os.Pipe()
			require.NoError(t, err)
			defer read.Close()
			r := &running{Cmd: command(t, "run", "-n", "1", "--quiet", "--grace", "100ms", "--", "sh", "-c", c.script), t: t, lines: make(chan string, 1000)}
			r.Stdout = write
			r.begin()
			require.NoError(t, write.Close())
			r.await(`^pid `)
			require.NoError(t, r.Process.Signal(unix.SIGINT))
			code, rest := r.finish()
			require.NotZero(t, code)
			require.Contains(t, rest, c.want)
		})
	}
}
