package lnx_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/internal/netns"
	"golnx/lnx"
)

// Two hosts with two NICs each. The cables are slow enough that they, and not the
// processors, are what limits large messages.

const (
	oneRail  = "tcp:nic0"
	twoRails = "tcp:nic0,nic1"
)

// twoHosts makes the hosts, with a process on each.
func twoHosts(t *testing.T, speed string) (hostA, hostB *netns.Host, a, b far) {
	t.Helper()
	hostA, hostB = netns.Join(t, speed, speed)
	return hostA, hostB, startFar(t, netns.Place{Host: hostA}), startFar(t, netns.Place{Host: hostB})
}

// connect opens an endpoint on each side of a link, which know each other.
func connect(t *testing.T, a, b far, l farLink) pairing {
	t.Helper()
	return introduce(t, a.open(l), b.open(l))
}

// requireShares asserts that all rails carried equal parts of the bytes, 5 % apart
// at most.
func requireShares(t *testing.T, stats []lnx.RailStats, sent bool, total int) {
	t.Helper()
	for _, s := range stats {
		n := s.RxBytes
		if sent {
			n = s.TxBytes
		}
		require.InEpsilon(t, float64(total)/float64(len(stats)), float64(n), 0.05, "%v", stats)
		require.Zero(t, s.Errors, "%v", stats)
	}
}

// PER_MSG makes one fast rail of two, and uses both alike.
func TestPerMsgThroughput(t *testing.T) {
	_, _, a, b := twoHosts(t, "40mbit")
	one := connect(t, a, b, farLink{Links: oneRail, Policy: "PER_MSG"})
	two := connect(t, a, b, farLink{Links: twoRails, Policy: "PER_MSG"})
	speed := func(p pairing, rails int) float64 {
		f := flow{Count: rails * 80, Sizes: []int{64 << 10}, Window: rails * 32}
		sent, received := p.a.stats(), p.b.stats()
		r := p.run(f)
		requireShares(t, delta(p.a.stats(), sent), true, f.Count*f.Sizes[0])
		requireShares(t, delta(p.b.stats(), received), false, f.Count*f.Sizes[0])
		return float64(f.Count*f.Sizes[0]) / r.Took.Seconds() / 1e6
	}
	var ones, twos []float64
	for range 4 { // in turn, since the machine is not always as busy
		ones = append(ones, speed(one, 1))
		twos = append(twos, speed(two, 2))
	}
	ratio := slices.Max(twos) / slices.Max(ones)
	t.Logf("one rail %.1f MB/s, two rails %.1f MB/s, ratio %.2f", ones, twos, ratio)
	require.GreaterOrEqual(t, ratio, 1.85)
	a.Wait()
	b.Wait()
}

// PER_PEER keeps the order of a peer's messages; PER_MSG does not, which shows
// that the test would notice.
func TestOrder(t *testing.T) {
	hostA, _, a, b := twoHosts(t, "200mbit")
	count := 1_000_000
	if underRace {
		count = 100_000
	}
	f := flow{Count: count, Sizes: []int{4, 5, 6, 7, 8}, Window: 512}
	p := connect(t, a, b, farLink{Links: twoRails, Policy: "PER_PEER"})
	r := p.run(f)
	require.Len(t, r.Order, f.Count)
	require.Zero(t, disorder(r.Order))
	t.Logf("%d messages in %v", f.Count, r.Took)

	hostA.Limit("nic1", "20mbit")
	f.Count = 20_000
	p = connect(t, a, b, farLink{Links: twoRails, Policy: "PER_MSG"})
	n := disorder(p.run(f).Order)
	require.NotZero(t, n)
	t.Logf("PER_MSG: %d of %d messages out of order", n, f.Count)
	a.Wait()
	b.Wait()
}

// PER_PEER deals peers out to the rails evenly.
func TestPeersSpread(t *testing.T) {
	_, _, a, b := twoHosts(t, "200mbit")
	l := farLink{Links: twoRails, Policy: "PER_PEER"}
	sender := a.open(l)
	f := flow{Count: 60, Sizes: []int{64 << 10}, Window: 8}
	var flows []*farFlow
	var peers []*farEP
	for range 8 {
		p := introduce(t, sender, b.open(l))
		send, recv := p.start(f)
		flows = append(flows, recv, send)
		peers = append(peers, p.b)
	}
	for _, f := range flows {
		f.finish()
	}
	requireShares(t, sender.stats(), true, len(peers)*f.Count*f.Sizes[0])
	var on [2]int
	for _, p := range peers {
		rails := railsOf(p.stats())
		require.Len(t, rails, 1)
		on[rails[0]]++
	}
	require.Equal(t, [2]int{4, 4}, on)
	a.Wait()
	b.Wait()
}

