// Package twoproc runs parts of a test in processes of their own: second runs of
// the test binary, which talk to the first over pipes.
//
// A [Role] is what such a process does. TestMain calls [Main], which runs the
// role instead of the tests in a process that was started for one. No process
// outlives the test: it dies with its parent, at the end of the test that started
// it, or when its time is over, and then says where all its goroutines are.
package twoproc

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	roleEnv  = "GOLNX_TEST_ROLE"
	limitEnv = "GOLNX_TEST_LIMIT"
)

// Role is what another process does in a test.
type Role struct {
	name string
	run  func(*Child)
}

var roles = map[string]*Role{}

// NewRole names a role. It is called while the test package's variables are
// initialised, so that both processes know it.
func NewRole(name string, run func(*Child)) *Role {
	if roles[name] != nil {
		panic("twoproc: two roles are called " + name)
	}
	r := &Role{name, run}
	roles[name] = r
	return r
}

// Main is all that TestMain does: it runs the tests, or the role that this
// process was started for. It does not return.
func Main(m *testing.M) {
	name := os.Getenv(roleEnv)
	if name == "" {
		os.Exit(m.Run())
	}
	r := roles[name]
	if r == nil {
		fmt.Fprintf(os.Stderr, "no role is called %q\n", name)
		os.Exit(2)
	}
	limit, err := time.ParseDuration(os.Getenv(limitEnv))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	time.AfterFunc(limit, func() {
		buf := make([]byte, 1<<20)
		fmt.Fprintf(os.Stderr, "role %s is not done after %v:\n%s\n", name, limit, buf[:runtime.Stack(buf, true)])
		os.Exit(3)
	})
	r.run(&Child{pipes: newPipes(os.NewFile(3, "from parent"), os.NewFile(4, "to parent"))})
	os.Exit(0)
}

// pipes carry one JSON value after the other.
type pipes struct {
	in, out *os.File
	dec     *json.Decoder
	enc     *json.Encoder
}

func newPipes(in, out *os.File) pipes {
	return pipes{in, out, json.NewDecoder(in), json.NewEncoder(out)}
}

// Child is a role's view of the test. It serves as require.TestingT: a failed
// assertion ends the process, and the parent's test fails.
type Child struct{ pipes }

// Put hands v to the parent's Get.
func (c *Child) Put(v any) {
	if err := c.enc.Encode(v); err != nil {
		c.Errorf("put: %v", err)
		c.FailNow()
	}
}

// Get takes what the parent Put. It answers false when the parent has no more.
func (c *Child) Get(v any) bool {
	err := c.dec.Decode(v)
	if err != nil && err != io.EOF {
		c.Errorf("get: %v", err)
		c.FailNow()
	}
	return err == nil
}

// Errorf prints to the parent's log.
func (c *Child) Errorf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// FailNow ends the process as failed.
func (c *Child) FailNow() { os.Exit(1) }

// Proc is a process with a role, as its test sees it. Its methods are for one
// goroutine and end the test when something is wrong with the process.
type Proc struct {
	Pid int

	t     testing.TB
	role  string
	pipes pipes
	until time.Time
	cmd   *exec.Cmd
	ended chan struct{}
	err   error // of Wait, once ended
	log   log
	over  bool
}

// Start starts a process that has the given time for all it does. The test must
// end it with Wait or Kill.
func (r *Role) Start(t testing.TB, limit time.Duration) *Proc {
	t.Helper()
	// Its own limit comes first, for what it says then.
	p := &Proc{t: t, role: r.name, until: time.Now().Add(limit + 2*time.Second), ended: make(chan struct{})}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	theirIn, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	in, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.pipes = newPipes(in, out)
	p.cmd = exec.Command(exe)
	// The race detector waits for a second at the end of a process by default.
	p.cmd.Env = append(os.Environ(), roleEnv+"="+r.name, limitEnv+"="+limit.String(),
		"GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	p.cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		// The signal comes when this thread ends, not when the process does.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
			close(p.ended)
		}
	}()
	err = <-started
	theirIn.Close()
	theirOut.Close()
	if err != nil {
		t.Fatal(err)
	}
	p.Pid = p.cmd.Process.Pid
	t.Cleanup(p.cleanup)
	return p
}

// Put hands v to the role's Get.
func (p *Proc) Put(v any) {
	p.t.Helper()
	if err := p.pipes.enc.Encode(v); err != nil {
		p.t.Fatalf("put to process %d (%s): %v", p.Pid, p.role, err)
	}
}

// Get takes what the role Put.
func (p *Proc) Get(v any) {
	p.t.Helper()
	err := p.pipes.in.SetReadDeadline(p.until)
	if err == nil {
		err = p.pipes.dec.Decode(v)
	}
	if err != nil {
		p.t.Fatalf("get from process %d (%s): %v", p.Pid, p.role, err)
	}
}

// Alive tells whether the process runs.
func (p *Proc) Alive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// Wait tells the role that there is no more to Get, and waits for its success.
// Such a process leaves no shm region.
func (p *Proc) Wait() {
	p.t.Helper()
	p.pipes.out.Close()
	p.await()
	if p.err != nil {
		p.t.Fatalf("process %d (%s): %v", p.Pid, p.role, p.err)
	}
	if left := p.Regions(); len(left) > 0 {
		p.t.Errorf("process %d (%s) left %v", p.Pid, p.role, left)
	}
}

// Kill ends the process by SIGKILL.
func (p *Proc) Kill() {
	p.t.Helper()
	if !p.Alive() {
		p.t.Fatalf("process %d (%s) had ended before it was killed: %v", p.Pid, p.role, p.err)
	}
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	p.await()
}

// Stop and Continue suspend the process: it is alive and makes no progress.
func (p *Proc) Stop() { p.signal(syscall.SIGSTOP) }

// Continue undoes Stop.
func (p *Proc) Continue() { p.signal(syscall.SIGCONT) }

func (p *Proc) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

func (p *Proc) await() {
	p.t.Helper()
	select {
	case <-p.ended:
		p.over = true
	case <-time.After(time.Until(p.until)):
		p.t.Fatalf("process %d (%s) does not end", p.Pid, p.role)
	}
}

// Regions are the files of the process in /dev/shm.
func (p *Proc) Regions() []string {
	files, err := filepath.Glob("/dev/shm/" + strconv.Itoa(p.Pid) + ":*")
	if err != nil {
		p.t.Fatal(err)
	}
	return files
}

func (p *Proc) cleanup() {
	if p.Alive() {
		_ = p.cmd.Process.Kill() // may have ended meanwhile
		<-p.ended
		if !p.t.Failed() {
			p.t.Errorf("process %d (%s) was still there at the end of the test", p.Pid, p.role)
		}
	}
	p.pipes.in.Close()
	p.pipes.out.Close()
	// A killed process cannot remove its regions.
	for _, f := range p.Regions() {
		_ = os.Remove(f)
	}
	if p.t.Failed() && !p.over {
		p.t.Logf("process %d (%s) ended: %v", p.Pid, p.role, p.err)
	}
	if text := p.log.String(); p.t.Failed() && text != "" {
		p.t.Logf("process %d (%s) said:\n%s", p.Pid, p.role, text)
	}
}

type log struct {
	mu   sync.Mutex
	text []byte
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, b...)
	return len(b), nil
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}
