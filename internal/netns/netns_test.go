package netns_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"golnx/internal/netns"
	"golnx/internal/twoproc"
)

func TestMain(m *testing.M) { twoproc.Main(m) }

const limit = 20 * time.Second

// sink accepts one TCP connection and says how long it took to read all of it.
var sink = netns.NewRole("sink", func(c *twoproc.Child) {
	l, err := net.Listen("tcp4", ":0")
	require.NoError(c, err)
	c.Put(l.Addr().(*net.TCPAddr).Port)
	conn, err := l.Accept()
	require.NoError(c, err)
	begin := time.Now()
	n, err := io.Copy(io.Discard, conn)
	require.NoError(c, err)
	c.Put(n)
	c.Put(time.Since(begin))
})

// source writes so many bytes to an address.
var source = netns.NewRole("source", func(c *twoproc.Child) {
	var addr string
	var size int
	c.Get(&addr)
	c.Get(&size)
	conn, err := net.DialTimeout("tcp4", addr, limit/2)
	require.NoError(c, err)
	_, err = conn.Write(make([]byte, size))
	require.NoError(c, err)
	require.NoError(c, conn.Close())
})

// transfer answers how long size bytes take from a to the host with the address.
func transfer(t *testing.T, a, b *netns.Host, addr string, size int) time.Duration {
	t.Helper()
	to := sink.Start(t, netns.Place{Host: b}, limit)
	from := source.Start(t, netns.Place{Host: a}, limit)
	var port, n int
	var took time.Duration
	to.Get(&port)
	from.Put(fmt.Sprintf("%s:%d", addr, port))
	from.Put(size)
	from.Wait()
	to.Get(&n)
	to.Get(&took)
	to.Wait()
	require.Equal(t, size, n)
	return took
}

// Each cable has its own speed, and each direction of a cable.
func TestCables(t *testing.T) {
	a, b := netns.Join(t, "", "40mbit")
	const size = 2 << 20
	slow := 8 * size * time.Second / 40e6
	require.Less(t, transfer(t, a, b, "10.211.0.2", size), slow/2)
	require.Less(t, transfer(t, b, a, "10.211.0.1", size), slow/2)
	for _, took := range []time.Duration{transfer(t, a, b, "10.211.1.2", size), transfer(t, b, a, "10.211.1.1", size)} {
		require.Greater(t, took, slow*8/10)
	}
	a.Limit("nic1", "")
	require.Less(t, transfer(t, a, b, "10.211.1.2", size), slow/2)
}

// surroundings are what a process sees of its place.
type surroundings struct {
	Hostname  string
	Net       []string // interfaces in /sys
	Shm       uint64   // device number of /dev/shm
	IPC, Nets string
	PID       string // namespace
	First     bool   // process in it, also in /proc
}

func look(t require.TestingT) (s surroundings) {
	var err error
	s.Hostname, err = os.Hostname()
	require.NoError(t, err)
	nics, err := os.ReadDir("/sys/class/net")
	require.NoError(t, err)
	for _, e := range nics {
		s.Net = append(s.Net, e.Name())
	}
	var st unix.Stat_t
	require.NoError(t, unix.Stat("/dev/shm", &st))
	s.Shm = st.Dev
	s.IPC, err = os.Readlink("/proc/self/ns/ipc")
	require.NoError(t, err)
	s.Nets, err = os.Readlink("/proc/self/ns/net")
	require.NoError(t, err)
	s.PID, err = os.Readlink("/proc/self/ns/pid")
	require.NoError(t, err)
	self, err := os.Readlink("/proc/self")
	require.NoError(t, err)
	require.Equal(t, strconv.Itoa(os.Getpid()), self)
	s.First = self == "1"
	return s
}

var looker = netns.NewRole("looker", func(c *twoproc.Child) { c.Put(look(c)) })

