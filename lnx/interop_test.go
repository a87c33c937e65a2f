package lnx_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
	"golnx/peer"
	"golnx/providers/fierr"
)

// Interoperability with C: testdata/interop/lnxpeer.c opens libfabric's own
// provider lnx and exchanges verified messages with an Endpoint. Its header
// comment has the protocol and what the roles do.

const (
	interopStep  = 15 * time.Second // of lnxpeer: no step may take longer
	interopPhase = 40 * time.Second // of this side: no phase may take longer
	ackBit       = uint64(1) << 63
)

// phase is one line of lnxpeer's protocol; role is what C does.
type phase struct {
	role                string
	count, size, window int
}

func TestInteropShm(t *testing.T) {
	c := startLnxpeer(t, "lo")
	ep := openLink(t, lnx.Options{Links: "shm+tcp:lo"})
	run := meetLnxpeer(t, ep, c, ep.Name(), c.blob)
	checkBlob(t, c, run)
	total := run.all(t, []phase{
		{"ping", 20_000, 8, 1},
		{"pong", 20_000, 8, 1},
		{"send", 25_600, 8, 64},
		{"recv", 25_600, 8, 64},
		{"send", 5_120, 0, 32},
		{"recv", 5_120, 0, 32},
		{"ping", 500, 65536, 1},
		{"pong", 500, 65536, 1},
		{"send", 1_024, 65536, 16},
		{"recv", 1_024, 65536, 16},
	})
	require.GreaterOrEqual(t, total, 100_000)
	run.requireRail(t, "shm")
}

// A peer whose blob has no shm is remote to C LNX.
func TestInteropTCPWithoutShm(t *testing.T) {
	c := startLnxpeer(t, "lo")
	ep := openLink(t, lnx.Options{Links: "shm+tcp:lo", DisableShm: true})
	run := meetLnxpeer(t, ep, c, ep.Name(), c.blob)
	require.GreaterOrEqual(t, run.all(t, tcpPhases), 10_000)
	run.requireRail(t, "tcp;ofi_rxm:lo")
}

// Both sides have shm, but each takes the other for another machine, as their
// blobs say.
func TestInteropTCPOtherHost(t *testing.T) {
	domain := networkInterface()
	if domain == "" {
		t.Skip("no network interface besides loopback, which does not reach another machine")
	}
	c := startLnxpeer(t, domain)
	ep := openLink(t, lnx.Options{Links: "shm+tcp:" + domain})
	run := meetLnxpeer(t, ep, c, renameHost(t, ep.Name()), renameHost(t, c.blob))
	require.GreaterOrEqual(t, run.all(t, tcpPhases), 10_000)
	run.requireRail(t, "tcp;ofi_rxm:"+domain)
}

var tcpPhases = []phase{
{"ping",1,8,1},{"ping",1,8,1},{"ping",10,8,1},{"ping",100,8,1},{"ping",1000,8,1},{"ping",1000,8,1},{"pong",1000,8,1},
	{"ping", 1_000, 8, 1},
	{"pong", 1_000, 8, 1},
	{"send", 2_560, 8, 64},
	{"recv", 2_560, 8, 64},
	{"send", 640, 0, 32},
	{"recv", 640, 0, 32},
	{"ping", 200, 65536, 1},
	{"pong", 200, 65536, 1},
	{"send", 320, 65536, 16},
	{"recv", 320, 65536, 16},
}

