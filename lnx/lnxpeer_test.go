package lnx_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/internal/netns"
	"golnx/peer"
)

// lnxpeer is a running testdata/interop/lnxpeer.c. Its header comment has the
// protocol.
type lnxpeer struct {
	host  *netns.Host // nil is where the test is
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	blob  []byte // its address
	// alive ends with the process; the cause has the process's own words.
	alive context.Context
	err   error // of the process, once alive has ended
}

const (
	lnxpeerStep  = 15 * time.Second // no step of the process may take longer
	lnxpeerPhase = 40 * time.Second // no phase may take longer
)

// startLnxpeer builds lnxpeer, starts it and reads its address.
func startLnxpeer(t *testing.T, domain string) *lnxpeer {
	t.Helper()
	return startLnxpeerOn(t, nil, domain)
}

func startLnxpeerOn(t *testing.T, host *netns.Host, domain string) *lnxpeer {
	t.Helper()
	c := &lnxpeer{host: host, cmd: exec.Command(buildC(t, "lnxpeer"), domain, fmt.Sprint(lnxpeerStep.Seconds()))}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "FI_") {
			c.cmd.Env = append(c.cmd.Env, v)
		}
	}
	c.cmd.Env = append(c.cmd.Env, "FI_LNX_PROV_LINKS=shm+tcp")
	require.NoError(t, c.start())
	t.Cleanup(func() { c.stop(t) })
	digits, ok := strings.CutPrefix(c.line(t), "addr ")
	require.True(t, ok)
	var err error
	c.blob, err = hex.DecodeString(digits)
	require.NoError(t, err)
	return c
}

// buildC builds a program of testdata/interop.
func buildC(t *testing.T, name string) string {
	t.Helper()
	libs, err := exec.Command("pkg-config", "--cflags", "--libs", "libfabric").Output()
	require.NoError(t, err, "pkg-config libfabric")
	cc := strings.Fields(os.Getenv("CC")) // may hold options
	if len(cc) == 0 {
		cc = []string{"gcc"}
	}
	program := filepath.Join(t.TempDir(), name)
	args := append(cc[1:], "-Wall", "-Wextra", "-O2", "-o", program, "../testdata/interop/"+name+".c")
	out, err := exec.Command(cc[0], append(args, strings.Fields(string(libs))...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

func (c *lnxpeer) start() (err error) {
	var said bytes.Buffer
	out, w := io.Pipe()
	c.cmd.Stdout, c.cmd.Stderr = w, &said
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return err
	}
	alive, ended := context.WithCancelCause(context.Background())
	c.alive, c.lines = alive, make(chan string)
	started := make(chan error)
	go func() {
		// Linux sends the parent-death signal when the thread that started
		// the process ends, so that thread waits for it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		start := c.cmd.Start
		if c.host != nil {
			start = func() error { return c.host.Start(c.cmd) }
		}
		err := start()
		started <- err
		if err != nil {
			return
		}
		c.err = c.cmd.Wait()
		ended(fmt.Errorf("lnxpeer ended: %v: %s", c.err, bytes.TrimSpace(said.Bytes())))
		_ = w.Close()
	}()
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			select {
			case c.lines <- s.Text():
			case <-alive.Done():
			}
		}
	}()
	return <-started
}

// line reads the next line of the process's output.
func (c *lnxpeer) line(t *testing.T) string {
	t.Helper()
	select {
	case line := <-c.lines:
		return line
	case <-c.alive.Done():
		require.FailNow(t, "no line", "%v", context.Cause(c.alive))
	case <-time.After(lnxpeerPhase):
		require.FailNow(t, "no line from lnxpeer", "in %v", lnxpeerPhase)
	}
	return ""
}

// print writes a line to the process.
func (c *lnxpeer) print(t *testing.T, format string, args ...any) {
	t.Helper()
	_, err := fmt.Fprintf(c.in, format+"\n", args...)
	require.NoError(t, err)
}

// insert gives the process an address.
func (c *lnxpeer) insert(t *testing.T, blob []byte) {
	t.Helper()
	c.print(t, "%x", blob)
	require.Equal(t, "ready", c.line(t))
}

// lnxpeerReport is what the process says of a phase.
type lnxpeerReport struct{ Sent, Received, Bytes, Windows int }

func (c *lnxpeer) report(t *testing.T) (r lnxpeerReport) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(c.line(t)), &r))
	return r
}

// stop lets the process end, and makes it if it does not.
func (c *lnxpeer) stop(t *testing.T) {
	t.Helper()
	_ = c.in.Close() // it ends at the end of its input
	for _, sig := range []syscall.Signal{0, syscall.SIGTERM, syscall.SIGKILL} {
		if sig != 0 {
			t.Errorf("lnxpeer (process %d) does not end: %v", c.cmd.Process.Pid, sig)
			_ = c.cmd.Process.Signal(sig)
		}
		select {
		case <-c.alive.Done():
			if c.err != nil {
				t.Error(context.Cause(c.alive))
			}
			if c.blob != nil {
				requireNoRegion(t, c.blob)
			}
			return
		case <-time.After(5 * time.Second):
		}
	}
}

// requireNoRegion checks that the shm region of an endpoint is gone, whose file
// has the address for a name.
func requireNoRegion(t *testing.T, blob []byte) {
	t.Helper()
	a, err := peer.Decode(blob)
	require.NoError(t, err)
	if i := a.Shm(); i >= 0 {
		name := string(bytes.TrimRight(a.Entries[i].Addr, "\x00"))
		require.NoFileExists(t, filepath.Join("/dev/shm", strings.TrimPrefix(name, "fi_shm://")))
	}
}
