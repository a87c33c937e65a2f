package lnx

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/providers"
	"golnx/providers/fierr"
	"golnx/providers/ofi"
)

// Direct mode takes a link of one rail, and says so of another one.
func TestDirectTakesOneRail(t *testing.T) {
	listing, err := Links(Options{Links: "shm+tcp:lo|tcp:lo", Direct: true, Lookup: env(nil)})
	require.NoError(t, err)
	require.Len(t, listing.Links, 1)
	require.Equal(t, "tcp:lo", listing.Links[0].Name, "native tcp")
	require.True(t, listing.Links[0].Direct())

	_, err = Links(Options{Links: "shm+tcp:lo", Direct: true, Lookup: env(nil)})
	require.ErrorIs(t, err, ErrNoLinks)
	require.ErrorIs(t, err, fierr.EInval)
	require.ErrorContains(t, err, "it has 2 rails (shm, tcp:lo): in direct mode")

	// Without shm one is left.
	_, err = Links(Options{Links: "shm+tcp:lo", Direct: true, DisableShm: true, Lookup: env(nil)})
	require.NoError(t, err)

	_, err = Links(Options{Links: "tcp;ofi_rxm:lo", Direct: true, Lookup: env(nil)})
	require.ErrorIs(t, err, ErrNotSupported)
	require.ErrorContains(t, err, "tcp;ofi_rxm in direct mode: ofi_rxm 2.1 crashes")

	_, err = Links(Options{Links: "tcp:lo", Direct: true, Caps: CapAtomic, Lookup: env(nil)})
	require.ErrorIs(t, err, fierr.EOpNotSupp)
	require.ErrorContains(t, err, "cannot do FI_ATOMIC, which Options.Caps asks for")
}

func TestDirectFromEnvironment(t *testing.T) {
	for value, want := range map[string]bool{"1": true, "on": true, "0": false} {
		listing, err := Links(Options{Links: "shm", Lookup: env(map[string]string{EnvDirect: value})})
		require.NoError(t, err)
		require.Equal(t, want, listing.Links[0].Direct(), value)
	}
	_, err := Links(Options{Links: "shm", Lookup: env(map[string]string{EnvDirect: "maybe"})})
	require.ErrorContains(t, err, `LNX_DIRECT: found "maybe"`)
}

// A core that cannot match is refused, and closed.
func TestDirectNeedsMatcher(t *testing.T) {
	listing, err := Links(Options{Links: "shm", Direct: true, Lookup: env(nil)})
	require.NoError(t, err)
	closed := false
	_, err = openWith(listing.Links[0], func(l *Link, o providers.Owner) (providers.Core, error) {
		core, err := ofi.Open(l.infos, o, ofi.Options{MaxRx: 1024, MaxTx: 1024})
		return closer{core, &closed}, err
	})
	require.ErrorIs(t, err, ErrNotSupported)
	require.True(t, closed)
}

type closer struct {
	providers.Core
	closed *bool
}

func (c closer) Close() error {
	*c.closed = true
	return c.Core.Close()
}

// A receive that a message has met is not canceled: Cancel finds it gone, or it
// completes with the message.
func TestDirectCancelOfMet(t *testing.T) {
	onDirect(t, func(t *testing.T, links string) {
		a, b, toB, toA := connected(t, Options{Links: links})
		for i := range 50 {
			require.NoError(t, b.TRecv(make([]byte, 8), toA, 1, 0, i))
			for a.TInject([]byte{1, 2, 3, 4, 5, 6, 7, byte(i)}, toB, 1) != nil {
				runtime.Gosched()
			}
			err := b.Cancel(i)
			e := completes(t, b)
			if err != nil {
				require.ErrorIs(t, err, fierr.ENoEnt)
				require.Zero(t, e.Err)
			}
			require.Equal(t, i, e.Context)
			require.ErrorIs(t, b.Cancel(i), fierr.ENoEnt)
			if e.Err != 0 { // the message waits for the next
				require.Equal(t, fierr.ECanceled, e.Err)
				info, err := b.Recv(t.Context(), toA, 1, 0, make([]byte, 8))
				require.NoError(t, err)
				require.Equal(t, 8, info.Len)
			}
		}
	})
}

// Receives from a peer that is removed are taken back: another peer may get its address.
func TestDirectRemove(t *testing.T) {
	onDirect(t, func(t *testing.T, links string) {
		_, b, _, toA := connected(t, Options{Links: links})
		require.NoError(t, b.TRecv(make([]byte, 5000), toA, 1, 0, "from"))
		require.NoError(t, b.TRecv(make([]byte, 5000), AddrUnspec, 2, 0, "any"))
		require.NoError(t, b.AV().Remove(toA))
		e := completes(t, b)
		require.Equal(t, "from", e.Context)
		require.Equal(t, fierr.ECanceled, e.Err)
		require.NoError(t, b.Cancel("any"))
		require.Equal(t, "any", completes(t, b).Context)
		require.Zero(t, b.direct.posted+b.active)
	})
}

// Waiting sleeps, and a message ends that.
func TestDirectWaitSleeps(t *testing.T) {
	onDirect(t, func(t *testing.T, links string) {
		a, b, toB, toA := connected(t, Options{Links: links})
		got := make(chan error, 1)
		go func() {
			_, err := b.Recv(t.Context(), toA, 9, 0, make([]byte, 8))
			got <- err
		}()
		soon(t, b.wait.sleeping.Load, "it does not sleep")
		ctx, cancel := context.WithTimeout(t.Context(), pairLimit)
		defer cancel()
		require.NoError(t, a.Send(ctx, toB, 9, make([]byte, 8)))
		require.NoError(t, outcome(t, got, "Recv"))
	})
}

