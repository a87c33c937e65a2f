package lnx

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"golnx/peer"
	"golnx/providers"
	"golnx/providers/fierr"
)

// watcher learns of the end of peers' processes on this node. To a killed peer
// shm answers EAGAIN for ever, and what was under way to it never completes, so
// the owner has to find out itself.
type watcher struct {
	epfd int
	pids map[Addr]int // pidfd
}

func (w *watcher) open() (err error) {
	w.pids = map[Addr]int{}
	w.epfd, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	return err
}

func (w *watcher) close() error {
	var errs []error
	for _, fd := range w.pids {
		errs = append(errs, unix.Close(fd))
	}
	w.pids = nil
	return errors.Join(append(errs, unix.Close(w.epfd))...)
}

func (w *watcher) add(addr Addr, pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(uint32(addr)), Pad: int32(uint64(addr) >> 32)}
	if err := unix.EpollCtl(w.epfd, unix.EPOLL_CTL_ADD, fd, &ev); err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	w.pids[addr] = fd
	return nil
}

func (w *watcher) remove(addr Addr) {
	if fd, ok := w.pids[addr]; ok {
		delete(w.pids, addr)
		_ = unix.Close(fd) // leaves the epoll set with it
	}
}

func (w *watcher) watches(addr Addr) bool { _, ok := w.pids[addr]; return ok }

// ended answers some peers whose process has ended, and forgets them.
func (w *watcher) ended() []Addr {
	if len(w.pids) == 0 {
		return nil
	}
	var events [16]unix.EpollEvent
	n, err := unix.EpollWait(w.epfd, events[:], 0)
	if err != nil {
		return nil // interrupted; asked again soon
	}
	var addrs []Addr
	for _, ev := range events[:n] {
		addr := Addr(uint64(uint32(ev.Fd)) | uint64(uint32(ev.Pad))<<32)
		w.remove(addr)
		addrs = append(addrs, addr)
	}
	return addrs
}

// watchPeer starts watching a peer, if its process can be seen from here. It fails
// for want of descriptors.
func (ep *Endpoint) watchPeer(state *peerState, addr Addr, loc peer.Locality) error {
	pid, start := processOf(state.addr, loc)
	if pid <= 0 || pid == int(ep.self.Node.PID) {
		return nil
	}
	err := ep.watch.add(addr, pid)
	if errors.Is(err, unix.ESRCH) || err == nil && start != 0 && startTime(pid) != start {
		ep.watch.remove(addr)
		ep.peerEnded(addr, state, pid)
		return nil
	}
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM) {
		return err
	}
	if err == nil {
		state.pid = uint32(pid)
	}
	return nil // other kernels and sandboxes have no pidfd
}

// processOf answers the peer's process in our own PID namespace, 0 if it is
// elsewhere, and its start time if known.
func processOf(a *peer.Address, loc peer.Locality) (pid int, start uint64) {
	if a.Ext != nil {
		if !loc.PIDs {
			return 0, 0
		}
		return int(a.Ext.Node.PID), a.Ext.Node.StartTime
	}
	// C LNX says nothing of its process, but shm's address begins with it.
	i := a.Shm()
	if i < 0 || !loc.Memory {
		return 0, 0
	}
	name := strings.TrimPrefix(string(a.Entries[i].Addr), "fi_shm://")
	digits, _, _ := strings.Cut(name, ":")
	pid, err := strconv.Atoi(digits)
	if err != nil {
		return 0, 0
	}
	return pid, 0
}

// startTime reads when a process started (starttime of proc_pid_stat(5)), 0 if it
// is gone.
func startTime(pid int) uint64 {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// Field 2, in parentheses, may hold anything; field 22 is wanted.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 {
		return 0
	}
	start, _ := strconv.ParseUint(fields[19], 10, 64)
	return start
}

// buryDead deals with the peers whose process has ended, under the lock.
func (ep *Endpoint) buryDead() {
	for _, addr := range ep.watch.ended() {
		if state := ep.peerOf(addr); state != nil {
			ep.peerEnded(addr, state, int(state.pid))
		}
	}
}

// peerEnded fails what is under way with a peer: first everything that it sent
// before its end is taken in, then sends to it and receives from it complete
// with EHOSTDOWN. Later sends to it fail at once.
func (ep *Endpoint) peerEnded(addr Addr, state *peerState, pid int) {
	if state.err != nil {
		return
	}
	ep.endPeer(addr, state, fmt.Errorf("peer %d (process %d on this node): %w", addr, pid, ErrPeerDead))
	ep.suspectShm(state)
}

func (ep *Endpoint) endPeer(addr Addr, state *peerState, why error) {
	if state.err != nil {
		return
	}
	ep.takeIn()
	state.err = why
	ep.failSends(addr)
	ep.failRecvs(addr)
}

// takeIn drives all rails until nothing arrives any more.
func (ep *Endpoint) takeIn() {
	const quiet, most = 64, 1 << 16 // rounds
	for n, idle := 0, 0; n < most && idle < quiet; n++ {
		before := ep.arrivals
		done := ep.core.Progress(ep.poll.all)
		ep.drain()
		idle++
		if done > 0 || ep.arrivals != before {
			idle = 0
		}
	}
}

// failSends reports every send to a peer as failed. The provider may still
// complete it, so the slot stays taken until then; nobody reads the buffers.
func (ep *Endpoint) failSends(addr Addr) {
	var blocked [providers.MaxRails]uint64 // per rail: the first send that shm will never complete
	for _, chunk := range ep.tx.chunks {
		for j := range chunk {
			op := &chunk[j]
			if op.state != txActive || op.to != addr || ep.mayWrite(op) {
				continue
			}
			ep.abandonSend(op, fierr.EHostDown)
			if first := &blocked[op.rail]; *first == 0 || op.seq < *first {
				*first = op.seq
			}
		}
	}
	for r := range ep.link.Rails {
		if blocked[r] != 0 && ep.link.Rails[r].NodeLocal {
			ep.blockShm(r, blocked[r])
		}
	}
}

// abandonSend reports a send as failed while its provider still has it.
func (ep *Endpoint) abandonSend(op *txOp, why fierr.Errno) {
	op.state = txAbandoned
	if op.pinned {
		op.pin.Unpin()
		op.pinned = false
	}
	ctx, flags := op.ctx, op.flags()
	op.ctx = nil
	ep.endRMA(op)
	ep.stats[op.rail].Error()
	ep.fail(int(op.rail), ErrEntry{
		Entry: Entry{Context: ctx, Flags: flags, Tag: op.tag, Src: AddrUnspec},
		Err:   why,
	})
}

// failRecvs reports receives that only the peer could have met. A transfer that
// had begun over shm ends here too; over a network the provider notices the
// broken connection and says so itself.
func (ep *Endpoint) failRecvs(addr Addr) {
	if ep.direct.core != nil {
		ep.failDirect(addr)
		return
	}
	for slot := range ep.posted.Directed(uint64(addr)) {
		ep.cancel(slot, fierr.EHostDown)
	}
	for slot := range ep.msgs.srq.Directed(uint64(addr)) {
		ep.cancel(slot, fierr.EHostDown)
	}
	for _, chunk := range ep.rx.chunks {
		for j := range chunk {
			op := &chunk[j]
			if op.state == rxActive && op.from == addr && ep.link.Rails[op.rail].NodeLocal {
				ep.failRx(op, fierr.EHostDown)
				ep.active--
				op.state = rxAbandoned
			}
		}
	}
}
