package timer

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"golnx/internal/need"
	"golnx/rail/intercept"
	"golnx/rail/timer/nic"
)

// wholeLines checks that the files of a rank end with a line's end, and answers the size
// of each.
func wholeLines(t testing.TB, dir string) map[string]int {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	sizes := map[string]int{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		require.True(t, bytes.HasSuffix(text, []byte("\n")), "%s ends with %q", e.Name(), text[max(0, len(text)-40):])
		sizes[e.Name()] = len(text)
	}
	return sizes
}

// many does operations; it answers how many.
func many(t testing.TB, w *world, n int) uint64 {
	for i := range n {
		require.NoError(t, w.send(0, 0, nil, uint64(i), i))
		require.Equal(t, i, w.end(0, 0, 0))
	}
	return uint64(n)
}

func TestOpsLimit(t *testing.T) {
	warnings := new(log)
	cfg, err := FromEnv(set(opsMBKnob, "0.125"))
	require.NoError(t, err)
	cfg.Dir = t.TempDir()
	r, hooks := start(t, *cfg, Env{Warn: warnings, records: 1 << 16})
	w := newWorld(t, 1, hooks, "eth0")
	total := many(t, w, 10_000)
	r.Flush()
	require.Equal(t, "golnx op timer: ops_rank0.csv has reached INTERCEPT_TIMER_OPS_MB=0.125: no more operations are recorded\n", warnings.String())
	require.NoError(t, w.send(0, 0, nil, 0, "untimed"))
	require.Equal(t, []any{"untimed"}, w.under, "an operation is timed after the end")
	total++
	require.NoError(t, r.Close())

	ops, _, m := recorded(t, r)
	size := wholeLines(t, r.cfg.Dir)["ops_rank0.csv"]
	require.LessOrEqual(t, size, 128<<10)
	require.Greater(t, size, 127<<10)
	require.Equal(t, uint64(len(ops)), m.Ops.Recorded)
	require.Equal(t, total, m.Ops.Recorded+m.Ops.Dropped)
	require.Equal(t, "ops_rank0.csv has reached INTERCEPT_TIMER_OPS_MB=0.125", m.Ops.Ended)
	require.Equal(t, "closed", m.Ended)
	require.Equal(t, 1, strings.Count(warnings.String(), "\n"))
}

func TestNICLimit(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "sys/class/net/eth0/statistics")
	require.NoError(t, os.MkdirAll(path, 0o755))
	for c := range 100 {
		require.NoError(t, os.WriteFile(filepath.Join(path, strconv.Itoa(c)), []byte("1"), 0o644))
	}
	warnings := new(log)
	cfg, err := FromEnv(set(nicMBKnob, "0.0009765625", "INTERCEPT_TIMER_NIC", "1"))
	require.NoError(t, err)
	cfg.Dir = t.TempDir()
	r, hooks := start(t, *cfg, Env{Warn: warnings, Ticker: new(tickers).ticker, Sources: nic.All(root)})
	w := newWorld(t, 1, hooks, "eth0", "eth1")
	w2 := newWorld(t, 2, hooks, "eth0") // the NIC is sampled once
	total := many(t, w, 100) + many(t, w2, 100)
	require.NoError(t, r.Close())
	require.Equal(t, "golnx op timer: nic_rank0.csv has reached INTERCEPT_TIMER_NIC_MB=0.0009765625: no more NIC counters are recorded\n", warnings.String())
	ops, _, m := recorded(t, r)
	require.Len(t, ops, int(total), "operations go on")
	require.LessOrEqual(t, wholeLines(t, r.cfg.Dir)["nic_rank0.csv"], 1024)
	samples, bad, _ := read(t, OpenNIC, nicFile.path(r.cfg.Dir, 0))
	require.Empty(t, bad)
	require.Equal(t, uint64(len(samples)), m.NIC.Recorded)
	require.Equal(t, uint64(100), m.NIC.Recorded+m.NIC.Dropped, "the first readings, and no more")
}

// short is a file on a disk that becomes full within a line.
type short struct {
	file
	room int
}

var errFull = errors.New("the disk is full")

func (s *short) Write(b []byte) (int, error) {
	if len(b) <= s.room {
		s.room -= len(b)
		return s.file.Write(b)
	}
	n, _ := s.file.Write(b[:s.room])
	s.room = 0
	return n, errFull
}

