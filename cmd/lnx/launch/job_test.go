package launch

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestJob runs scripts: what happens, and what is to be done then. "code 3"
// says the exit code so far, and "cut short" that the end came from outside.
func TestJob(t *testing.T) {
	for _, c := range []struct{ name, script string }{
		{"all end well", `
			ended 0: nothing
			ended 0: SIGTERM and grace
			code 0`},
		{"what they left is ended, and what that left", `
			ended 0: nothing
			left: nothing
			ended 0: SIGTERM and grace
			left: SIGTERM to new ones
			grace over: SIGKILL and grace
			left: SIGKILL
			grace over: give up
			code 0`},
		{"one fails, and the others are ended", `
			ended 3: SIGTERM and grace
			ended 143: SIGTERM to new ones
			code 3`},
		{"one of three fails, and another does not end", `
			ended 0: nothing
			ended 7: SIGTERM and grace
			left: nothing
			grace over: SIGKILL and grace
			ended 137: SIGKILL
			code 7`},
		{"a signal", `
			SIGINT: SIGINT and grace
			ended 130: nothing
			ended 1: SIGTERM to new ones
			cut short, code 130`},
		{"a signal, and all end well", `
			SIGTERM: SIGTERM and grace
			ended 0: nothing
			ended 0: SIGTERM to new ones
			cut short, code 143`},
		{"a signal, and one fails otherwise", `
			SIGHUP: SIGHUP and grace
			cut short, code 129
			ended 5: nothing
			cut short, code 5`},
		{"several signals", `
			SIGINT: SIGINT and grace
			SIGINT: SIGINT
			SIGTERM: SIGTERM
			grace over: SIGKILL and grace
			SIGINT: SIGINT
			cut short, code 130`},
		{"a signal that ends nothing", `
			SIGUSR1: SIGUSR1
			ended 0: nothing
			ended 0: SIGTERM and grace
			code 0`},
		{"a signal after one failed", `
			ended 2: SIGTERM and grace
			SIGINT: SIGINT
			ended 130: SIGTERM to new ones
			cut short, code 2`},
		{"too late", `
			stop 124: SIGTERM and grace
			ended 143: nothing
			ended 143: SIGTERM to new ones
			cut short, code 124`},
		{"too late for what is ending", `
			ended 1: SIGTERM and grace
			stop 124: nothing
			code 1`},
		{"grace that nobody asked for", `
			grace over: nothing
			code 0`},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := NewJob(2)
			if strings.HasPrefix(c.name, "one of three") {
				j = NewJob(3)
			}
			for line := range strings.Lines(strings.TrimSpace(c.script)) {
				line = strings.TrimSpace(line)
				event, want, _ := strings.Cut(line, ": ")
				require.Equal(t, line, strings.TrimSuffix(event+": "+happen(t, j, event), ": "), "not as in the script: %s", want)
			}
		})
	}
}

// happen lets something happen, and answers what is to be done.
func happen(t *testing.T, j *Job, event string) string {
	t.Helper()
	word, number, _ := strings.Cut(event, " ")
	n := 0
	_, _ = fmt.Sscan(number, &n)
	switch word {
	case "ended":
		return actionText(j.Ended(n))
	case "stop":
		return actionText(j.Stop(n))
	case "left":
		return actionText(j.Left())
	case "grace":
		return actionText(j.GraceOver())
	case "code":
		require.Equal(t, n, j.Code())
		require.False(t, j.CutShort())
		return ""
	case "cut":
		_, _ = fmt.Sscanf(event, "cut short, code %d", &n)
		require.Equal(t, n, j.Code())
		require.True(t, j.CutShort())
		return ""
	}
	return actionText(j.Signal(signals[word]))
}

var signals = map[string]syscall.Signal{
	"SIGINT": syscall.SIGINT, "SIGTERM": syscall.SIGTERM, "SIGHUP": syscall.SIGHUP, "SIGUSR1": syscall.SIGUSR1, "SIGKILL": syscall.SIGKILL,
}

func actionText(a Action) string {
	text := "nothing"
	for name, s := range signals {
		if a.Signal == s {
			text = name
		}
	}
	if a.New {
		text += " to new ones"
	}
	if a.Grace {
		text += " and grace"
	}
	if a.GiveUp {
		text = "give up"
	}
	return text
}

func TestCodeOf(t *testing.T) {
	require.Equal(t, 3, CodeOf(3<<8))
	require.Equal(t, 0, CodeOf(0))
	require.Equal(t, 128+int(syscall.SIGSEGV), CodeOf(syscall.WaitStatus(syscall.SIGSEGV)))
}
