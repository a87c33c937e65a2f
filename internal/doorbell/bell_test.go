package doorbell_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"golnx/internal/doorbell"
)

// Each sender rings once for each Arm, and only while the receiver sleeps.
func TestRingOncePerArm(t *testing.T) {
	b := newBell(t, token)
	ringers := []*doorbell.Ringer{open(t, b.Name()), open(t, b.Name())}
	ring := func() {
		for range 100 {
			for _, r := range ringers {
				r.Ring()
			}
		}
	}
	ring()
	require.Zero(t, rings(t, b), "awake")
	for i := 1; i <= 3; i++ {
		b.Arm()
		require.Equal(t, 2*(i-1), rings(t, b), "armed, but not rung")
		ring()
		require.Equal(t, 2*i, rings(t, b), "asleep")
		b.Disarm()
		ring()
		require.Equal(t, 2*i, rings(t, b), "awake again")
	}
	b.Drain()
	require.Zero(t, rings(t, b))
	b.Arm()
	ring()
	b.Arm() // sleeps again without having been awake
	ring()
	require.Equal(t, 4, rings(t, b))
	ringers = append(ringers, open(t, b.Name())) // comes while the receiver sleeps
	ring()
	require.Equal(t, 5, rings(t, b))
}

func poll(t testing.TB, b *doorbell.Bell) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(b.FD()), Events: unix.POLLIN}}, 0)
	require.NoError(t, err)
	return n == 1
}

func TestFDIsReadableWhenRung(t *testing.T) {
	b := newBell(t, token)
	r := open(t, b.Name())
	b.Arm()
	require.False(t, poll(t, b))
	r.Ring()
	require.True(t, poll(t, b))
	b.Drain()
	require.False(t, poll(t, b))
	b.Arm()
	require.NoError(t, r.Close()) // the last sender leaves, which is no event
	require.False(t, poll(t, b))
}

// A pipe that nobody empties neither blocks a sender nor makes it give up.
func TestFullPipe(t *testing.T) {
	b := newBell(t, token)
	r := open(t, b.Name())
	fill := func() {
		for {
			if _, err := unix.Write(int(b.Name().Pipe), make([]byte, 1)); err != nil {
				require.Equal(t, unix.EAGAIN, err)
				return
			}
		}
	}
	fill()
	full := rings(t, b)
	require.Positive(t, full)
	b.Arm()
	r.Ring()
	require.Equal(t, full, rings(t, b))
	require.False(t, r.Closed())
	b.Drain()
	require.Zero(t, rings(t, b))
	b.Arm()
	r.Ring()
	require.Equal(t, 1, rings(t, b))
}

func TestClosed(t *testing.T) {
	b, err := doorbell.New(token)
	require.NoError(t, err)
	name := b.Name()
	r, quiet := open(t, name), open(t, name)
	b.Arm()
	r.Ring()
	require.NoError(t, quiet.Close())
	quiet.Ring()
	require.Equal(t, 1, rings(t, b), "a closed ringer is quiet")
	require.NoError(t, quiet.Close())

	require.NoError(t, b.Close())
	require.False(t, r.Asleep(), "a closed bell does not sleep")
	r.Ring()
	require.NoError(t, b.Close())
	require.Equal(t, -1, b.FD())
	b.Arm()
	b.Drain()
	b.Disarm()
	_, err = doorbell.Open(name)
	require.ErrorIs(t, err, doorbell.ErrUnavailable)
	_, err = doorbell.Open(b.Name())
	require.ErrorIs(t, err, doorbell.ErrUnavailable)
}

// The page cannot be written to by those who open it, nor change in size.
func TestPageIsSealed(t *testing.T) {
	b := newBell(t, token)
	fd := int(b.Name().Page)
	_, err := unix.Pwrite(fd, []byte("x"), 0)
	require.Equal(t, unix.EPERM, err)
	_, err = unix.Mmap(fd, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.Equal(t, unix.EPERM, err)
	for _, size := range []int{0, 2 * os.Getpagesize()} {
		require.Equal(t, unix.EPERM, unix.Ftruncate(fd, int64(size)))
	}
	const punch = unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE
	require.Equal(t, unix.EPERM, unix.Fallocate(fd, punch, 0, int64(os.Getpagesize())))
	_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE)
	require.Equal(t, unix.EPERM, err)
}

func TestNoDescriptorIsInherited(t *testing.T) {
	b := newBell(t, token)
	for _, fd := range []int{b.FD(), int(b.Name().Page), int(b.Name().Pipe)} {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		require.NoError(t, err)
		require.Equal(t, unix.FD_CLOEXEC, flags)
	}
}

func TestNoAllocation(t *testing.T) {
	b := newBell(t, token)
	r := open(t, b.Name())
	require.Zero(t, testing.AllocsPerRun(1000, r.Ring))
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		b.Arm()
		r.Ring()
		r.Ring()
		b.Disarm()
		b.Drain()
	}))
	require.Zero(t, rings(t, b))
	require.Zero(t, testing.AllocsPerRun(10_000, func() { // the pipe may become full
		b.Arm()
		r.Ring()
	}))
	require.False(t, r.Closed())
}

func BenchmarkRing(b *testing.B) {
	bell := newBell(b, token)
	r := open(b, bell.Name())
	b.Run("receiver=awake", func(b *testing.B) {
		for b.Loop() {
			r.Ring()
		}
	})
	bell.Arm()
	b.Run("receiver=rung", func(b *testing.B) {
		for b.Loop() {
			r.Ring()
		}
	})
	b.Run("receiver=asleep", func(b *testing.B) {
		for b.Loop() {
			bell.Arm()
			r.Ring()
			bell.Disarm()
			bell.Drain()
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	name := newBell(b, token).Name()
	for b.Loop() {
		r, err := doorbell.Open(name)
		if err != nil {
			b.Fatal(err)
		}
		r.Close()
	}
}
