package peer

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Roots says where ReadNode looks.
type Roots struct {
	Proc string // of procfs, "" for /proc
	Shm  string // of shared memory files, "" for /dev/shm
}

// ReadNode reads the calling process's identity from the machine. What cannot
// be read stays unknown in the Node and is named in the error; the Node can be
// used all the same and shares memory with fewer peers, or none.
func ReadNode(roots Roots) (Node, error) {
	if roots.Proc == "" {
		roots.Proc = "/proc"
	}
	if roots.Shm == "" {
		roots.Shm = "/dev/shm"
	}
	n := Node{UID: UIDUnknown}
	err := errors.Join(
		readBootID(&n, roots.Proc),
		readShm(&n, roots.Shm),
		readNamespace(&n.PIDNS, roots.Proc, "pid"),
		readNamespace(&n.NetNS, roots.Proc, "net"),
		readProcess(&n, roots.Proc),
		readUser(&n, roots.Proc),
	)
	if err != nil {
		err = fmt.Errorf("node identity: %w", err)
	}
	return n, err
}

func readBootID(n *Node, proc string) error {
	path := filepath.Join(proc, "sys/kernel/random/boot_id")
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	id, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(string(text)), "-", ""))
	if err != nil || len(id) != len(n.BootID) {
		return fmt.Errorf("%s: found %q, want a UUID", path, text)
	}
	copy(n.BootID[:], id)
	return nil
}

func readShm(n *Node, shm string) error {
	var st unix.Stat_t
	if err := unix.Stat(shm, &st); err != nil {
		return &os.PathError{Op: "stat", Path: shm, Err: err}
	}
	n.ShmDev, n.ShmIno = uint64(st.Dev), st.Ino
	return nil
}

// readNamespace takes the inode number from the link's text, as `pid:[4026531836]`.
func readNamespace(ns *uint64, proc, kind string) error {
	path := filepath.Join(proc, "self/ns", kind)
	link, err := os.Readlink(path)
	if err != nil {
		return err
	}
	number, ok := strings.CutPrefix(link, kind+":[")
	number, ok2 := strings.CutSuffix(number, "]")
	v, err := strconv.ParseUint(number, 10, 64)
	if !ok || !ok2 || err != nil {
		return fmt.Errorf("%s: found %q, want %s:[number]", path, link, kind)
	}
	*ns = v
	return nil
}

// readProcess takes PID and start time, fields 1 and 22 of proc_pid_stat(5).
// Field 2, the command in parentheses, may hold blanks and parentheses.
func readProcess(n *Node, proc string) error {
	path := filepath.Join(proc, "self/stat")
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	stat := string(text)
	pid, _, _ := strings.Cut(stat, " ")
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:]) // from field 3
	const start = 22 - 3
	if len(fields) <= start {
		return fmt.Errorf("%s: found %d fields behind the command, want more than %d", path, len(fields), start)
	}
	p, err1 := strconv.ParseUint(pid, 10, 32)
	s, err2 := strconv.ParseUint(fields[start], 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	n.PID, n.StartTime = uint32(p), s
	return nil
}

// readUser takes the effective user and translates it through the user
// namespace's map (user_namespaces(7)), so that one user's containers agree.
func readUser(n *Node, proc string) error {
	statusPath := filepath.Join(proc, "self/status")
	status, err := os.ReadFile(statusPath)
	if err != nil {
		return err
	}
	_, line, found := strings.Cut(string(status), "\nUid:")
	line, _, _ = strings.Cut(line, "\n")
	var real, effective uint32
	if _, err := fmt.Sscan(line, &real, &effective); !found || err != nil {
		return fmt.Errorf("%s: found %q behind Uid:, want real and effective user", statusPath, line)
	}
	mapPath := filepath.Join(proc, "self/uid_map")
	uidMap, err := os.ReadFile(mapPath)
	if err != nil {
		return err
	}
	for m := range strings.Lines(string(uidMap)) {
		var inside, outside, length uint32
		if _, err := fmt.Sscan(m, &inside, &outside, &length); err != nil {
			return fmt.Errorf("%s: found %q, want three numbers", mapPath, m)
		}
		if effective >= inside && effective-inside < length {
			n.UID = outside + (effective - inside)
			return nil
		}
	}
	return fmt.Errorf("%s: user %d is not mapped", mapPath, effective)
}
