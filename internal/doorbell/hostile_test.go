package doorbell_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"golnx/internal/doorbell"
	"golnx/internal/need"
	"golnx/internal/netns"
	"golnx/internal/twoproc"
)

// forged is a bell made by hand; what is zero is as it should be.
type forged struct {
	memfd   string // its name
	size    int
	seals   int // -1 is none
	page    func([]byte)
	pageFD  func(t *testing.T) int // instead of the memfd
	pipeFD  func(t *testing.T) int // instead of the pipe
	forPipe bool                   // and the page names that
}

const allSeals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_FUTURE_WRITE | unix.F_SEAL_SEAL

func fdOf(t *testing.T, fd int, err error) int {
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(fd) })
	return fd
}

func (f forged) make(t *testing.T) doorbell.Name {
	if f.memfd == "" {
		f.memfd = "golnx-doorbell"
	}
	if f.size == 0 {
		f.size = os.Getpagesize()
	}
	switch f.seals {
	case 0:
		f.seals = allSeals
	case -1:
		f.seals = 0
	}
	var p [2]int
	require.NoError(t, unix.Pipe2(p[:], unix.O_NONBLOCK|unix.O_CLOEXEC))
	fdOf(t, p[0], nil)
	pipe := fdOf(t, p[1], nil)
	named := pipe
	if f.pipeFD != nil {
		pipe = f.pipeFD(t)
		if f.forPipe {
			named = pipe
		}
	}
	var st unix.Stat_t
	require.NoError(t, unix.Fstat(named, &st))

	b := make([]byte, max(f.size, 72))
	copy(b, "golnxdbl")
	binary.NativeEndian.PutUint32(b[8:], 1)
	binary.NativeEndian.PutUint64(b[16:], token)
	binary.NativeEndian.PutUint64(b[24:], st.Dev)
	binary.NativeEndian.PutUint64(b[32:], st.Ino)
	binary.NativeEndian.PutUint64(b[64:], 3)
	if f.page != nil {
		f.page(b)
	}
	page, err := unix.MemfdCreate(f.memfd, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	fdOf(t, page, err)
	_, err = unix.Pwrite(page, b[:f.size], 0)
	require.NoError(t, err)
	_, err = unix.FcntlInt(uintptr(page), unix.F_ADD_SEALS, f.seals)
	require.NoError(t, err)
	if f.pageFD != nil {
		page = f.pageFD(t)
	}
	return doorbell.Name{PID: int32(os.Getpid()), Page: int32(page), Pipe: int32(pipe), Token: token}
}

// at opens a file.
func at(path string) func(*testing.T) int {
	return func(t *testing.T) int {
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		return fdOf(t, fd, err)
	}
}

func closedFD(*testing.T) int { return 1 << 20 }

func socket(t *testing.T) int {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	return fdOf(t, fd, err)
}

func eventfd(t *testing.T) int {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	return fdOf(t, fd, err)
}

func directory(t *testing.T) int {
	fd, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return fdOf(t, fd, err)
}

func file(t *testing.T) int {
	path := filepath.Join(t.TempDir(), "golnx-doorbell")
	require.NoError(t, os.WriteFile(path, make([]byte, os.Getpagesize()), 0o600))
	return at(path)(t)
}

func fifo(t *testing.T) int {
	path := filepath.Join(t.TempDir(), "pipe:[1]")
	require.NoError(t, unix.Mkfifo(path, 0o600))
	return at(path)(t)
}

func pipe(t *testing.T) int {
	var p [2]int
	require.NoError(t, unix.Pipe(p[:]))
	fdOf(t, p[0], nil)
	return fdOf(t, p[1], nil)
}

func pipeWithoutReader(t *testing.T) int {
	var p [2]int
	require.NoError(t, unix.Pipe(p[:]))
	require.NoError(t, unix.Close(p[0]))
	return fdOf(t, p[1], nil)
}

func memfd(t *testing.T) int {
	fd, err := unix.MemfdCreate("pipe:[1]", unix.MFD_CLOEXEC)
	return fdOf(t, fd, err)
}

func TestHostileBells(t *testing.T) {
	set := func(at int, v uint64) func([]byte) {
		return func(b []byte) { binary.NativeEndian.PutUint64(b[at:], v) }
	}
	for _, c := range []struct {
		what string
		f    forged
		says string // "" when it is a good bell
	}{
		{"good", forged{}, ""},
		{"good with more seals", forged{seals: allSeals | unix.F_SEAL_EXEC}, ""},
		{"page closed", forged{pageFD: closedFD}, "no such file"},
		{"page a device", forged{pageFD: at("/dev/null")}, `is "/dev/null", want what begins with "/memfd:golnx-doorbell (deleted)"`},
		{"page a device that opening changes", forged{pageFD: at("/dev/ptmx")}, `ptmx", want what begins with "/memfd:golnx-doorbell (deleted)"`},
		{"page a file", forged{pageFD: file}, `want what begins with "/memfd:golnx-doorbell (deleted)"`},
		{"page a directory", forged{pageFD: directory}, `is "/", want what begins with "/memfd:golnx-doorbell (deleted)"`},
		{"page a pipe", forged{pageFD: pipe}, `is "pipe:[`},
		{"page a socket", forged{pageFD: socket}, `is "socket:[`},
		{"page an eventfd", forged{pageFD: eventfd}, `is "anon_inode:[eventfd]`},
		{"page a memfd of other use", forged{memfd: "other"}, `is "/memfd:other (deleted)"`},
		{"page not sealed", forged{seals: -1}, "seals is 0x0, want 0x12 at least"},
		{"page that can shrink", forged{seals: unix.F_SEAL_GROW | unix.F_SEAL_FUTURE_WRITE}, "seals is 0x14, want 0x12 at least"},
		{"page that can have holes", forged{seals: unix.F_SEAL_GROW | unix.F_SEAL_SHRINK}, "seals is 0x6, want 0x12 at least"},
		{"page empty", forged{size: 1, seals: allSeals}, "size in bytes is 1, want"},
		{"page short", forged{size: 72}, "size in bytes is 72, want"},
		{"page long", forged{size: 2 * os.Getpagesize()}, "size in bytes is"},
		{"page of zeros", forged{page: func(b []byte) { clear(b) }}, `magic is "\x00\x00\x00\x00\x00\x00\x00\x00", want "golnxdbl"`},
		{"other version", forged{page: set(8, 2)}, "version is 2, want 1"},
		{"other token", forged{page: set(16, 0xabc)}, "token is 0xabc, want 0x1122334455667788"},
		{"other pipe device", forged{page: set(24, 1<<40)}, "device and inode is"},
		{"other pipe inode", forged{page: set(32, 1<<40)}, "device and inode is"},
		{"pipe closed", forged{pipeFD: closedFD}, "no such file"},
		{"pipe another one", forged{pipeFD: pipe}, "device and inode is"},
		{"good, but nobody reads", forged{pipeFD: pipeWithoutReader, forPipe: true}, ""},
		{"pipe a file", forged{pipeFD: file, forPipe: true}, `want what begins with "pipe:["`},
		{"pipe a device", forged{pipeFD: at("/dev/null"), forPipe: true}, `is "/dev/null", want what begins with "pipe:["`},
		{"pipe a socket", forged{pipeFD: socket, forPipe: true}, `is "socket:[`},
		{"pipe a memfd", forged{pipeFD: memfd, forPipe: true}, `is "/memfd:pipe:[1] (deleted)"`},
		{"pipe with a name", forged{pipeFD: fifo, forPipe: true}, `want what begins with "pipe:["`},
	} {
		t.Run(strings.ReplaceAll(c.what, " ", "-"), func(t *testing.T) {
			name := c.f.make(t)
			before := held(t)
			r, err := doorbell.Open(name)
			if c.says == "" {
				require.NoError(t, err)
				require.NoError(t, r.Close())
			} else {
				require.ErrorIs(t, err, doorbell.ErrUnavailable)
				require.ErrorContains(t, err, c.says)
			}
			require.Equal(t, before, held(t))
		})
	}
}

// A bell that nobody hears is given up.
func TestBellWithoutReader(t *testing.T) {
	r := open(t, forged{pipeFD: pipeWithoutReader, forPipe: true}.make(t))
	require.True(t, r.Asleep())
	r.Ring()
	require.True(t, r.Closed())
}

// Bells of other users are refused, even where the user may do everything.
func TestOtherUsersBells(t *testing.T) {
	const other = 54321
	for _, what := range []string{"page", "pipe"} {
		t.Run(what, func(t *testing.T) {
			n := forged{}.make(t)
			fd := map[string]int32{"page": n.Page, "pipe": n.Pipe}[what]
			if err := unix.Fchown(int(fd), other, -1); err == unix.EPERM {
				need.Skip(t, &need.Missing{What: "a file cannot be given to another user", Err: err, Do: "run as root"})
			} else if err != nil {
				t.Fatal(err)
			}
			before := held(t)
			_, err := doorbell.Open(n)
			require.ErrorIs(t, err, doorbell.ErrUnavailable)
			require.ErrorContains(t, err, "owner is 54321, want")
			require.Equal(t, before, held(t))
		})
	}
}

// pretender has a FIFO that is called like a page, in a root of its own.
var pretender = netns.NewRole("pretender", func(c *twoproc.Child) {
	var root string
	c.Get(&root)
	require.NoError(c, os.Mkdir(filepath.Join(root, "proc"), 0o700))
	require.NoError(c, unix.Mount("/proc", filepath.Join(root, "proc"), "", unix.MS_BIND|unix.MS_REC, ""))
	require.NoError(c, unix.Chroot(root))
	const path = "/memfd:golnx-doorbell (deleted)"
	require.NoError(c, unix.Mkfifo(path, 0o600))
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	require.NoError(c, err)
	_, err = doorbell.Open(doorbell.Name{PID: int32(os.Getpid()), Page: int32(fd), Token: token})
	require.ErrorIs(c, err, doorbell.ErrUnavailable)
	c.Put(err.Error())
})

// Names of files are not trusted.
func TestFileCalledLikeAPage(t *testing.T) {
	netns.Need(t)
	p := pretender.Start(t, netns.Place{}, limit)
	p.Put(t.TempDir())
	var said string
	p.Get(&said)
	p.Wait()
	require.Contains(t, said, "file type is 010000, want 0100000")
}

func TestHostileProcesses(t *testing.T) {
	n := newBell(t, token).Name()
	for _, pid := range []int32{0, -1, -n.PID, 1, n.PID + 1<<22, 1<<31 - 1} {
		bad := n
		bad.PID = pid
		_, err := doorbell.Open(bad)
		require.ErrorIs(t, err, doorbell.ErrUnavailable)
	}
	for _, bad := range []doorbell.Name{
		{},
		{PID: n.PID, Page: -1, Pipe: n.Pipe, Token: token},
		{PID: n.PID, Page: n.Page, Pipe: -1, Token: token},
		{PID: n.PID, Page: n.Pipe, Pipe: n.Page, Token: token},
		{PID: n.PID, Page: n.Page, Pipe: n.Pipe, Token: token + 1},
	} {
		_, err := doorbell.Open(bad)
		require.ErrorIs(t, err, doorbell.ErrUnavailable)
	}
}

// A page is a bell's only if its head says so in every byte that counts.
func FuzzPage(f *testing.F) {
	f.Add([]byte("golnxdbl"), uint8(0))
	f.Add([]byte{1, 0, 0, 0}, uint8(8))
	f.Add([]byte{0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11}, uint8(16))
	f.Add([]byte{0xff}, uint8(31))
	f.Add([]byte{0xff}, uint8(64))
	f.Fuzz(func(t *testing.T, over []byte, at uint8) {
		same := true
		n := forged{page: func(b []byte) {
			good := string(b)
			copy(b[at:], over)
			same = string(b[:12]) == good[:12] && string(b[16:40]) == good[16:40]
		}}.make(t)
		r, err := doorbell.Open(n)
		if !same {
			require.ErrorIs(t, err, doorbell.ErrUnavailable)
			return
		}
		require.NoError(t, err)
		for range 3 {
			r.Ring()
		}
		require.NoError(t, r.Close())
	})
}
