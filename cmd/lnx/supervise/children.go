package supervise

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"golnx/cmd/lnx/launch"
)

// send sends a signal to everything that is left.
func (g *Group) send(a launch.Action) {
	if a.Signal == 0 {
		return
	}
	targets := map[int]bool{} // as kill(2) has them: a group is negative
	for pid, group := range g.children() {
		if group == unix.Getpgrp() {
			targets[pid] = true
		} else {
			targets[-group] = true
		}
	}
	for target := range targets {
		t := told{target, a.Signal}
		if !a.New || !g.told[t] {
			g.told[t] = true
			_ = unix.Kill(target, a.Signal) // it may have ended
		}
	}
}

// children answers the children of this process, with the group of each: those that were
// started, and those whose parents ended. None is waited for but by bury, so that their
// numbers stay theirs.
func (g *Group) children() map[int]int {
	found := map[int]int{}
	for pid := range g.pids {
		found[pid] = pid
	}
	self := os.Getpid()
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		parent, group, ok := parseStat(text)
		if ok && err == nil && parent == self {
			found[pid] = group
		}
	}
	return found
}

// parseStat answers the parent and the group of a process, of its /proc/PID/stat. The
// name, which is in brackets, may have anything in it.
func parseStat(text []byte) (parent, group int, ok bool) {
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 3 {
		return 0, 0, false
	}
	parent, errParent := strconv.Atoi(string(fields[1]))
	group, errGroup := strconv.Atoi(string(fields[2]))
	return parent, group, errParent == nil && errGroup == nil && group > 0
}