func TestWriteFails(t *testing.T) {
	const perLine = len("1000,1001,tsend,0,0,0x0,0\n")
	for _, tc := range []struct {
		name, prefix string
		room         int
	}{
		{"ops", "ops_", len(opsHeader) + 40*perLine + 3},
		{"ops at once", "ops_", len(opsHeader) + 1},
		{"links", "links_", 100},
		{"endpoints", "endpoints_", 40},
		{"CQ gaps", "cqgaps_", 30},
	} {
		t.Run(tc.name, func(t *testing.T) {
			warnings, clock := new(log), counting()
			r, hooks := start(t, Config{CQGap: 1}, Env{Clock: clock, Warn: warnings, create: func(path string) (file, error) {
				f, err := createFile(path)
				if strings.HasPrefix(filepath.Base(path), tc.prefix) {
					f = &short{f, tc.room}
				}
				return f, err
			}})
			total := uint64(0)
			for id := range uint64(3) {
				w := newWorld(t, id+1, hooks, "eth0")
				total += many(t, w, 100)
				for range 5 {
					clock() // time goes by
					_, err := hooks[0].CQRead(w.view, nil, func([]intercept.Entry) (int, error) { return 0, nil })
					require.NoError(t, err)
				}
				r.Flush()
			}
			require.ErrorIs(t, r.Close(), errFull)
			require.Equal(t, "golnx op timer: the disk is full: recording has ended\n", warnings.String())
			wholeLines(t, r.cfg.Dir)
			ops, links, m := recorded(t, r)
			require.Equal(t, total, m.Ops.Recorded+m.Ops.Dropped)
			require.Equal(t, uint64(len(ops)), m.Ops.Recorded)
			require.NotZero(t, m.Ops.Dropped)
			require.Equal(t, "the disk is full", m.Ended)
			for _, op := range ops {
				require.Less(t, op.Link, len(links))
			}
		})
	}
}

// On a file system that becomes full for real.
func TestFullDisk(t *testing.T) {
	runtime.LockOSThread() // and never unlocked, so that the thread ends with the test
	dir := t.TempDir()
	err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_FS)
	if errors.Is(err, unix.EPERM) {
		need.Skip(t, &need.Missing{What: "a mount namespace cannot be made", Err: err, Do: "run as root"})
	}
	require.NoError(t, err)
	require.NoError(t, unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""))
	require.NoError(t, unix.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"))
	defer unix.Unmount(dir, 0)
	warnings := new(log)
	r, hooks := start(t, Config{Dir: dir}, Env{Warn: warnings, records: 1 << 16})
	w := newWorld(t, 1, hooks, "eth0")
	total := many(t, w, 30_000)
	require.ErrorIs(t, r.Close(), unix.ENOSPC)
	require.Equal(t, "golnx op timer: write "+dir+"/ops_rank0.csv: no space left on device: recording has ended\n", warnings.String())
	wholeLines(t, dir)
	ops, links, m := recorded(t, r)
	require.Len(t, links, 1)
	require.Greater(t, len(ops), 1000)
	require.Equal(t, uint64(len(ops)), m.Ops.Recorded)
	require.Equal(t, total, m.Ops.Recorded+m.Ops.Dropped)
	require.NotZero(t, m.End)
	require.Contains(t, m.Ended, "no space left on device")
}

// stuck is a file whose first write of rows does not return until it may.
type stuck struct {
	file
	writes  int
	writing chan<- bool
	may     <-chan bool
}

func (s *stuck) Write(b []byte) (int, error) {
	if s.writes++; s.writes == 2 { // the first is the header
		s.writing <- true
		<-s.may
	}
	return s.file.Write(b)
}

// A disk that hangs makes no operation wait: what has no room is dropped.
func TestWriterThatCannotKeepUp(t *testing.T) {
	writing, may := make(chan bool), make(chan bool)
	r, hooks := start(t, Config{}, Env{records: 64, create: func(path string) (file, error) {
		f, err := createFile(path)
		if strings.HasPrefix(filepath.Base(path), "ops_") {
			f = &stuck{file: f, writing: writing, may: may}
		}
		return f, err
	}})
	w := newWorld(t, 1, hooks, "eth0")
	total := many(t, w, 10)
	go r.Flush()
	<-writing
	total += many(t, w, 1000)
	close(may)
	require.NoError(t, r.Close())
	ops, _, m := recorded(t, r)
	require.Equal(t, OpCounts{RowCounts: RowCounts{Recorded: 10 + 64, Dropped: total - 74}}, m.Ops)
	require.Len(t, ops, 74)
	require.Equal(t, uint64(63), ops[73].Tag, "the first ones are kept")
}