// railsOf answers which rails received anything.
func railsOf(stats []lnx.RailStats) (rails []int) {
	for i, s := range stats {
		if s.RxBytes > 0 {
			rails = append(rails, i)
		}
	}
	return rails
}

// Peers need not have equally many rails: those that both have are used.
func TestUnequalRails(t *testing.T) {
	_, _, a, b := twoHosts(t, "200mbit")
	for _, policy := range []string{"PER_MSG", "PER_PEER", "WEIGHTED", "NEAREST"} {
		for _, links := range [][2]string{{twoRails, oneRail}, {oneRail, twoRails}, {"tcp:nic1", twoRails}} {
			t.Run(policy+"/"+links[0]+" to "+links[1], func(t *testing.T) {
				p := introduce(t, a.open(farLink{Links: links[0], Policy: policy}), b.open(farLink{Links: links[1], Policy: policy}))
				f := flow{Count: 50, Sizes: []int{8, 4096, 100_000}, Window: 8}
				there, back := p.start(f)
				there2, back2 := p.reverse().start(f)
				for _, f := range []*farFlow{there, back, there2, back2} {
					f.finish()
				}
				common := "tcp;ofi_rxm:nic0"
				if links[0] == "tcp:nic1" {
					common = "tcp;ofi_rxm:nic1"
				}
				for _, ep := range []*farEP{p.a, p.b} {
					for _, s := range ep.stats() {
						n := uint64(0)
						if s.Name == common {
							n = uint64(f.Count)
						}
						require.Equal(t, n, s.TSends, "%v", s)
						require.Equal(t, n, s.RxExpected+s.RxUnexpected, "%v", s)
						require.Zero(t, s.Errors, "%v", s)
					}
					ep.close()
				}
			})
		}
	}
	a.Wait()
	b.Wait()
}

// Peers with nothing in common are told what both have.
func TestNothingInCommon(t *testing.T) {
	hostA, hostB, a, b := twoHosts(t, "200mbit")
	hostA.IP("link add nic2 type veth peer name end2", "address add 10.211.2.1/24 dev nic2", "link set nic2 up", "link set end2 up")
	hostB.IP("link add nic3 type veth peer name end3", "address add 10.211.3.2/24 dev nic3", "link set nic3 up", "link set end3 up")
	hostA.AwaitRunning("nic2")
	hostB.AwaitRunning("nic3")

	const (
		shmA  = "shm (fi_shm://"
		loA   = "tcp;ofi_rxm on 127.0.0.1/32 (lo, 127.0.0.1:"
		nic0A = "tcp;ofi_rxm on 10.211.0.0/24 (nic0, 10.211.0.1:"
		shmB  = shmA
		loB   = loA
		nic0B = "tcp;ofi_rxm on 10.211.0.0/24 (nic0, 10.211.0.2:"
	)
	for _, c := range []struct {
		a, b       farLink
		hasA, hasB []string
	}{
		{farLink{Links: "shm"}, farLink{Links: oneRail}, []string{shmA}, []string{nic0B}},
		{farLink{Links: "tcp:lo"}, farLink{Links: oneRail}, []string{loA}, []string{nic0B}},
		{farLink{Links: "tcp:lo"}, farLink{Links: "tcp:lo"}, []string{loA}, []string{loB}},
		{farLink{Links: "shm+" + oneRail}, farLink{Links: "tcp:lo"}, []string{shmA, nic0A}, []string{loB}},
		{farLink{Links: "shm+tcp:lo", DisableShm: true}, farLink{Links: "shm"}, []string{loA}, []string{shmB}},
	} {
		x, y := a.open(c.a), b.open(c.b)
		ans := x.insert(y)
		require.True(t, ans.NoCommon && ans.Unreachable, "%s to %s: %s", c.a.Links, c.b.Links, ans.Error)
		here, there, found := strings.Cut(ans.Error, "; the peer has ")
		require.True(t, found, ans.Error)
		for _, w := range c.hasA {
			require.Contains(t, here, w)
		}
		for _, w := range c.hasB {
			require.Contains(t, there, w)
		}
		require.True(t, y.insert(x).NoCommon)
		x.close()
		y.close()
	}

	// Networks of different names may be routed. That these are not shows when
	// no connection comes about.
	l := farLink{Links: "tcp:nic2", ConnectTimeout: 300 * time.Millisecond}
	x := a.open(l)
	l.Links = "tcp:nic3"
	y := b.open(l)
	ans := x.insert(y)
	if ans.Error == "" {
		ans = x.do(farOrder{Do: "send", ID: x.id, Flow: flow{Peer: ans.Addr, Sizes: []int{8}}})
	}
	require.True(t, ans.Unreachable, ans.Error)
	require.Contains(t, ans.Error, "nic2")
	a.Wait()
	b.Wait()
}