// What lnxpeer printed once (libfabric 2.1.0).
func TestInteropBlob(t *testing.T) {
	text, err := os.ReadFile("../testdata/interop/blob21.hex")
	require.NoError(t, err)
	blob, err := hex.DecodeString(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	a, err := peer.Decode(blob)
	require.NoError(t, err)
	require.Equal(t, peer.Layout21, a.Layout)
	require.Equal(t, "lnx://vm/tcp;ofi_rxm=127.0.0.1:36475,shm=fi_shm://21409:0:0", a.String())
}

// checkBlob compares the blob that C LNX wrote just now with what is known of
// lnxpeer and its machine, and what AV.Lookup makes of it.
func checkBlob(t *testing.T, c *lnxpeer, run *interop) {
	t.Helper()
	a, err := run.ep.AV().Lookup(run.to)
	require.NoError(t, err)
	host, err := os.Hostname()
	require.NoError(t, err)
	require.Equal(t, host, a.Host)
	require.Nil(t, a.Ext)
	require.Regexp(t, fmt.Sprintf(`shm=fi_shm://%d:\d+:\d+`, c.cmd.Process.Pid), a.String())
	require.Regexp(t, `=127\.0\.0\.1:\d+`, a.String())
}

// renameHost answers the blob with another host name.
func renameHost(t *testing.T, blob []byte) []byte {
	t.Helper()
	a, err := peer.Decode(blob)
	require.NoError(t, err)
	a.Host = "elsewhere"
	if a.Ext != nil {
		a.Ext.Node.BootID[0]++
	}
	encode := peer.Encode22
	if a.Layout == peer.Layout21 {
		encode = peer.Encode21
	}
	blob, err = encode(a)
	require.NoError(t, err)
	return blob
}

// networkInterface names an interface that is up and has an IPv4 address, but is
// not loopback; "" if there is none.
func networkInterface() string {
	list, _ := net.Interfaces()
	for _, i := range list {
		if i.Flags&net.FlagLoopback != 0 || i.Flags&net.FlagUp == 0 {
			continue
		}
		addrs, _ := i.Addrs()
		for _, a := range addrs {
			if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil {
				return i.Name
			}
		}
	}
	return ""
}

// openLink opens the first link, undisturbed by the environment.
func openLink(t *testing.T, opts lnx.Options) *lnx.Endpoint {
	t.Helper()
	opts.Lookup = func(string) (string, bool) { return "", false }
	listing, err := lnx.Links(opts)
	require.NoError(t, err)
	ep, err := lnx.Open(listing.Links[0])
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, ep.Close())
		requireNoRegion(t, ep.Name())
	})
	return ep
}

// requireNoRegion checks that the shm region of an endpoint is gone: libfabric
// names it after the address.
func requireNoRegion(t *testing.T, blob []byte) {
	t.Helper()
	a, err := peer.Decode(blob)
	require.NoError(t, err)
	if i := a.Shm(); i >= 0 {
		name := string(bytes.TrimRight(a.Entries[i].Addr, "\x00"))
		require.NoFileExists(t, filepath.Join("/dev/shm", strings.TrimPrefix(name, "fi_shm://")))
	}
}

// --- the C process ---

// lnxpeer is a running C process.
type lnxpeer struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  chan string
	blob   []byte
	stderr bytes.Buffer // to be read after ended
	ended  chan struct{}
	err    error // of Wait, to be read after ended
}

// startLnxpeer builds and starts lnxpeer, and reads its address.
func startLnxpeer(t *testing.T, domain string) *lnxpeer {
	t.Helper()
	c := &lnxpeer{lines: make(chan string, 16), ended: make(chan struct{})}
	c.cmd = exec.Command(buildLnxpeer(t), domain, fmt.Sprint(interopStep.Seconds()))
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "FI_") {
			c.cmd.Env = append(c.cmd.Env, v)
		}
	}
	c.cmd.Env = append(c.cmd.Env, "FI_LNX_PROV_LINKS=shm+tcp")
	out, w := io.Pipe()
	c.cmd.Stdout, c.cmd.Stderr = w, &c.stderr
	var err error
	c.in, err = c.cmd.StdinPipe()
	require.NoError(t, err)
	started := make(chan error)
	go func() {
		// Linux sends the parent-death signal when the thread ends that
		// started the process: keep it until then.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.cmd.Start()
		started <- err
		if err == nil {
			c.err = c.cmd.Wait()
			_ = w.Close()
			close(c.ended)
		}
	}()
	require.NoError(t, <-started)
	go func() {
		defer close(c.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			c.lines <- s.Text()
		}
	}()
	t.Cleanup(func() { c.stop(t) })
	digits, ok := strings.CutPrefix(c.line(t), "addr ")
	require.True(t, ok)
	c.blob, err = hex.DecodeString(digits)
	require.NoError(t, err)
	return c
}

