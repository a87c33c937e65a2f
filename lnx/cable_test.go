package lnx_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
)

// A cable is pulled in the middle of a stream: what goes over the other one goes
// on, the rest waits, and comes once and in order when the cable is back.

func TestPulledCablePerPeer(t *testing.T) {
	l := farLink{Links: twoRails, Policy: "PER_PEER"}
	pullCable(t, l, func(sender *farEP, b far) (stuck, free pairing) {
		p, q := introduce(t, sender, b.open(l)), introduce(t, sender, b.open(l))
		short := flow{Count: 1, Sizes: []int{4}, Window: 1}
		p.run(short)
		q.run(short)
		if railsOf(p.b.stats())[0] == 0 {
			p, q = q, p
		}
		require.Equal(t, []int{1}, railsOf(p.b.stats()))
		require.Equal(t, []int{0}, railsOf(q.b.stats()))
		return p, q
	}, func(t *testing.T, order []uint32) { require.Zero(t, disorder(order)) })
}

// With PER_MSG a peer with both rails waits for the one that is down; a peer that
// has only the other does not.
func TestPulledCablePerMsg(t *testing.T) {
	l := farLink{Links: twoRails, Policy: "PER_MSG"}
	pullCable(t, l, func(sender *farEP, b far) (stuck, free pairing) {
		alone := farLink{Links: oneRail, Policy: "PER_MSG"}
		return introduce(t, sender, b.open(l)), introduce(t, sender, b.open(alone))
	}, func(t *testing.T, order []uint32) {
		// The rails carry the messages in turn.
		var rails [2][]uint32
		for _, n := range order {
			rails[n%2] = append(rails[n%2], n)
		}
		require.Zero(t, disorder(rails[0]))
		require.Zero(t, disorder(rails[1]))
		require.Len(t, rails[1], len(order)/2)
	})
}

func pullCable(t *testing.T, l farLink, introduce func(sender *farEP, b far) (stuck, free pairing), ordered func(*testing.T, []uint32)) {
	hostA, _, a, b := twoHosts(t, "200mbit")
	sender := a.open(l)
	stuck, free := introduce(sender, b)

	const count, while = 2000, 300 // while: how many free messages go by
	f := flow{Count: count, Sizes: []int{8, 4096, 64 << 10}, Window: 32}
	before := [2][]lnx.RailStats{stuck.b.stats(), free.b.stats()}
	stuckSend, stuckRecv := stuck.start(f)
	freeSend, freeRecv := free.start(f)
	reach := func(f *farFlow, n int) {
		t.Helper()
		if done := f.reach(n); done < n {
			require.Fail(t, "it stands", "%d of %d messages after %v; rails: %v", done, n, limit, sender.stats())
		}
	}
	reach(stuckRecv, count/8)
	reach(freeRecv, count/8)

	hostA.IP("link set nic1 down")
	pulled := time.Now()
	goesOn := freeRecv.done()
	reach(freeRecv, goesOn+while)
	stands := stuckRecv.done()
	require.Less(t, stands, count, "too few messages for this test")
	reach(freeRecv, goesOn+2*while)
	require.Equal(t, stands, stuckRecv.done(), "nothing can come over a cable that is pulled")
	t.Logf("down for %v, at message %d; rails: %v", time.Since(pulled), stands, sender.stats())

	hostA.IP("link set nic1 up")
	up := time.Now()
	reach(stuckRecv, stands+1)
	t.Logf("goes on %v after the cable came back", time.Since(up))
	for i, p := range []struct {
		pairing
		send, recv *farFlow
	}{{stuck, stuckSend, stuckRecv}, {free, freeSend, freeRecv}} {
		reach(p.recv, count)
		r := p.recv.finish()
		require.Len(t, r.Order, count)
		if i == 0 {
			ordered(t, r.Order)
		} else {
			require.Zero(t, disorder(r.Order))
		}
		p.send.finish()
		messages := uint64(0)
		for _, s := range delta(p.b.stats(), before[i]) {
			messages += s.RxExpected + s.RxUnexpected
			require.Zero(t, s.Errors)
		}
		require.Equal(t, uint64(count), messages)
	}
	for _, s := range sender.stats() {
		require.Zero(t, s.Errors, "%v", s)
	}
	a.Wait()
	b.Wait()
}
