package lnx_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A cable is out before the first message. The other rail goes on: a message that
// its rail refused for good is over, and the next one is dealt anew.
func TestCableOutFirst(t *testing.T) {
	hostA, _, a, b := twoHosts(t, "200mbit")
	l := farLink{Links: twoRails, Policy: "PER_MSG"}
	p := connect(t, a, b, l)
	// the receiver is driven by a receive that nothing meets
	other := introduce(t, b.open(l), p.b)
	p.b.start(flow{Peer: other.toA, Count: 1, Window: 1, Sizes: []int{4}})
	hostA.IP("link set nic1 down")
	ok := 0
	for range 8 {
		if p.a.do(farOrder{Do: "send", ID: p.a.id, Flow: flow{Peer: p.toB, Sizes: []int{4}}}).Error == "" {
			ok++
		}
	}
	require.GreaterOrEqual(t, ok, 4, "one rail of two is there")
	a.Wait()
	b.Kill()
}
