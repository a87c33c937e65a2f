package peer

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNodeRules(t *testing.T) {
	type change = func(n *Node)
	for _, c := range []struct {
		name                string
		change              change // of the second node against the first
		memory, pids, netns bool
		reason              string
	}{
		{"two processes of one host", func(n *Node) { n.PID, n.StartTime = 4712, 74000 }, true, true, true, "same boot id"},
		{"another host", func(n *Node) { n.BootID[3]++ }, false, false, false, "boot ids differ"},
		{"another host that kept the image's namespace numbers", func(n *Node) { n.BootID = [16]byte{1} }, false, false, false, "boot ids differ"},
		{"container with its own everything", func(n *Node) { n.ShmDev, n.PIDNS, n.NetNS = 99, 5, 6 }, false, false, false, "/dev/shm differs"},
		{"container that shares /dev/shm only", func(n *Node) { n.PIDNS, n.NetNS = 5, 6 }, false, false, false, "PID namespaces differ"},
		{"container that shares PIDs only", func(n *Node) { n.ShmDev, n.NetNS = 99, 6 }, false, true, false, "/dev/shm differs"},
		{"network namespace", func(n *Node) { n.NetNS = 6 }, true, true, false, "same boot id"},
		{"/dev/shm is a directory of one tmpfs", func(n *Node) { n.ShmIno = 77 }, false, true, true, "/dev/shm differs"},
		{"another user", func(n *Node) { n.UID = 1001 }, false, true, true, "user ids differ"},
		{"root", func(n *Node) { n.UID = 0 }, false, true, true, "user ids differ"},
		{"user unknown", func(n *Node) { n.UID = UIDUnknown }, false, true, true, "user id is unknown"},
		{"boot id unknown", func(n *Node) { n.BootID = [16]byte{} }, false, false, false, "boot id unknown"},
		{"/dev/shm unknown", func(n *Node) { n.ShmDev, n.ShmIno = 0, 0 }, false, true, true, "/dev/shm unknown"},
		{"namespaces unknown", func(n *Node) { n.PIDNS, n.NetNS = 0, 0 }, false, false, false, "PID namespace is unknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := sampleNode, sampleNode
			c.change(&b)
			for range 2 { // the rules are symmetric
				require.Equal(t, c.memory, CanShareMemory(a, b))
				require.Equal(t, c.pids, SamePIDNamespace(a, b))
				require.Equal(t, c.netns, SameNetNamespace(a, b))
				_, reason := shareMemory(a, b)
				require.Contains(t, reason, c.reason)
				a, b = b, a
			}
		})
	}
	t.Run("nothing known on both sides is not the same", func(t *testing.T) {
		require.False(t, CanShareMemory(Node{}, Node{}))
		require.False(t, SamePIDNamespace(Node{}, Node{}))
		require.False(t, SameNetNamespace(Node{}, Node{}))
		unknown := sampleNode
		unknown.UID = UIDUnknown
		require.False(t, CanShareMemory(unknown, unknown))
	})
}

func TestLocate(t *testing.T) {
	self := Self{Host: "node7", Node: sampleNode}
	other := sampleNode
	other.BootID[0]++
	with := func(host string, n Node) *Address {
		a := sampleAddress()
		a.Host, a.Ext.Node = host, n
		return a
	}
	plain := func(layout Layout, change func(a *Address)) *Address {
		a := plainAddress(layout)
		change(a)
		return a
	}
	keep := func(*Address) {}
	for _, c := range []struct {
		name   string
		remote *Address
		want   Locality
		reason string
	}{
		{"same machine", with("node7", sampleNode), Locality{Memory: true, PIDs: true, Loopback: true}, "same boot id"},
		{"same machine, other host name", with("pod-2", sampleNode), Locality{Memory: true, PIDs: true, Loopback: true}, "same boot id"},
		{"equal host names on two machines", with("node7", other), Locality{}, "boot ids differ"},
		{"C LNX 2.2 on this host", plain(Layout22, keep), Locality{Memory: true, Loopback: true}, "all a C LNX peer tells"},
		{"C LNX 2.2 elsewhere", plain(Layout22, func(a *Address) { a.Host = "node8" }), Locality{}, "host names differ"},
		{"C LNX 2.2 minds case", plain(Layout22, func(a *Address) { a.Host = "NODE7" }), Locality{}, "host names differ"},
		{"C LNX 2.2, shm not first", plain(Layout22, func(a *Address) { a.Entries[0], a.Entries[1] = a.Entries[1], a.Entries[0] }),
			Locality{Loopback: true}, "not the peer's first entry"},
		{"C LNX 2.2 without shm", plain(Layout22, func(a *Address) { a.Entries = a.Entries[1:] }), Locality{Loopback: true}, "no shm"},
		{"C LNX 2.1 on this host", plain(Layout21, keep), Locality{Memory: true, Loopback: true}, "all a C LNX peer tells"},
		{"C LNX 2.1 ignores case", plain(Layout21, func(a *Address) { a.Host = "NODE7" }), Locality{Memory: true, Loopback: true}, "all a C LNX peer tells"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Locate(self, c.remote)
			require.Contains(t, got.Reason, c.reason)
			got.Reason = ""
			require.Equal(t, c.want, got)
		})
	}
}

