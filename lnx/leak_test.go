package lnx_test

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
)

// life opens two endpoints, uses them, and closes them in the middle of everything;
// with transfers above the eager size under way if that is wanted.
func life(t *testing.T, c choice, round int, transfers bool) {
	a, b := openNode(t, c.options()), openNode(t, c.options())
	toB, toA := a.insert(b.ep.Name()), b.insert(a.ep.Name())
	both := func(cond func() bool) {
		a.until(func() bool { b.poll(); return cond() })
	}
	start := func(m message) *pending {
		p := &pending{buf: payload(m.Seed, m.Size)}
		both(func() bool { return a.startOnce(toB, m, p) == nil })
		return p
	}
	for _, size := range []int{8, 5000, 100_000} {
		r := b.post(size, toA, 1, 0)
		p := start(message{Size: size, Tag: 1})
		both(func() bool { return p.done && r.done })
		check(t, r, message{Size: size, Tag: 1}, toA)
	}
	// posted and never met
	for range 100 {
		b.post(100, toA, 2, 0)
		a.post(100, lnx.AddrUnspec, 2, 3)
	}
	// unexpected and never received
	seen := b.unexpected()
	sizes := []int{0, 8, 4000}
	if transfers {
		sizes = append(sizes, 5000, 100_000, 1<<20)
	}
	for _, size := range sizes {
		start(message{Size: size, Tag: 3})
	}
	both(func() bool { return b.unexpected() == seen+uint64(len(sizes)) })
	if transfers { // that have begun, also into a buffer that is too small
		b.post(1<<20, toA, 4, 0)
		b.post(1<<19, toA, 4, 0)
		start(message{Size: 1 << 20, Tag: 4})
		start(message{Size: 1 << 20, Tag: 4})
	}
	// a claim
	p := &pending{}
	require.NoError(t, b.ep.TRecvMsg(&lnx.Msg{Addr: toA, Tag: 3, Context: p}, lnx.FlagPeek|lnx.FlagClaim))
	// a completion that nobody reads
	require.NoError(t, b.ep.TRecv(nil, toA, 3, 0, "unread"))
	// a future, and a goroutine that waits
	_, err := a.ep.RecvAsync(t.Context(), toB, 5, 0, make([]byte, 10))
	require.NoError(t, err)
	waited := make(chan error, 1)
	waits := a.ep
	go func() { _, err := waits.Recv(context.Background(), toB, 5, 0, nil); waited <- err }()
	if round%2 == 0 {
		a, b = b, a
	}
	require.NoError(t, a.ep.Close())
	require.NoError(t, b.ep.Close())
	err = inTime(t, func() error { return <-waited })
	require.True(t, errors.Is(err, lnx.ErrClosed) || errors.Is(err, lnx.ErrPeerDead), "%v", err) // who closes first?
}

// Closing gives everything back, whatever waits or is unread.
func TestOpenCloseLeak(t *testing.T) {
	onLinks(t, func(t *testing.T, c choice) {
		rounds := 1000
		if c.network() {
			rounds = 200 // each has a connection
		}
		if underRace || underASan {
			rounds = 15
		}
		before, after := lives(t, c, rounds, false)
		require.ElementsMatch(t, before.FDs, after.FDs)
		allowed := 10<<20 + rounds*20_000
		if strings.Contains(c.Links, "tcp") {
			allowed += 256 << 20 // what malloc keeps of rxm's large buffers
		}
		require.True(t, underASan || after.RSS-before.RSS < allowed, "%d bytes more resident", after.RSS-before.RSS)
	})
}

// So it is with transfers under way, but for what rxm 2.1 forgets: the registration
// of a rendezvous that is cut off keeps its domain, with three descriptors and some
// 20 MB.
func TestOpenCloseLeakInTransfer(t *testing.T) {
	onLinks(t, func(t *testing.T, c choice) {
		rounds := 20
		if underRace || underASan {
			rounds = 5
		}
		before, after := lives(t, c, rounds, true)
		if c.network() {
			require.LessOrEqual(t, len(after.FDs), len(before.FDs)+2*3*rounds)
			return
		}
		require.ElementsMatch(t, before.FDs, after.FDs)
		allowed := 10<<20 + rounds*20_000
		if strings.Contains(c.Links, "tcp") {
			allowed += 256 << 20 // what malloc keeps of rxm's large buffers
		}
		require.True(t, underASan || after.RSS-before.RSS < allowed, "%d bytes more resident", after.RSS-before.RSS)
	})
}

// network says that the two endpoints of a process talk over a network.
func (c choice) network() bool { return c.DisableShm || !strings.Contains(c.Links, "shm") }

// lives has a number of lives, and answers what is held before and after.
func lives(t *testing.T, c choice, rounds int, transfers bool) (before, after holdings) {
	for i := range 10 {
		life(t, c, i, transfers) // pools fill up
	}
	debug.FreeOSMemory()
	before = held(t)
	for i := range rounds {
		life(t, c, i, transfers)
	}
	for late := deadline(); ; runtime.Gosched() {
		if after = held(t); after.Goroutines <= before.Goroutines || late() {
			break // goroutines end a moment after they are through
		}
	}
	debug.FreeOSMemory()
	require.Equal(t, before.Regions, after.Regions)
	require.LessOrEqual(t, after.Goroutines, before.Goroutines)
	after.RSS = held(t).RSS
	t.Logf("%d bytes more resident after %d rounds", after.RSS-before.RSS, rounds)
	return before, after
}
