package netns

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golnx/internal/twoproc"
)

// otherEnv has the other host's file in a process that OnHosts started for a test.
const otherEnv = "GOLNX_TEST_OTHER_HOST"

// OnHosts is for a test whose own process has to be on a host. It makes two, as Join
// does, and runs the test again in a process on the first one. There it answers the
// second one. In the process that it was called in at first it answers nil when the
// other has ended, as failed if that has: the test returns then.
func OnHosts(t testing.TB, limit time.Duration, speeds ...string) (other *Host) {
	t.Helper()
	if file := os.Getenv(otherEnv); file != "" {
		ns, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ns.Close() })
		return &Host{t: t, ns: ns}
	}
	a, b := Join(t, speeds...)
	p := again.Start(t, Place{Host: a}, limit)
	p.Put(rerun{Test: t.Name(), Other: b.path()})
	var r rerunResult
	p.Get(&r)
	p.Wait()
	t.Logf("on the host:\n%s", r.Output)
	if r.Error != "" {
		t.Error(r.Error)
	}
	return nil
}

type rerun struct{ Test, Other string }

type rerunResult struct{ Output, Error string }

// again runs a test where it is.
var again = NewRole("netns.OnHosts", func(c *twoproc.Child) {
	var what rerun
	c.Get(&what)
	var names []string
	for name := range strings.SplitSeq(what.Test, "/") {
		names = append(names, "^"+regexp.QuoteMeta(name)+"$")
	}
	var out bytes.Buffer
	cmd := exec.Command("/proc/self/exe", "-test.run="+strings.Join(names, "/"), "-test.v")
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GOLNX_TEST_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, otherEnv+"="+what.Other)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread() // the signal comes when the thread ends
	var r rerunResult
	if err := cmd.Run(); err != nil {
		r.Error = err.Error()
	}
	r.Output = out.String()
	if r.Error == "" && !strings.Contains(r.Output, "--- PASS: "+what.Test+" ") {
		r.Error = "the test did not run"
	}
	c.Put(r)
})

// Start starts a command on the host.
func (h *Host) Start(cmd *exec.Cmd) error { return h.inside(cmd.Start) }