// machine makes a procfs and a /dev/shm to read from.
func machine(t *testing.T) Roots {
	t.Helper()
	dir := t.TempDir()
	r := Roots{Proc: filepath.Join(dir, "proc"), Shm: filepath.Join(dir, "shm")}
	for _, d := range []string{"proc/sys/kernel/random", "proc/self/ns", "shm"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, d), 0o755))
	}
	write(t, r, "sys/kernel/random/boot_id", "b1afef89-61e7-4cc4-a688-9e0a00b3ddb1\n")
	write(t, r, "self/stat", "4711 (a b) c) R 1 2 3 4 -1 4194304 105 0 0 0 0 0 0 0 20 0 1 0 73919 3231744 419\n")
	write(t, r, "self/status", "Name:\ta\nUid:\t5\t7\t5\t5\nGid:\t0\t0\t0\t0\n")
	write(t, r, "self/uid_map", "         0     100000          5\n         5       1000      65536\n")
	for kind, ino := range map[string]int{"pid": 31, "net": 32} {
		require.NoError(t, os.Symlink(fmt.Sprintf("%s:[%d]", kind, ino), filepath.Join(r.Proc, "self/ns", kind)))
	}
	return r
}

func write(t *testing.T, r Roots, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(r.Proc, name), []byte(text), 0o644))
}

func TestReadNode(t *testing.T) {
	r := machine(t)
	n, err := ReadNode(r)
	require.NoError(t, err)
	require.NotZero(t, n.ShmDev)
	require.NotZero(t, n.ShmIno)
	again, err := ReadNode(r)
	require.NoError(t, err)
	require.Equal(t, n, again)
	n.ShmDev, n.ShmIno = 0, 0 // chosen by the file system
	require.Equal(t, Node{
		BootID:    [16]byte{0xb1, 0xaf, 0xef, 0x89, 0x61, 0xe7, 0x4c, 0xc4, 0xa6, 0x88, 0x9e, 0x0a, 0x00, 0xb3, 0xdd, 0xb1},
		PIDNS:     31,
		NetNS:     32,
		PID:       4711,
		StartTime: 73919,
		UID:       1002, // 7 is the third of the second range
	}, n)

	other := r
	other.Shm = t.TempDir()
	moved, err := ReadNode(other)
	require.NoError(t, err)
	require.False(t, CanShareMemory(again, moved), "another /dev/shm")
	require.True(t, SamePIDNamespace(again, moved))
}

func TestReadNodeHere(t *testing.T) {
	n, err := ReadNode(Roots{})
	require.NoError(t, err)
	require.Equal(t, uint32(os.Getpid()), n.PID)
	require.True(t, CanShareMemory(n, n))
	require.True(t, SamePIDNamespace(n, n))
	require.True(t, SameNetNamespace(n, n))
}

// What cannot be read is unknown, the rest is there, and the error names it.
func TestReadNodeFailures(t *testing.T) {
	drop := func(name string) func(t *testing.T, r Roots) {
		return func(t *testing.T, r Roots) { require.NoError(t, os.Remove(filepath.Join(r.Proc, name))) }
	}
	put := func(name, text string) func(t *testing.T, r Roots) {
		return func(t *testing.T, r Roots) { write(t, r, name, text) }
	}
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, r Roots)
		lost   func(n *Node) // sets to unknown what should be
		want   string
	}{
		{"no boot id", drop("sys/kernel/random/boot_id"), func(n *Node) { n.BootID = [16]byte{} }, "boot_id"},
		{"short boot id", put("sys/kernel/random/boot_id", "b1af"), func(n *Node) { n.BootID = [16]byte{} }, "want a UUID"},
		{"no /dev/shm", func(t *testing.T, r Roots) { require.NoError(t, os.Remove(r.Shm)) }, func(n *Node) { n.ShmDev, n.ShmIno = 0, 0 }, "stat "},
		{"no PID namespace", drop("self/ns/pid"), func(n *Node) { n.PIDNS = 0 }, "ns/pid"},
		{"namespace of another form", func(t *testing.T, r Roots) {
			drop("self/ns/net")(t, r)
			require.NoError(t, os.Symlink("net:42", filepath.Join(r.Proc, "self/ns/net")))
		}, func(n *Node) { n.NetNS = 0 }, `found "net:42", want net:[number]`},
		{"no stat", drop("self/stat"), func(n *Node) { n.PID, n.StartTime = 0, 0 }, "self/stat"},
		{"cut stat", put("self/stat", "4711 (a) R 1"), func(n *Node) { n.PID, n.StartTime = 0, 0 }, "found 2 fields"},
		{"empty stat", put("self/stat", ""), func(n *Node) { n.PID, n.StartTime = 0, 0 }, "found 0 fields"},
		{"no number in stat", put("self/stat", "x (a) R 1 2 3 4 -1 4194304 105 0 0 0 0 0 0 0 20 0 1 0 73919 0"), func(n *Node) { n.PID, n.StartTime = 0, 0 }, "invalid syntax"},
		{"no status", drop("self/status"), func(n *Node) { n.UID = UIDUnknown }, "self/status"},
		{"no Uid", put("self/status", "Name:\ta\n"), func(n *Node) { n.UID = UIDUnknown }, "behind Uid:"},
		{"no uid_map", drop("self/uid_map"), func(n *Node) { n.UID = UIDUnknown }, "self/uid_map"},
		{"user not mapped", put("self/uid_map", "0 1000 7\n"), func(n *Node) { n.UID = UIDUnknown }, "user 7 is not mapped"},
		{"uid_map of another form", put("self/uid_map", "all\n"), func(n *Node) { n.UID = UIDUnknown }, "want three numbers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := machine(t)
			want, err := ReadNode(r)
			require.NoError(t, err)
			c.damage(t, r)
			c.lost(&want)
			got, err := ReadNode(r)
			require.ErrorContains(t, err, c.want)
			require.Equal(t, want, got)
		})
	}
}
