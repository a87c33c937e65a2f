package lnx_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/internal/twoproc"
	"golnx/lnx"
	"golnx/providers/fierr"
)

// streamRole sends or receives one message after the other until it is killed.
var streamRole = twoproc.NewRole("stream", func(c *twoproc.Child) {
	var s stream
	c.Get(&s)
	n := openNode(c, s.Choice.options())
	c.Put(n.ep.Name())
	var blob []byte
	c.Get(&blob)
	s.run(n, n.insert(blob), func() { c.Put(true) })
})

type stream struct {
	Choice choice
	Size   int
	Send   bool // receive otherwise
}

const window = 8

// run keeps a window of operations under way for ever, and reports once when
// some have completed.
func (s stream) run(n *node, peer lnx.Addr, going func()) {
	var ops [window]pending
	for count := 0; ; count++ {
		if count == 3*window {
			going()
		}
		p := &ops[count%window]
		if p.buf != nil {
			n.finish(p)
			require.Nil(n.t, p.err)
		}
		*p = pending{buf: make([]byte, s.Size)}
		n.until(func() bool {
			var err error
			if s.Send {
				err = n.ep.TSend(p.buf, peer, 1, p)
			} else {
				err = n.ep.TRecv(p.buf, peer, 1, 0, p)
			}
			require.True(n.t, err == nil || errors.Is(err, fierr.EAgain), err)
			return err == nil
		})
	}
}

// A process that is killed, whether it sends or receives, takes nobody with it:
// operations with it end with an error, and its peer goes on with a third process.
func TestKilledPeer(t *testing.T) {
	shm, tcp, both := choice{Links: "shm"}, choice{Links: "tcp:lo"}, choice{Links: "shm+tcp:lo"}
	for _, c := range []struct{ ours, theirs choice }{{shm, shm}, {tcp, tcp}, {both, both}, {both, tcp}} {
		for _, size := range []int{8, 16000, 4 << 20} {
			for _, send := range []bool{true, false} {
				role := "receiver"
				if send {
					role = "sender"
				}
				t.Run(fmt.Sprintf("%v to %v/size=%d/%s", c.ours, c.theirs, size, role), func(t *testing.T) {
					before := regions(t)
					n := openNode(t, c.ours.options())
					killPeer(t, n, stream{c.theirs, size, send})
					require.NoError(t, n.ep.Close())
					require.Equal(t, before, regions(t))
				})
			}
		}
	}
}

// regions are this process's files in /dev/shm.
func regions(t *testing.T) []string {
	files, err := filepath.Glob(fmt.Sprintf("/dev/shm/%d:*", os.Getpid()))
	require.NoError(t, err)
	return files
}

func killPeer(t *testing.T, n *node, s stream) {
	third := startAgent(t, s.Choice, 60*time.Second)
	toThird := n.insert(third.name)
	fromN := third.do(order{Do: "insert", Blob: n.ep.Name()}).Addr
	victim := streamRole.Start(t, 60*time.Second)
	victim.Put(s)
	var blob []byte
	victim.Get(&blob)
	toVictim := n.insert(blob)
	victim.Put(n.ep.Name())

	// The other end of the stream, here.
	going := make(chan struct{})
	go func() {
		var ok bool
		victim.Get(&ok)
		close(going)
	}()
	var ops []*pending
	fresh := func() {
		p := &pending{buf: make([]byte, s.Size)}
		var err error
		if s.Send {
			err = n.ep.TRecv(p.buf, toVictim, 1, 0, p)
		} else {
			err = n.ep.TSend(p.buf, toVictim, 1, p)
		}
		if err == nil {
			ops = append(ops, p)
		} else {
			require.ErrorIs(t, err, fierr.EAgain)
		}
	}
	sweep := func() {
		live := ops[:0]
		for _, p := range ops {
			require.LessOrEqual(t, p.times, 1)
			if !p.done {
				live = append(live, p)
			}
		}
		ops = live
	}
	n.until(func() bool {
		sweep()
		for len(ops) < window/2 && func() bool { k := len(ops); fresh(); return len(ops) > k }() {
		}
		select {
		case <-going:
			return true
		default:
			return false
		}
	})
	victim.Kill()
	killed := time.Now()

	// Whatever was under way ends, and so does what is started now. Receives
	// over a network may stay posted: nothing says that the peer will not come
	// back, unless its process is watched.
	var last error
	n.until(func() bool {
		sweep()
		if len(ops) > 0 && !s.Send || len(ops) > window {
			return false
		}
		last = nil
		p := &pending{buf: make([]byte, s.Size)}
		if err := n.ep.TSend(p.buf, toVictim, 1, p); err != nil {
			last = err
		} else {
			ops = append(ops, p)
		}
		return last != nil && !errors.Is(last, fierr.EAgain)
	})
	require.ErrorIs(t, last, lnx.ErrPeerDead)
	n.until(func() bool { sweep(); return len(ops) == 0 })
	t.Logf("%v after the kill: %v", time.Since(killed).Round(time.Millisecond), last)

	// Life goes on, but shm cannot always be repaired (see ErrRailBroken).
	shm := s.Choice.Links != "tcp:lo"
	var err error
	for i := range uint64(20) {
		if err = n.roundTrip(third, toThird, fromN, message{Size: 8, Tag: 2, Seed: i}); err != nil {
			require.True(t, shm && s.Send, "%v", err)
			break
		}
	}
	if err == nil {
		err = n.roundTrip(third, toThird, fromN, message{Size: s.Size, Tag: 2, Seed: 99})
		require.True(t, err == nil || shm && s.Size > 4096, "%v", err)
	}
	if err == nil {
		third.Wait()
		return
	}
	require.ErrorIs(t, err, fierr.EOwnerDead)
	third.Kill() // may be in the middle of what we do not hear of
	third = startAgent(t, s.Choice, 60*time.Second)
	again := openNode(t, s.Choice.options())
	toThird, fromN = again.insert(third.name), third.do(order{Do: "insert", Blob: again.ep.Name()}).Addr
	require.NoError(t, again.roundTrip(third, toThird, fromN, message{Size: s.Size, Tag: 2, Seed: 3}))
	require.NoError(t, again.ep.Close())
	third.Wait()
}