// Many messages that nobody has asked for do not keep back one that somebody has.
func TestDirectPastUnexpected(t *testing.T) {
	onDirect(t, func(t *testing.T, links string) {
		const many = 500
		a, b, toB, toA := connected(t, Options{Links: links})
		ctx, cancel := context.WithTimeout(t.Context(), pairLimit)
		defer cancel()
		sent := calling(func() error {
			for i := range many {
				if err := a.Send(ctx, toB, 1, make([]byte, 1000+i)); err != nil {
					return err
				}
			}
			return a.Send(ctx, toB, 2, nil)
		})
		_, err := b.Recv(ctx, toA, 2, 0, nil)
		require.NoError(t, err)
		require.NoError(t, outcome(t, sent, "Send"))
		for i := range many {
			info, err := b.Recv(ctx, toA, 1, 0, make([]byte, 2000))
			require.NoError(t, err)
			require.Equal(t, 1000+i, info.Len)
		}
	})
}

// Untagged messages are refused, by the rail that has none.
func TestDirectUntagged(t *testing.T) {
	onDirect(t, func(t *testing.T, links string) {
		a, _, toB, _ := connected(t, Options{Links: links})
		_, waited := a.Untagged().Recv(t.Context(), toB, nil)
		for call, err := range map[string]error{
			"MSend":    a.MSend(nil, toB, nil),
			"MInject":  a.MInject(nil, toB),
			"MRecv":    a.MRecv(nil, toB, nil),
			"MRecvMsg": a.MRecvMsg(&Msg{IOV: [][]byte{make([]byte, 100)}, Addr: AddrUnspec}, FlagMultiRecv),
			"MSendMsg": a.MSendMsg(&Msg{Addr: toB}, 0),
			"Recv":     waited,
		} {
			require.ErrorIs(t, err, ErrNotSupported, call)
			require.ErrorContains(t, err, "rail "+a.link.Rails[0].Name()+" has no untagged messages (FI_MSG) in direct mode", call)
		}
		require.Zero(t, a.Link().Info.Caps&(1<<1), "FI_MSG")
	})
}

// What nobody will receive does no harm when it, its sender and its receiver go, in
// either order: untagged messages, which only a peer that is not in direct mode sends,
// and messages of a sender that is in no AV.
func TestDirectNeverReceived(t *testing.T) {
	for _, size := range []int{8, 3000, 300_000} {
		for _, sender := range []Options{{Caps: CapRMA}, {Caps: CapRMA, Direct: true}} {
			for _, senderFirst := range []bool{true, false} {
				t.Run(fmt.Sprintf("size=%d/direct=%v/senderFirst=%v", size, sender.Direct, senderFirst), func(t *testing.T) {
					b := opened(t, Options{Links: "shm", Direct: true, Caps: CapRMA})
					sender.Links = "shm"
					a := opened(t, sender)
					toB, err := a.AV().Insert(b.Name())
					require.NoError(t, err)
					const tag = 7
					send := func() error { return a.TSend(make([]byte, size), toB, tag, nil) }
					if !sender.Direct {
						send = func() error { return a.MSend(make([]byte, size), toB, nil) }
					}
					for range 3 {
						soon(t, func() bool { _, _ = b.CQ().Read(nil); return send() == nil }, "it is not sent")
					}
					turns(t, b, 1000)
					if senderFirst {
						require.NoError(t, a.Close())
						require.NoError(t, b.TRecvMsg(&Msg{Addr: AddrUnspec, Tag: tag}, FlagPeek))
						require.Equal(t, fierr.ENoMsg, completes(t, b).Err, "it went with its sender")
					}
					require.NoError(t, b.Close())
					require.NoError(t, a.Close())
				})
			}
		}
	}
}

func opened(t *testing.T, opts Options) *Endpoint {
	opts.Lookup = env(nil)
	listing, err := Links(opts)
	require.NoError(t, err)
	ep, err := Open(listing.Links[0])
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ep.Close()) })
	return ep
}

// completes waits for the next completion, of either kind.
func completes(t *testing.T, ep *Endpoint) ErrEntry {
	t.Helper()
	var e [1]Entry
	for end := time.Now().Add(pairLimit); ; runtime.Gosched() {
		n, err := ep.CQ().Read(e[:])
		if err == fierr.Avail {
			failed, err := ep.CQ().ReadErr()
			require.NoError(t, err)
			return *failed
		}
		if n == 1 {
			return ErrEntry{Entry: e[0]}
		}
		require.True(t, time.Now().Before(end), "nothing completes")
	}
}

// Two ends of which only one is in direct mode have no rail in common over tcp, and are
// told why.
func TestDirectAtOneEnd(t *testing.T) {
	a, b := opened(t, Options{Links: "tcp:lo"}), opened(t, Options{Links: "tcp:lo", Direct: true})
	for _, ends := range [][2]*Endpoint{{a, b}, {b, a}} {
		_, err := ends[0].AV().Insert(ends[1].Name())
		require.ErrorIs(t, err, fierr.EHostUnreach)
		require.ErrorContains(t, err, "one end has Options.Direct, or LNX_DIRECT, and the other has not: over tcp both need it")
	}
}
