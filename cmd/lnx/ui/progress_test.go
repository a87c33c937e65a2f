package ui

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// terminal answers both sides of a pseudo terminal.
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = master.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	slave, err = os.OpenFile(filepath.Join("/dev/pts", strconv.Itoa(n)), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = slave.Close() })
	return master, slave
}

func TestProgressOnTerminal(t *testing.T) {
	master, slave := terminal(t)
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		var text strings.Builder
		for buf := make([]byte, 4096); ; {
			n, err := master.Read(buf)
			text.Write(buf[:n])
			if err != nil {
				return
			}
			lines <- text.String()
		}
	}()
	stop := Progress(slave, "lat, 8 B", 1000, func() int64 { return 420 })
	deadline := time.After(30 * time.Second)
	await := func(want string) {
		t.Helper()
		for {
			select {
			case text := <-lines:
				if strings.Contains(text, want) {
					return
				}
			case <-deadline:
				require.FailNow(t, "no "+want)
			}
		}
	}
	await("42.00%")
	stop()
	await("done")
}

func TestOnlyTerminalsShowProgress(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	_, slave := terminal(t)
	require.True(t, isTerminal(slave))
	require.False(t, isTerminal(w))
	require.False(t, isTerminal(new(bytes.Buffer)))
}

func TestWorkThatIsSoonOverShowsNothing(t *testing.T) {
	master, slave := terminal(t)
	stop := Progress(slave, "lat", 10, func() int64 { return 1 })
	stop()
	_, err := slave.WriteString("end\n")
	require.NoError(t, err)
	buf := make([]byte, 100)
	n, err := master.Read(buf)
	require.NoError(t, err)
	require.Equal(t, "end\r\n", string(buf[:n]))
}
