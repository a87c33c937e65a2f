package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is wrong with the variables of recorders is told in one line, whichever of the
// two ends finds it, and nothing is measured.
func TestBadRecordingVariables(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	for _, c := range []struct{ variable, want string }{
		{"INTERCEPT_TIMER_OPS_MB=many", `INTERCEPT_TIMER_OPS_MB="many": a number of MiB from 1/1024 to 2^30 is needed, as 0.5, or 0 for no limit`},
		{"INTERCEPT_TIMER_OPS_RANKS=3-1", `INTERCEPT_TIMER_OPS_RANKS="3-1": "3-1" is neither a rank nor a range: a list as 0,4-7 is needed`},
		{"INTERCEPT_TIMER_NIC_DEV=nosuch0", `INTERCEPT_TIMER_NIC_DEV=nosuch0: there is no NIC "nosuch0" with counters: there are `},
		{"INTERCEPT_TIMER_DIR=" + file, `open shm: op timer: INTERCEPT_TIMER_DIR="` + file + `": mkdir ` + file + `: not a directory`},
		{"INTERCEPT_FLAGS_DIR=" + file, `INTERCEPT_FLAGS_DIR="` + file + `": mkdir ` + file + `: not a directory`},
		{"INTERCEPT_FLAGS_RESULTS_MAX=-1", `INTERCEPT_FLAGS_RESULTS_MAX="-1": a number of answers of fi_getinfo is needed, as 8, or 0 for all`},
		{"RANK=first", `RANK="first" is no rank: set it to a number from 0 to 2147483647, or unset it`},
		{"LFI_TRACE=on", `LFI_TRACE="on": 1 traces set-up on standard error, 0 does not`},
	} {
		t.Run(c.variable, func(t *testing.T) {
			r := newRecording(t)
			cmd := r.prepare(command(t, strings.Fields("perf lat --links shm --iters 10")...), "")
			cmd.Env = append(cmd.Env, c.variable)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			require.Error(t, cmd.Run())
			require.Equal(t, exitFailed, cmd.ProcessState.ExitCode())
			require.Empty(t, stdout.String())
			require.True(t, strings.HasPrefix(stderr.String(), "lnx: "+c.want), "%s", &stderr)
			require.Equal(t, 1, strings.Count(stderr.String(), "\n"), "%s", &stderr)
			require.NoFileExists(t, filepath.Join(r.ops, "ops_rank0.csv"))
		})
	}
}

// A run that was recorded stays while somebody looks at what can be linked.
func TestInfoKeepsRecordings(t *testing.T) {
	r := newRecording(t)
	r.hear(r.prepare(command(t, strings.Fields("perf bw --links shm "+bw)...), ""))
	for _, args := range []string{"info --links shm", "doctor", "plan --links shm --local"} {
		cmd := r.prepare(command(t, strings.Fields(args)...), "")
		require.NoError(t, cmd.Run(), args)
	}
	r.checkSummary()
}
