// Package netns makes hosts for tests: network namespaces on this machine that
// are joined by cables of a known speed, and processes that run in them, or in
// mount, UTS and IPC namespaces of their own (namespaces(7)).
//
// Nothing outlives the tests. The namespaces have no names: the kernel ends them,
// and the interfaces in them, with the last process or descriptor that refers to
// them, however the test binary ended.
package netns

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"golnx/internal/need"
)

// unavailable says why this machine cannot make hosts.
func unavailable(why error) *need.Missing {
	return &need.Missing{What: "network namespaces cannot be made", Err: why, Do: "run as root, with iproute2"}
}

// Host is a network namespace with its loopback interface up. Its methods end the
// test when they fail.
type Host struct {
	t  testing.TB
	ns *os.File
}

// Need skips the test on a machine that cannot make hosts, as need.Skip does.
func Need(t testing.TB) {
	t.Helper()
	h, err := newHost(t)
	if err == nil {
		h.ns.Close()
		return
	}
	var missing *need.Missing
	if errors.As(err, &missing) {
		need.Skip(t, missing)
	}
	t.Fatal(err)
}

// Join makes two hosts with one cable for each speed, as tc-tbf(8) has it
// ("400mbit"; "" is as fast as the machine). Cable i joins NIC nici of both
// hosts, 10.211.i.1/24 and 10.211.i.2/24.
func Join(t testing.TB, speeds ...string) (a, b *Host) {
	t.Helper()
	Need(t)
	hosts := [2]*Host{}
	for i := range hosts {
		h, err := newHost(t)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { h.ns.Close() })
		hosts[i] = h
	}
	a, b = hosts[0], hosts[1]
	a.IP("link set lo up")
	b.IP("link set lo up")
	for i, speed := range speeds {
		nic := fmt.Sprintf("nic%d", i)
		a.IP(fmt.Sprintf("link add %s type veth peer name %s netns %s", nic, nic, b.path()))
		for j, h := range hosts {
			h.IP(
				fmt.Sprintf("address add 10.211.%d.%d/24 dev %s", i, j+1, nic),
				fmt.Sprintf("link set %s up", nic),
			)
			h.Limit(nic, speed)
		}
	}
	for i := range speeds {
		for _, h := range hosts {
			h.AwaitRunning(fmt.Sprintf("nic%d", i))
		}
	}
	return a, b
}

// newHost makes a namespace with all interfaces down.
func newHost(t testing.TB) (*Host, error) {
	for _, tool := range []string{"ip", "tc"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, unavailable(err)
		}
	}
	h := &Host{t: t}
	err := onThread(func() (err error) {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return unavailable(fmt.Errorf("unshare(CLONE_NEWNET) as user %d: %w", os.Geteuid(), err))
		}
		h.ns, err = os.Open(ownNS)
		return err
	})
	return h, err
}

const ownNS = "/proc/thread-self/ns/net"

// onThread runs f on a thread that f may put into another network namespace, and
// brings the thread back. It must come back rather than end, since it may be the
// first one, whose namespaces /proc/self shows.
func onThread(f func() error) error {
	runtime.LockOSThread()
	home, err := os.Open(ownNS)
	if err != nil {
		return err
	}
	defer home.Close()
	if err := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); err != nil { // may it come back?
		runtime.UnlockOSThread()
		return unavailable(fmt.Errorf("setns as user %d: %w", os.Geteuid(), err))
	}
	err = f()
	if back := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); back != nil {
		return errors.Join(err, back) // the thread stays locked: it is good for nothing else
	}
	runtime.UnlockOSThread()
	return err
}

// inside runs f on a thread that is in the host's namespace.
func (h *Host) inside(f func() error) error {
	return onThread(func() error {
		if err := unix.Setns(int(h.ns.Fd()), unix.CLONE_NEWNET); err != nil {
			return err
		}
		return f()
	})
}

// AwaitRunning waits for the kernel to see that a cable has two ends, before which
// libfabric does not offer the NIC.
func (h *Host) AwaitRunning(nic string) {
	h.t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		var i *net.Interface
		err := h.inside(func() (err error) {
			i, err = net.InterfaceByName(nic)
			return err
		})
		switch {
		case err != nil:
			h.t.Fatal(err)
		case i.Flags&net.FlagRunning != 0:
			return
		case time.Now().After(end):
			h.t.Fatalf("%s does not come up: %v", nic, i.Flags)
		}
	}
}

// path names the namespace as long as this process lives.
func (h *Host) path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), h.ns.Fd()) }

// IP runs commands of ip(8) in the host.
func (h *Host) IP(commands ...string) { h.t.Helper(); h.batch("ip", commands) }

// Limit sets the speed at which a NIC sends, as in Join. The other direction of
// the cable is the other host's.
func (h *Host) Limit(nic, speed string) {
	h.t.Helper()
	if speed == "" {
		speed = "100gbit"
	}
	// The burst has to hold what veth passes on as one packet (64 KiB), the
	// queue what TCP sends ahead.
	h.batch("tc", []string{fmt.Sprintf("qdisc replace dev %s root tbf rate %s burst 128kb limit 2mb", nic, speed)})
}

func (h *Host) batch(tool string, commands []string) {
	h.t.Helper()
	var out bytes.Buffer
	cmd := exec.Command(tool, "-batch", "-")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(strings.Join(commands, "\n")+"\n"), &out, &out
	err := h.inside(cmd.Start) // a process begins in its parent thread's namespaces
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		h.t.Fatalf("%s %s: %v\n%s", tool, strings.Join(commands, "; "), err, &out)
	}
}
