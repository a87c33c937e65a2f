package twoproc_test

import (
	"os"
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