// A process is in the namespaces of its place, and in no other ones than the test
// where nothing is said.
func TestPlace(t *testing.T) {
	a, _ := netns.Join(t, "")
	here := look(t)
	at := func(p netns.Place) (s surroundings) {
		proc := looker.Start(t, p, limit)
		proc.Get(&s)
		proc.Wait()
		return s
	}
	require.Equal(t, here, at(netns.Place{}))

	s := at(netns.Place{Host: a})
	require.NotEqual(t, here.Nets, s.Nets)
	require.Subset(t, s.Net, []string{"lo", "nic0"})
	require.NotContains(t, s.Net, "eth0")
	s.Net, s.Nets = here.Net, here.Nets
	require.Equal(t, here, s)

	s = at(netns.Place{Hostname: "elsewhere"})
	require.Equal(t, "elsewhere", s.Hostname)
	s.Hostname = here.Hostname
	require.Equal(t, here, s)

	s = at(netns.Place{OwnShm: true})
	require.NotEqual(t, here.Shm, s.Shm)
	s.Shm = here.Shm
	require.Equal(t, here, s)

	s = at(netns.Place{OwnIPC: true})
	require.NotEqual(t, here.IPC, s.IPC)
	s.IPC = here.IPC
	require.Equal(t, here, s)

	s = at(netns.Place{OwnPID: true})
	require.NotEqual(t, here.PID, s.PID)
	require.True(t, s.First)
	s.PID, s.First = here.PID, here.First
	require.Equal(t, here, s)

	require.Equal(t, here, look(t), "the test process has moved")
}

// waiting does not even notice that its parent is gone.
var waiting = netns.NewRole("waiting", func(*twoproc.Child) { select {} })

// parent has a process in a host, and is killed.
var parent = twoproc.NewRole("parent", func(c *twoproc.Child) {
	a, _ := netns.Join(lone{c: c}, "")
	c.Put(waiting.Start(lone{c: c}, netns.Place{Host: a}, limit).Pid)
	c.Get(new(int))
})

// lone is what a role has of testing.TB.
type lone struct {
	testing.TB
	c *twoproc.Child
}

func (l lone) Helper()                        {}
func (l lone) Cleanup(func())                 {}
func (l lone) Fatalf(format string, a ...any) { l.c.Errorf(format, a...); l.c.FailNow() }
func (l lone) Fatal(a ...any)                 { l.Fatalf("%s", fmt.Sprint(a...)) }
func (l lone) Skip(a ...any)                  { l.Fatal(a...) }

// A test that is killed leaves no process, and so no namespace.
func TestKilledParent(t *testing.T) {
	netns.Need(t)
	p := parent.Start(t, limit)
	var pid int
	p.Get(&pid)
	fd, err := unix.PidfdOpen(pid, 0)
	require.NoError(t, err)
	defer unix.Close(fd)
	p.Kill()
	n := 0
	for err = unix.EINTR; err == unix.EINTR; { // the Go runtime sends itself signals
		n, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(limit.Milliseconds()/2))
	}
	require.NoError(t, err)
	require.Equal(t, 1, n, "process %d is still there", pid)
}

// The test's process is on one host, what it starts on the other.
func TestOnHosts(t *testing.T) {
	other := netns.OnHosts(t, limit, "")
	if other == nil {
		return
	}
	l, err := net.Listen("tcp4", "10.211.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	require.NoError(t, l.(*net.TCPListener).SetDeadline(time.Now().Add(limit/2)))
	cmd := exec.Command("bash", "-c", fmt.Sprintf("exec 3<>/dev/tcp/10.211.0.1/%d; echo hello >&3", l.Addr().(*net.TCPAddr).Port))
	require.NoError(t, other.Start(cmd))
	conn, err := l.Accept()
	require.NoError(t, err)
	defer conn.Close()
	text, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.NoError(t, cmd.Wait())
	require.Equal(t, "hello\n", string(text))
	require.Equal(t, "10.211.0.2", conn.RemoteAddr().(*net.TCPAddr).IP.String())
}

// What fails on the host has failed.
func TestOnHostsFails(t *testing.T) {
	r := &recorder{TB: t}
	if netns.OnHosts(r, limit, "") != nil {
		require.Fail(t, "on purpose")
		return
	}
	require.Equal(t, []any{"exit status 1"}, r.errors)
	require.Contains(t, r.log, "on purpose")
}

// recorder keeps what a test would fail with.
type recorder struct {
	testing.TB
	errors []any
	log    string
}

func (r *recorder) Error(a ...any)               { r.errors = append(r.errors, a...) }
func (r *recorder) Logf(format string, a ...any) { r.log += fmt.Sprintf(format, a...) }
