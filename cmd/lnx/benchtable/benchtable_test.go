package benchtable

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// script writes a program for sh.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755))
	return path
}

// measure runs rows with programs whose figures are told by their arguments: each
// round they print the next of a list.
func measure(t *testing.T, rounds int, rows ...Row) []Result {
	t.Helper()
	program := script(t, `
		case "$1" in
		fail) echo "it broke" >&2; exit 3;;
		env) echo "{\"v\":$(env | grep -c ^FI_)}"; exit;;
		esac
		count=$(cat "$0.$1" 2>/dev/null || true)
		echo "$count." >"$0.$1"
		i=$((${#count} + 1))
		value=$(echo "$1" | cut -d_ -f$i)
		echo "{\"kind\":\"other\",\"n\":100000,\"v\":-1}"
		echo "{\"kind\":\"this\",\"n\":100000,\"deep\":{\"v\":$value}}"
	`)
	results, err := Measure(t.Context(), rows, Options{Lnx: program, Cbench: program, CPUs: "0,1", Rounds: rounds, Tell: func(string) {}})
	require.NoError(t, err)
	return results
}

func at(args string) Figure {
	return Figure{Command: Command{Program: "cbench", Args: args, Iters: 1}, Where: "kind=this,n=100000", Key: "deep.v"}
}

func TestRatios(t *testing.T) {
	rows := []Row{
		{Name: "less", Ours: at("2_4_9"), Base: []Figure{at("4_4_3")}, Goal: 1},
		{Name: "met", Ours: at("2_4_9"), Base: []Figure{at("1_1_1"), at("4_4_3")}, Goal: 4},
		{Name: "more", Ours: at("2_4_9"), Base: []Figure{at("1_1_1"), at("4_4_3")}, Goal: 1, More: true},
		{Name: "missed", Ours: at("2_4_9"), Base: []Figure{at("4_4_3")}, Goal: 1.01, More: true},
		{Name: "alone", Ours: at("2_4_9"), Goal: 3},
		{Name: "no goal", Ours: at("2_4_9")},
	}
	got := measure(t, 3, rows...)
	require.Equal(t, []float64{2, 4, 9}, got[0].Ours)
	require.Equal(t, []float64{4, 4, 3}, got[0].Base)
	require.Equal(t, Spread{1, 0.5, 3}, got[0].Ratio)
	require.True(t, got[0].Met)
	require.Equal(t, []float64{1, 1, 1}, got[1].Base, "the smaller median")
	require.True(t, got[1].Met)
	require.Equal(t, []float64{4, 4, 3}, got[2].Base, "the larger median")
	require.True(t, got[2].Met)
	require.False(t, got[3].Met)
	require.Equal(t, Spread{4, 2, 9}, got[4].Ratio)
	require.False(t, got[4].Met)
	require.True(t, got[5].Met)
}

func TestFailuresStandInTheirRows(t *testing.T) {
	got := measure(t, 2,
		Row{Name: "a", Ours: at("fail"), Base: []Figure{at("1_1")}},
		Row{Name: "b", Ours: at("1_1"), Base: []Figure{at("fail")}},
		Row{Name: "c", Ours: Figure{Command: Command{Args: "5_6"}, Where: "kind=none", Key: "v"}},
		Row{Name: "d", Ours: Figure{Command: Command{Args: "5_6"}, Where: "kind=other", Key: "kind"}},
		Row{Name: "e", Ours: at("1_2")},
		Row{Name: "f", Ours: at("1_2"), Base: []Figure{at("3_0")}})
	require.Contains(t, got[0].Failed, "exit status 3: it broke")
	require.Contains(t, got[1].Failed, "it broke")
	require.Contains(t, got[2].Failed, "no line with kind=none")
	require.Contains(t, got[3].Failed, "no number kind")
	require.Empty(t, got[4].Failed)
	require.Contains(t, got[5].Failed, "cbench 3_0 measured 0")
	require.Equal(t, []float64{1, 2}, got[4].Ours)
}

func TestEnvironmentOfLibfabricIsLeftOut(t *testing.T) {
	t.Setenv("FI_PROVIDER", "shm")
	got := measure(t, 1, Row{Ours: Figure{Command: Command{Args: "env"}, Key: "v"}})
	require.Equal(t, []float64{0}, got[0].Ours)
}

