package lnx

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pairLimit is how long anything may take between two endpoints of this process.
const pairLimit = 20 * time.Second

// connected is pair with messages behind it in both directions, so that a send
// needs only its own side to be driven.
func connected(t *testing.T, opts Options) (a, b *Endpoint, toB, toA Addr) {
	t.Helper()
	opts.Lookup = env(nil)
	a, b, toB, toA = pair(t, directly(opts))
	connect(t, a, b)
	return a, b, toB, toA
}

// directly reads links of tests, which end in " direct" for direct mode.
func directly(opts Options) Options {
	opts.Links, opts.Direct = strings.CutSuffix(opts.Links, " direct")
	return opts
}

// another opens one more endpoint on b's link, connected with b.
func another(t *testing.T, b *Endpoint) (ep *Endpoint, toB Addr) {
	t.Helper()
	ep, err := Open(b.Link())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ep.Close()) })
	toB, _ = connect(t, ep, b)
	return ep, toB
}

func connect(t *testing.T, a, b *Endpoint) (toB, toA Addr) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), pairLimit)
	defer cancel()
	toB, err := a.AV().Insert(b.Name())
	require.NoError(t, err)
	toA, err = b.AV().Insert(a.Name())
	require.NoError(t, err)
	const tag = 1 << 60
	for _, way := range []struct {
		from, to *Endpoint
		dest     Addr
	}{{a, b, toB}, {b, a, toA}} {
		sent := make(chan error, 1)
		go func() { sent <- way.from.Send(ctx, way.dest, tag, nil) }()
		_, err := way.to.Recv(ctx, AddrUnspec, tag, 0, nil)
		require.NoError(t, err)
		require.NoError(t, <-sent)
	}
	return toB, toA
}

// onRails runs a test on each kind of rail.
func onRails(t *testing.T, f func(t *testing.T, links string)) {
	for _, links := range []string{"shm", "tcp:lo"} {
		t.Run(links, func(t *testing.T) { f(t, links) })
	}
}

// onDirect runs a test on each rail in direct mode.
func onDirect(t *testing.T, f func(t *testing.T, links string)) {
	for _, links := range []string{"shm direct", "tcp:lo direct"} {
		t.Run(links, func(t *testing.T) { f(t, links) })
	}
}

// soon repeats cond until it holds.
func soon(t *testing.T, cond func() bool, what string, args ...any) {
	t.Helper()
	for end := time.Now().Add(pairLimit); !cond(); runtime.Gosched() {
		if time.Now().After(end) {
			require.Failf(t, "still waiting", what, args...)
		}
	}
}

// outcome waits for what a goroutine answers.
func outcome(t *testing.T, c <-chan error, what string, args ...any) error {
	t.Helper()
	select {
	case err := <-c:
		return err
	case <-time.After(pairLimit):
		require.Failf(t, "it does not return", what, args...)
		return nil
	}
}

// turns drives an endpoint a number of times; it finds no completions.
func turns(t *testing.T, ep *Endpoint, n int) {
	t.Helper()
	for range n {
		k, _ := ep.CQ().Read(make([]Entry, 1))
		require.Zero(t, k)
	}
}