func buildLnxpeer(t *testing.T) string {
	t.Helper()
	flags, err := exec.Command("pkg-config", "--cflags", "--libs", "libfabric").Output()
	require.NoError(t, err, "pkg-config libfabric")
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "gcc"
	}
	program := filepath.Join(t.TempDir(), "lnxpeer")
	args := append(strings.Fields(cc)[1:], "-Wall", "-Wextra", "-Werror", "-O2", "-o", program, "../testdata/interop/lnxpeer.c")
	out, err := exec.Command(strings.Fields(cc)[0], append(args, strings.Fields(string(flags))...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// line reads the next line of the process's output.
func (c *lnxpeer) line(t *testing.T) string {
	t.Helper()
	select {
	case line, ok := <-c.lines:
		if !ok {
			<-c.ended
			require.FailNow(t, "lnxpeer ended", "%v: %s", c.err, c.stderr.String())
		}
		return line
	case <-time.After(interopPhase):
		require.FailNow(t, "no line from lnxpeer", "in %v", interopPhase)
	}
	return ""
}

// stop lets the process end, and makes it if it does not.
func (c *lnxpeer) stop(t *testing.T) {
	t.Helper()
	_ = c.in.Close() // the process ends at the end of its input
	for _, sig := range []syscall.Signal{0, syscall.SIGTERM, syscall.SIGKILL} {
		if sig != 0 {
			t.Errorf("lnxpeer (process %d) does not end: %v", c.cmd.Process.Pid, sig)
			_ = c.cmd.Process.Signal(sig)
		}
		select {
		case <-c.ended:
			if c.err != nil {
				t.Errorf("lnxpeer: %v: %s", c.err, c.stderr.String())
			}
			if c.blob != nil {
				requireNoRegion(t, c.blob)
			}
			return
		case <-time.After(5 * time.Second):
		}
	}
}

// --- this side ---

// interop is an endpoint that has met lnxpeer.
type interop struct {
	c   *lnxpeer
	ep  *lnx.Endpoint
	to  lnx.Addr
	ctx context.Context // of the phase

	phase
	tag          uint64
	sends, recvs []*transfer
	ack          transfer
	entries      [16]lnx.Entry

	sent, received, bytes, acks int
	messages                    int // of all phases
}

// transfer is a send or receive under way; it is the operation's context.
type transfer struct {
	buf  []byte // a view of mem
	mem  []byte
	done bool
	e    lnx.Entry
}

// meetLnxpeer exchanges addresses.
func meetLnxpeer(t *testing.T, ep *lnx.Endpoint, c *lnxpeer, ours, theirs []byte) *interop {
	t.Helper()
	to, err := ep.AV().Insert(theirs)
	require.NoError(t, err)
	_, err = fmt.Fprintf(c.in, "%x\n", ours)
	require.NoError(t, err)
	require.Equal(t, "ready", c.line(t))
	r := &interop{c: c, ep: ep, to: to, ack: transfer{buf: make([]byte, 8)}}
	for range 64 {
		r.sends = append(r.sends, &transfer{mem: make([]byte, 1<<16)})
		r.recvs = append(r.recvs, &transfer{mem: make([]byte, 1<<16)})
	}
	return r
}

// all runs the phases and answers how many messages were exchanged.
func (r *interop) all(t *testing.T, phases []phase) int {
	t.Helper()
	for i, p := range phases {
		r.phase, r.tag = p, uint64(i+1)*0x1234567
		r.sent, r.received, r.bytes, r.acks = 0, 0, 0, 0
		start := time.Now()
		_, err := fmt.Fprintln(r.c.in, p.role, p.count, p.size, p.window, r.tag)
		require.NoError(t, err)
		if err := r.one(); err != nil {
			// C's own words say more, if it has failed too.
			select {
			case <-r.c.ended:
				require.FailNow(t, err.Error(), "%s of %d: lnxpeer: %v: %s", p.role, p.size, r.c.err, r.c.stderr.String())
			case <-time.After(time.Second):
				require.FailNow(t, err.Error(), "%s of %d: %d sent, %d received, %v", p.role, p.size, r.sent, r.received, r.ep.Stats())
			}
		}
		var said struct{ Sent, Received, Bytes, Acks int }
		require.NoError(t, json.Unmarshal([]byte(r.c.line(t)), &said))
		require.Equal(t, []int{r.received, r.sent, r.acks}, []int{said.Sent, said.Received, said.Acks}, "%+v", p)
		r.messages += r.sent + r.received + r.acks
		t.Logf("C %s, %d messages of %d B, window %d: %v", p.role, p.count, p.size, p.window, time.Since(start).Round(time.Millisecond))
	}
	return r.messages
}

// one plays the other role.
func (r *interop) one() error {
	ctx, cancel := context.WithTimeout(context.Background(), interopPhase)
	defer cancel()
	r.ctx = ctx
	switch r.role {
	case "ping":
		return r.pong()
	case "pong":
		return r.ping()
	case "send":
		return r.recvWindows()
	}
	return r.sendWindows()
}

func (r *interop) ping() error {
	for i := range r.count {
		if err := errors.Join(r.recvMessage(r.recvs[0], i), r.sendMessage(r.sends[0], i)); err != nil {
			return err
		}
		if err := r.await(r.sends[0], r.recvs[0]); err != nil {
			return err
		}
		if err := r.verify(r.recvs[0], i); err != nil {
			return err
		}
	}
	return nil
}

// pong uses the blocking calls.
func (r *interop) pong() error {
	for i := range r.count {
		in, out := r.recvs[0], r.sends[0]
		in.buf = in.mem[:r.sizeOf(i)]
		info, err := r.ep.Recv(r.ctx, r.to, r.tagOf(i), ignoreOf(i), in.buf)
		if err != nil {
			return fmt.Errorf("receive %d: %w", i, err)
		}
		in.e = lnx.Entry{Len: info.Len, Tag: info.Tag, Src: info.From}
		if err := r.verify(in, i); err != nil {
			return err
		}
		r.fill(out, i)
		if err := r.ep.Send(r.ctx, r.to, r.tagOf(i), out.buf); err != nil {
			return fmt.Errorf("send %d: %w", i, err)
		}
		r.sent++
	}
	return nil
}

func (r *interop) sendWindows() error {
	for i := 0; i < r.count; i += r.window {
		if err := r.post(&r.ack, ackBit|r.tag, 0, false); err != nil {
			return err
		}
		for j, s := range r.sends[:r.window] {
			if err := r.sendMessage(s, i+j); err != nil {
				return err
			}
		}
		if err := r.await(append(slices.Clone(r.sends[:r.window]), &r.ack)...); err != nil {
			return err
		}
		r.acks++
	}
	return nil
}

func (r *interop) recvWindows() error {
	for i := 0; i < r.count; i += r.window {
		if err := r.recvWindow(i, i/r.window%2 == 1); err != nil {
			return err
		}
		if err := r.post(&r.ack, ackBit|r.tag, 0, true); err != nil {
			return err
		}
		if err := r.await(&r.ack); err != nil {
			return err
		}
		r.acks++
	}
	return nil
}

// recvWindow receives the last message of a window that shall be unexpected
// first: then the others are there before their receives are posted.
func (r *interop) recvWindow(i int, unexpected bool) error {
	last := r.recvs[r.window-1]
	last.buf = last.mem[:r.sizeOf(i+r.window-1)]
	if unexpected {
		if err := errors.Join(r.post(last, r.tagOf(i+r.window-1), 0, false), r.await(last)); err != nil {
			return err
		}
	}
	for j, x := range r.recvs[:r.window-1] {
		if err := r.recvMessage(x, i+j); err != nil {
			return err
		}
	}
	if !unexpected {
		if err := r.post(last, r.tagOf(i+r.window-1), 0, false); err != nil {
			return err
		}
	}
	if err := r.await(r.recvs[:r.window]...); err != nil {
		return err
	}
	for j, x := range r.recvs[:r.window] {
		if err := r.verify(x, i+j); err != nil {
			return err
		}
	}
	return nil
}

func (r *interop) sendMessage(x *transfer, i int) error {
	r.fill(x, i)
	r.sent++
	return r.post(x, r.tagOf(i), 0, true)
}

func (r *interop) recvMessage(x *transfer, i int) error {
	x.buf = x.mem[:r.sizeOf(i)]
	return r.post(x, r.tagOf(i), ignoreOf(i), false)
}

// post starts a send or a receive, reading completions while there is no room.
func (r *interop) post(x *transfer, tag, ignore uint64, send bool) error {
	x.done = false
	for {
		var err error
		if send {
			err = r.ep.TSend(x.buf, r.to, tag, x)
		} else {
			clear(x.buf)
			err = r.ep.TRecv(x.buf, r.to, tag, ignore, x)
		}
		if !errors.Is(err, fierr.EAgain) {
			return err
		}
		if err := errors.Join(r.ctx.Err(), r.reap(r.ep.CQ().Read(r.entries[:]))); err != nil {
			return err
		}
	}
}

// await reads completions until the transfers are done.
func (r *interop) await(transfers ...*transfer) error {
	for _, x := range transfers {
		for !x.done {
			if err := r.reap(r.ep.CQ().Wait(r.ctx, r.entries[:])); err != nil {
				return err
			}
		}
	}
	return nil
}

// reap takes what a call to read the CQ answered.
func (r *interop) reap(n int, err error) error {
	switch {
	case err == nil:
	case errors.Is(err, fierr.EAgain):
		return nil
	case errors.Is(err, fierr.EAvail):
		e, err := r.ep.CQ().ReadErr()
		if err != nil {
			return err
		}
		return e
	default:
		return err
	}
	for _, e := range r.entries[:n] {
		x := e.Context.(*transfer)
		x.e, x.done = e, true
	}
	return nil
}

// requireRail checks that all messages went over one rail, and that many of them
// were unexpected: all but one of every other window that C sent.
func (r *interop) requireRail(t *testing.T, name string) {
	t.Helper()
	for _, s := range r.ep.Stats() {
		t.Log(s)
		if s.Name != name {
			require.Zero(t, s.TSends+s.TInjects+s.RxExpected+s.RxUnexpected, s.Name)
			continue
		}
		require.EqualValues(t, r.messages, s.TSends+s.RxExpected+s.RxUnexpected)
		require.Greater(t, s.RxUnexpected, uint64(0))
		require.Zero(t, s.Errors)
	}
}

// --- contents, as in lnxpeer.c ---

var mixedSizes = []int{0, 1, 7, 8, 63, 64, 65, 192, 1000, 4095, 4096, 4097, 16384, 65535}

func (r *interop) sizeOf(i int) int {
	if r.size != 0 {
		return r.size
	}
	return mixedSizes[i%len(mixedSizes)]
}

func (r *interop) tagOf(i int) uint64 { return r.tag<<32 | uint64(i&0xffff) }

func ignoreOf(i int) uint64 {
	if i%3 == 2 {
		return 0xff
	}
	return 0
}

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// pattern writes the contents of message i into buf.
func pattern(buf []byte, tag uint64, i int) {
	var word [8]byte
	for k := 0; len(buf) > 0; k++ {
		binary.LittleEndian.PutUint64(word[:], mix(tag^uint64(i)*0x9e3779b97f4a7c15^mix(uint64(k)+1)))
		buf = buf[copy(buf, word[:]):]
	}
}

func (r *interop) fill(x *transfer, i int) {
	x.buf = x.mem[:r.sizeOf(i)]
	pattern(x.buf, r.tagOf(i), i)
}

var wanted [1 << 16]byte

func (r *interop) verify(x *transfer, i int) error {
	want := wanted[:r.sizeOf(i)]
	pattern(want, r.tagOf(i), i)
	switch {
	case x.e.Len != len(want) || x.e.Tag != r.tagOf(i) || x.e.Src != r.to:
		return fmt.Errorf("message %d: %d bytes, tag %#x, from %d; want %d, %#x, %d",
			i, x.e.Len, x.e.Tag, x.e.Src, len(want), r.tagOf(i), r.to)
	case !bytes.Equal(x.buf, want):
		return fmt.Errorf("message %d of %d bytes, tag %#x: contents differ", i, len(want), r.tagOf(i))
	}
	r.received++
	r.bytes += len(want)
	return nil
}
