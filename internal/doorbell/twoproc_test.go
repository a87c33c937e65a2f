package doorbell_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"golnx/internal/doorbell"
	"golnx/internal/twoproc"
)

// mailbox is the shared memory without a descriptor.
type mailbox struct {
	sent   atomic.Uint64
	sentAt atomic.Int64 // ns, of CLOCK_MONOTONIC
	_      [48]byte
	taken  atomic.Uint64
}

// mapMailbox maps it for as long as the process runs.
func mapMailbox(t require.TestingT, path string) *mailbox {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, f.Truncate(int64(os.Getpagesize())))
	b, err := unix.Mmap(int(f.Fd()), 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.NoError(t, err)
	return (*mailbox)(unsafe.Pointer(&b[0]))
}

func now(t require.TestingT) int64 {
	var ts unix.Timespec
	require.NoError(t, unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts))
	return ts.Nano()
}

type job struct {
	Mailbox string
	Rounds  int
}

type outcome struct {
	Slept   int // nothing had come after Arm
	Missed  int // sleeps that their bound ended
	Median  int64
	P99     int64 // ns from just before the message to the receiver's waking up
	Slowest int64
}

var receiver = twoproc.NewRole("receiver", func(c *twoproc.Child) {
	b, err := doorbell.New(token)
	require.NoError(c, err)
	c.Put(b.Name())
	var j job
	if !c.Get(&j) {
		return
	}
	box := mapMailbox(c, j.Mailbox)
	var out outcome
	times := hdrhistogram.New(1, int64(time.Minute), 3)
	for next := uint64(1); next <= uint64(j.Rounds); next++ {
		slept := false
		for box.sent.Load() < next {
			b.Arm()
			if box.sent.Load() < next {
				slept = true
				out.Missed += sleep(c, b)
			}
			b.Disarm()
		}
		if slept {
			out.Slept++
			require.NoError(c, times.RecordValue(now(c)-box.sentAt.Load()))
		}
		box.taken.Store(next)
	}
	out.Median, out.P99, out.Slowest = times.ValueAtQuantile(50), times.ValueAtQuantile(99), times.Max()
	require.NoError(c, b.Close())
	c.Put(out)
})

// sleep sleeps until the bell rings, and answers 1 if it does not.
func sleep(c *twoproc.Child, b *doorbell.Bell) int {
	fds := []unix.PollFd{{Fd: int32(b.FD()), Events: unix.POLLIN}}
	for {
		switch n, err := unix.Poll(fds, 10_000); {
		case err == unix.EINTR:
		case err != nil || n == 1 && fds[0].Revents != unix.POLLIN:
			c.Errorf("poll: %v, %#x", err, fds[0].Revents)
			c.FailNow()
		case n == 0:
			return 1
		default:
			b.Drain()
			return 0
		}
	}
}

// until waits busily for another process.
func until(t *testing.T, what string, cond func() bool) {
	end := time.Now().Add(limit)
	for i := 0; !cond(); i++ {
		if runtime.Gosched(); i%1024 == 0 && time.Now().After(end) {
			t.Fatalf("%s: not after %v", what, limit)
		}
	}
}

// No message is slept through, whether the receiver is asleep, awake, or about to
// become the one or the other. The messages here are stores of sync/atomic, which
// have the fence that others may lack.
func TestRounds(t *testing.T) {
	p := receiver.Start(t, limit)
	var name doorbell.Name
	p.Get(&name)
	require.Equal(t, p.Pid, int(name.PID))
	r := open(t, name)
	j := job{filepath.Join(t.TempDir(), "mailbox"), 10_000}
	box := mapMailbox(t, j.Mailbox)
	p.Put(j)
	for i := uint64(1); i <= uint64(j.Rounds); i++ {
		switch i % 4 {
		case 0: // at once
		case 1: // some time after the receiver was awake
			for start, pause := now(t), int64(i%1000)*50; now(t)-start < pause; {
			}
		default:
			until(t, "asleep", r.Asleep)
		}
		box.sentAt.Store(now(t))
		box.sent.Store(i)
		r.Ring()
		until(t, "taken", func() bool { return box.taken.Load() == i })
	}
	var out outcome
	p.Get(&out)
	p.Wait()
	require.Zero(t, out.Missed, "of %d", out.Slept)
	require.Greater(t, out.Slept, j.Rounds/10)
	t.Logf("%d rounds, %d slept: woken after %v, 99 %% within %v, slowest %v", j.Rounds, out.Slept,
		time.Duration(out.Median), time.Duration(out.P99), time.Duration(out.Slowest))
}

var armed = twoproc.NewRole("armed", func(c *twoproc.Child) {
	b, err := doorbell.New(token)
	require.NoError(c, err)
	b.Arm()
	c.Put(b.Name())
	var more bool
	for c.Get(&more) {
		n, err := unix.IoctlGetInt(b.FD(), unix.TIOCINQ)
		require.NoError(c, err)
		c.Put(n)
		b.Arm()
	}
})

// Senders of a killed receiver go quiet, and live.
func TestKilledReceiver(t *testing.T) {
	p := armed.Start(t, limit)
	var name doorbell.Name
	p.Get(&name)
	r, late := open(t, name), open(t, name)
	r.Ring()
	var n int
	p.Put(true)
	p.Get(&n)
	require.Equal(t, 1, n)
	until(t, "armed again", func() bool { return late.Asleep() })
	p.Kill()
	for range 100 {
		late.Ring()
		r.Ring()
	}
	require.True(t, late.Closed())
	require.Zero(t, testing.AllocsPerRun(100, late.Ring))
	_, err := doorbell.Open(name)
	require.ErrorIs(t, err, doorbell.ErrUnavailable)
}

// A suspended receiver does not hold up its senders.
func TestStoppedReceiver(t *testing.T) {
	p := armed.Start(t, limit)
	var name doorbell.Name
	p.Get(&name)
	p.Stop()
	for range 1000 {
		r, err := doorbell.Open(name)
		require.NoError(t, err)
		r.Ring()
		require.False(t, r.Closed())
		require.NoError(t, r.Close())
	}
	p.Continue()
	var n int
	p.Put(true)
	p.Get(&n)
	require.Equal(t, 1000, n)
	p.Wait()
}

var daemon = twoproc.NewRole("daemon", func(c *twoproc.Child) {
	var name doorbell.Name
	c.Get(&name)
	for fd := range 3 {
		require.NoError(c, unix.Close(fd))
	}
	r, err := doorbell.Open(name)
	if err != nil {
		c.Put(err.Error())
		return
	}
	c.Put("open")
	var killed bool
	c.Get(&killed)
	for _, std := range []*os.File{os.Stdout, os.Stderr} {
		fmt.Fprintln(std, "a print into nothing")
	}
	r.Ring()
	if !r.Closed() {
		c.Put("rings")
	}
	c.Put("quiet")
})

// A process without standard input, output and error gives the pipe none of their
// numbers: printing would ring the bell, and end the process once the receiver has
// gone.
func TestDaemon(t *testing.T) {
	p := armed.Start(t, limit)
	var name doorbell.Name
	p.Get(&name)
	d := daemon.Start(t, limit)
	d.Put(name)
	var said string
	d.Get(&said)
	require.Equal(t, "open", said)
	p.Kill()
	d.Put(true)
	d.Get(&said)
	require.Equal(t, "quiet", said)
	d.Wait()
}
