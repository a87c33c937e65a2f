package bench

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
)

// pairOfEnds are the two ends of a test, which exchange keys without a connection.
func pairOfEnds(t *testing.T, ctx context.Context, limit time.Duration) (lead, follow *End) {
	t.Helper()
	a, b := open(t), open(t)
	toA, toB := make(chan []byte, 1), make(chan []byte, 1)
	end := func(ep, other *lnx.Endpoint, in, out chan []byte) *End {
		addr, err := ep.AV().Insert(other.Name())
		require.NoError(t, err)
		return &End{
			EP: ep, Peer: addr, Done: new(atomic.Int64), ctx: ctx, limit: limit, Ready: func() error { return nil },
			Swap: func(key []byte) ([]byte, error) { out <- key; return <-in, nil },
		}
	}
	return end(a, b, toA, toB), end(b, a, toB, toA)
}

// rmaOp finds the operation in the tables of this package.
func rmaOp(t *testing.T, name string) *remoteOp {
	t.Helper()
	for _, op := range rmaOps {
		if op.name == name {
			return op
		}
	}
	t.Fatalf("no operation %s", name)
	return nil
}

// Verification finds what is wrong: the leading end's operation goes to another place
// than it should.
func TestVerifyFindsWrongPlaces(t *testing.T) {
	for name, want := range map[string]string{
		OpRead:  "read 7: message 0x",
		OpWrite: "write 4: message 0x", // over which 7 was written
	} {
		t.Run(name, func(t *testing.T) {
			op := rmaOp(t, name)
			bad := *op
			bad.start = func(r *remote, s *slot, n int) error { return op.start(r, s, n+n/7%2) } // 7 in the place of 8
			ctx, cancel := context.WithCancel(t.Context())
			lead, follow := pairOfEnds(t, ctx, limit)
			follow.limit = 50 * time.Millisecond
			p := Params{Test: "bw", Op: name, Size: 100, Iters: 16, Window: 4, Verify: true}
			errs := make(chan error)
			go func() { errs <- followRemoteStream(follow, p, op) }()
			go func() { _, _, err := leadRemoteStream(lead, p, &bad); errs <- err }()
			found := <-errs
			cancel()
			require.ErrorIs(t, <-errs, context.Canceled)
			require.ErrorContains(t, found, want)
			require.ErrorContains(t, found, "of 100 bytes: byte 0 is")
		})
	}
}

// The measured loops must not measure the garbage collector.
func TestRemoteLoopsDoNotAllocate(t *testing.T) {
	const n = 5000
	for _, op := range append([]*remoteOp{fadd}, rmaOps...) {
		t.Run(op.name, func(t *testing.T) {
			lead, follow := pairOfEnds(t, t.Context(), limit)
			p := Params{Test: "rate", Op: op.name, Size: 8, Warmup: n, Iters: n, Window: 16}
			followed := make(chan error, 1)
			go func() { followed <- followRemoteStream(follow, p, op) }()
			r, err := openRemote(lead, p, op, true)
			require.NoError(t, err)
			require.NoError(t, r.run(n))
			requireFewMallocs(t, n, func() { err = r.run(2 * n) })
			require.NoError(t, err)
			require.NoError(t, r.close())
			require.NoError(t, <-followed)
		})
	}
}

// The last byte of a write tells it from the one before, and from what is there at first.
func TestMarkers(t *testing.T) {
	last := byte(0)
	for n := range 1000 {
		require.NotEqual(t, last, marker(n))
		require.NotZero(t, marker(n))
		last = marker(n)
	}
}

// An end that starts nothing waits as long as the other one works.
func TestPatience(t *testing.T) {
	lead, follow := pairOfEnds(t, t.Context(), time.Millisecond)
	p := Params{Test: "bw", Op: OpWrite, Size: 8, Iters: 8, Window: 4}
	op := rmaOp(t, OpWrite)
	followed := make(chan error, 1)
	go func() { followed <- followRemoteStream(follow, p, op) }()
	r, err := openRemote(lead, p, op, true)
	require.NoError(t, err)
	require.Never(t, func() bool { return len(followed) > 0 }, 100*time.Millisecond, 10*time.Millisecond)
	lead.limit = limit
	require.NoError(t, r.run(8))
	require.NoError(t, r.close())
	require.NoError(t, <-followed)
}
