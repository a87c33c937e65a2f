package peer

import (
	"math"
	"strings"
)

// Node says on which machine, in which container and as which process an
// endpoint runs, as far as its peers need it. Zero values mean unknown, UID
// apart.
type Node struct {
	// BootID is the kernel's random id of this boot.
	BootID [16]byte
	// ShmDev and ShmIno are device and inode number of the root of /dev/shm.
	// The kernel gives every tmpfs its own device number, so they tell apart
	// the /dev/shm of containers on one kernel.
	ShmDev, ShmIno uint64
	// PIDNS and NetNS are the inode numbers of the process's namespaces.
	PIDNS, NetNS uint64
	// PID is the process's number in its PID namespace.
	PID uint32
	// StartTime is when the process started, in clock ticks since boot
	// (starttime of proc_pid_stat(5)): with it a reused PID is recognised.
	StartTime uint64
	// UID is the process's effective user as seen outside its user
	// namespace, UIDUnknown if not known.
	UID uint32
}

// UIDUnknown is the UID that belongs to nobody.
const UIDUnknown = math.MaxUint32

// CanShareMemory says whether processes on a and b can open each other's shared
// memory: they run on one boot of one kernel, see the same /dev/shm, know each
// other's process numbers, which libfabric's shm reads memory by, and belong to
// the same user, since it makes its regions for the owner only.
// What is unknown counts as different. Host names do not matter: containers and
// clones of an image have equal ones, and containers of one pod may differ.
// Two clones of a running machine's memory are not told apart until one boots
// anew.
func CanShareMemory(a, b Node) bool {
	ok, _ := shareMemory(a, b)
	return ok
}

// SamePIDNamespace says whether the PID of one node means that process on the
// other, so that its end can be seen.
func SamePIDNamespace(a, b Node) bool {
	return sameBoot(a, b) && a.PIDNS == b.PIDNS && a.PIDNS != 0
}

// SameNetNamespace says whether a and b reach each other over the loopback
// interface.
func SameNetNamespace(a, b Node) bool {
	return sameBoot(a, b) && a.NetNS == b.NetNS && a.NetNS != 0
}

func sameBoot(a, b Node) bool {
	return a.BootID == b.BootID && a.BootID != [16]byte{}
}

func shareMemory(a, b Node) (ok bool, reason string) {
	switch {
	case a.BootID == [16]byte{} || b.BootID == [16]byte{}:
		return false, "boot id unknown"
	case a.BootID != b.BootID:
		return false, "boot ids differ: other machines"
	case a.ShmIno == 0 || b.ShmIno == 0:
		return false, "/dev/shm unknown"
	case a.ShmDev != b.ShmDev || a.ShmIno != b.ShmIno:
		return false, "same machine, but /dev/shm differs: containers that do not share it"
	case a.PIDNS == 0 || b.PIDNS == 0:
		return false, "same /dev/shm, but a PID namespace is unknown"
	case a.PIDNS != b.PIDNS:
		return false, "same /dev/shm, but PID namespaces differ: shm copies large messages by process number"
	case a.UID == UIDUnknown || b.UID == UIDUnknown:
		return false, "same /dev/shm, but a user id is unknown"
	case a.UID != b.UID:
		return false, "same /dev/shm, but user ids differ: regions are open to their owner only"
	}
	return true, "same boot id, /dev/shm, PID namespace and user"
}

// Self is what an endpoint knows about its own side.
type Self struct {
	Host string // gethostname(2)
	Node Node
}

// Locality is what an endpoint and a peer have in common besides rails.
type Locality struct {
	Memory   bool // shared memory reaches the peer
	PIDs     bool // the peer's process can be watched by its PID
	Loopback bool // the loopback interface reaches the peer
	// Reason says why Memory is what it is.
	Reason string
}

// Locate compares this side with a peer. A peer with an extension is judged by
// its Node. For a C LNX peer there is only its host name, and the rule is C
// LNX's own: equal host names are one machine (and in layout 2.2 shm must be the
// first entry, in 2.1 case does not matter). That rule is wrong for containers
// and cloned machines with equal host names: shm is then chosen and messages
// reach nobody, or a stranger. FI_LNX_DISABLE_SHM is the way out.
func Locate(self Self, remote *Address) Locality {
	if remote.Ext != nil {
		n := remote.Ext.Node
		ok, reason := shareMemory(self.Node, n)
		return Locality{
			Memory:   ok,
			PIDs:     SamePIDNamespace(self.Node, n),
			Loopback: SameNetNamespace(self.Node, n),
			Reason:   reason,
		}
	}
	sameHost := self.Host == remote.Host
	if remote.Layout == Layout21 {
		sameHost = strings.EqualFold(self.Host, remote.Host)
	}
	shm := remote.Shm()
	switch {
	case !sameHost:
		return Locality{Reason: "host names differ"}
	case shm < 0:
		return Locality{Loopback: true, Reason: "host names are equal, but the peer has no shm"}
	case shm > 0 && remote.Layout != Layout21:
		return Locality{Loopback: true, Reason: "host names are equal, but shm is not the peer's first entry"}
	}
	return Locality{Memory: true, Loopback: true, Reason: "host names are equal, which is all a C LNX peer tells"}
}