func TestEveryCommandRunsOnce(t *testing.T) {
	commands := commandsOf(Rows(Depths))
	seen := map[Command]bool{}
	for _, c := range commands {
		require.False(t, seen[c], "%v", c)
		seen[c] = true
	}
	require.Equal(t, "lnx perf --links shm+tcp:lo lat", commands[0].String())
	require.Equal(t, "cbench --provider lnx --domain lo lat", commands[1].String())
}

// The context ends while a program runs, which ends with it.
func TestMeasureEndsWithItsContext(t *testing.T) {
	program := script(t, "echo $$ >\"$0.pid\"; exec sleep 100")
	require.NoError(t, unix.Mkfifo(program+".pid", 0o600))
	started, err := os.OpenFile(program+".pid", os.O_RDWR, 0) // writing, too, so that it does not wait to open
	require.NoError(t, err)
	defer started.Close()
	require.NoError(t, started.SetReadDeadline(time.Now().Add(limit)))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	measured := make(chan error, 1)
	go func() {
		_, err := Measure(ctx, Rows(Depths)[:1], Options{Lnx: program, Cbench: program, Rounds: 1, Tell: func(string) {}})
		measured <- err
	}()
	line, err := bufio.NewReader(started).ReadString('\n')
	require.NoError(t, err, "the program has not started")
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	end, err := unix.PidfdOpen(pid, 0)
	require.NoError(t, err)
	defer unix.Close(end)
	require.Empty(t, measured)
	cancel()
	select {
	case err := <-measured:
		require.ErrorIs(t, err, context.Canceled)
	case <-time.After(limit):
		require.Fail(t, "Measure does not return")
	}
	ended := []unix.PollFd{{Fd: int32(end), Events: unix.POLLIN}}
	n, err := unix.Poll(ended, int(limit.Milliseconds()))
	require.NoError(t, err)
	require.Equal(t, 1, n, "the program runs on")
}

// limit is how long anything may take that takes no time.
const limit = 20 * time.Second

func TestTable(t *testing.T) {
	var out strings.Builder
	require.NoError(t, Print(&out, []Result{
		{Name: "a / b", Unit: "us", Goal: 0.6, Ours: []float64{0.25}, Base: []float64{0.5}, Ratio: Spread{0.5, 0.4, 0.7}, Met: true},
		{Name: "rate", Unit: "msg/s", Goal: 1, More: true, Ours: []float64{9e6}, Base: []float64{1e7}, Ratio: Spread{0.9, 0.9, 0.9}},
		{Name: "bandwidth", Unit: "B/s", Goal: 0.97, More: true, Ours: []float64{9.76e9}, Base: []float64{1e10}, Ratio: Spread{0.976, 0.9, 1}, Met: true},
		{Name: "idle", Unit: "%", Goal: 2, Ours: []float64{0}, Ratio: Spread{0, 0, 12.5}, Met: true},
		{Name: "gone", Skipped: "no root"},
		{Name: "broken", Failed: "it broke"},
	}, 5))
	require.Contains(t, out.String(), "Medians of 5 rounds")
	require.Regexp(t, `a / b +│ +0\.250 us │ +0\.500 us │ +0\.500 │ +0\.400\.\.0\.700 │ +≤ 0\.6 │ met`, out.String())
	require.Regexp(t, `rate +│ 9\.00 M msg/s │ 10\.00 M msg/s │ +0\.900 │ +0\.900\.\.0\.900 │ +≥ 1 │ missed`, out.String())
	require.Regexp(t, `bandwidth +│ +9\.76 GB/s │ +10\.00 GB/s │ +0\.976 │ +0\.900\.\.1\.000 │ +≥ 0\.97 │ met`, out.String())
	require.Regexp(t, `idle +│ +0\.000 % │ +│ +│ +0\.\.12\.5 │ +≤ 2 │ met`, out.String())
	require.Regexp(t, `gone .*│ skipped`, out.String())
	require.Regexp(t, `broken .*│ failed`, out.String())
	require.Contains(t, out.String(), "gone: skipped: no root")
}
