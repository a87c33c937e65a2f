package twoproc_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golnx/internal/twoproc"
)

var echo = twoproc.NewRole("echo", func(c *twoproc.Child) {
	c.Put(os.Getppid())
	var s string
	for c.Get(&s) {
		c.Put("<" + s + ">")
	}
})

func TestMain(m *testing.M) { twoproc.Main(m) }

func TestEcho(t *testing.T) {
	p := echo.Start(t, 20*time.Second)
	var parent int
	p.Get(&parent)
	if parent != os.Getpid() {
		t.Fatalf("parent is %d, not %d", parent, os.Getpid())
	}
	var s string
	for _, want := range []string{"<a>", "<>", "<\x00\n>"} {
		p.Put(want[1 : len(want)-1])
		if p.Get(&s); s != want {
			t.Fatalf("%q is not %q", s, want)
		}
	}
	p.Wait()
	if p.Alive() {
		t.Fatal("alive after Wait")
	}
}

func TestKill(t *testing.T) {
	p := echo.Start(t, 20*time.Second)
	var parent int
	p.Get(&parent)
	if !p.Alive() {
		t.Fatal("dead before Kill")
	}
	p.Kill()
	if p.Alive() {
		t.Fatal("alive after Kill")
	}
}

var failing = twoproc.NewRole("failing", func(c *twoproc.Child) {
	var how string
	c.Get(&how)
	switch how {
	case "assertion":
		c.Errorf("it is %d", 42)
		c.FailNow()
	case "panic":
		panic("it is 42")
	case "hang":
		select {}
	}
})

// recorder keeps what a test would be failed with.
type recorder struct {
	testing.TB
	said    []string
	failed  bool
	cleanup []func()
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanup = append(r.cleanup, f) }
func (r *recorder) Failed() bool     { return r.failed }
func (r *recorder) Logf(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}
func (r *recorder) Errorf(format string, args ...any) { r.Logf(format, args...); r.failed = true }
func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...); runtime.Goexit() }

// run calls f with a recorder, as a test of its own.
func run(f func(r *recorder)) *recorder {
	r := &recorder{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	for _, f := range r.cleanup {
		f()
	}
	return r
}

// A role that fails, in whatever way, fails the test, which hears what it said.
func TestFailing(t *testing.T) {
	for how, want := range map[string]string{"assertion": "it is 42", "panic": "it is 42", "hang": "is not done after"} {
		var p *twoproc.Proc
		r := run(func(r *recorder) {
			p = failing.Start(r, 2*time.Second)
			p.Put(how)
			var never int
			p.Get(&never)
		})
		if text := strings.Join(r.said, "\n"); !r.failed || !strings.Contains(text, want) {
			t.Errorf("%s: failed %v, said %q", how, r.failed, text)
		}
		if p.Alive() {
			t.Errorf("%s: alive after the test", how)
		}
	}
}

// Nor does a process outlive a test that forgets it.
func TestForgotten(t *testing.T) {
	var p *twoproc.Proc
	r := run(func(r *recorder) { p = echo.Start(r, 20*time.Second) })
	if !r.failed || p.Alive() {
		t.Errorf("failed %v, alive %v", r.failed, p.Alive())
	}
}
