package lnx_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
	"golnx/peer"
	"golnx/providers/fierr"
)

// operations are all calls that can be refused, on one endpoint.
func operations(ep *lnx.Endpoint, to lnx.Addr) map[string]func() error {
	buf := make([]byte, 8)
	two := [][]byte{buf, buf}
	return map[string]func() error{
		"TSend":       func() error { return ep.TSend(buf, to, 1, nil) },
		"TSendData":   func() error { return ep.TSendData(buf, 1, to, 1, nil) },
		"TSendV":      func() error { return ep.TSendV(two, to, 1, nil) },
		"TSendMsg":    func() error { return ep.TSendMsg(&lnx.Msg{IOV: two, Addr: to}, 0) },
		"TInject":     func() error { return ep.TInject(buf, to, 1) },
		"TInjectData": func() error { return ep.TInjectData(buf, 1, to, 1) },
		"TRecv":       func() error { return ep.TRecv(buf, to, 1, 0, nil) },
		"TRecvV":      func() error { return ep.TRecvV(two, to, 1, 0, nil) },
		"TRecvMsg":    func() error { return ep.TRecvMsg(&lnx.Msg{IOV: two, Addr: to}, 0) },
		"peek":        func() error { return ep.TRecvMsg(&lnx.Msg{Addr: to}, lnx.FlagPeek) },
		"claim":       func() error { return ep.TRecvMsg(&lnx.Msg{Addr: to, Context: 1}, lnx.FlagPeek|lnx.FlagClaim) },
	}
}

func TestUnknownAddr(t *testing.T) {
	n := newNode(t, choice{Links: "shm"}.options())
	self := n.insert(n.ep.Name())
	require.NoError(t, n.ep.AV().Remove(self))
	for _, to := range []lnx.Addr{self, 1, 1 << 32, 1<<56 - 1, lnx.AddrUnspec - 1} {
		ops := operations(n.ep, to)
		ops["Send"] = func() error { return n.ep.Send(t.Context(), to, 1, nil) }
		ops["Recv"] = func() error { _, err := n.ep.Recv(t.Context(), to, 1, 0, nil); return err }
		ops["AV.Remove"] = func() error { return n.ep.AV().Remove(to) }
		ops["AV.Lookup"] = func() error { _, err := n.ep.AV().Lookup(to); return err }
		for name, op := range ops {
			err := op()
			require.ErrorIs(t, err, fierr.EInval, name)
			require.ErrorContains(t, err, fmt.Sprintf("Addr %d names no peer", to), name)
		}
	}
	// AddrUnspec is a source but not a destination.
	require.ErrorIs(t, n.ep.TSend(nil, lnx.AddrUnspec, 1, nil), fierr.EInval)
	require.NoError(t, n.ep.TRecv(nil, lnx.AddrUnspec, 1, 0, nil))
	require.Empty(t, n.oddErr)
}

// Every call on a closed endpoint says so, and closing twice does nothing.
func TestClosed(t *testing.T) {
	onLinks(t, func(t *testing.T, c choice) {
		n := openNode(t, c.options())
		self := n.insert(n.ep.Name())
		name := n.ep.Name()
		f, err := n.ep.RecvAsync(t.Context(), self, 1, 0, make([]byte, 8))
		require.NoError(t, err)
		require.NoError(t, n.ep.Close())
		require.NoError(t, n.ep.Close())
		ops := operations(n.ep, self)
		for what, op := range map[string]func() error{
			"Send":      func() error { return n.ep.Send(t.Context(), self, 1, nil) },
			"SendAsync": func() error { _, err := n.ep.SendAsync(t.Context(), self, 1, nil); return err },
			"Recv":      func() error { _, err := n.ep.Recv(t.Context(), self, 1, 0, nil); return err },
			"RecvAsync": func() error { _, err := n.ep.RecvAsync(t.Context(), self, 1, 0, nil); return err },
			"Cancel":    func() error { return n.ep.Cancel(1) },
			"AV.Insert": func() error { _, err := n.ep.AV().Insert(name); return err },
			"AV.Remove": func() error { return n.ep.AV().Remove(self) },
			"AV.Lookup": func() error { _, err := n.ep.AV().Lookup(self); return err },
			"Read":      func() error { _, err := n.ep.CQ().Read(make([]lnx.Entry, 1)); return err },
			"ReadErr":   func() error { _, err := n.ep.CQ().ReadErr(); return err },
			"Wait":      func() error { _, err := n.ep.CQ().Wait(t.Context(), make([]lnx.Entry, 1)); return err },
			"Future":    func() error { _, err := f.Wait(t.Context()); return err },
		} {
			ops[what] = op
		}
		for what, op := range ops {
			err := inTime(t, op)
			require.ErrorIs(t, err, lnx.ErrClosed, what)
			require.ErrorIs(t, err, fierr.EBadF, what)
		}
		n.ep.CQ().Signal()
		require.False(t, f.Cancel())
		require.True(t, f.Done())
		require.Equal(t, name, n.ep.Name())
		require.Len(t, n.ep.Stats(), len(n.ep.Link().Rails))
	})
}

// A blob that is cut or altered anywhere is refused.
func TestBadBlobs(t *testing.T) {
	c := choice{Links: "shm+tcp:lo"}
	n, other := newNode(t, c.options()), newNode(t, c.options())
	blob := other.ep.Name()
	insert := func(b []byte) error { _, err := n.ep.AV().Insert(b); return err }
	plain := 0
	for i := range blob {
		// Cut right before our own entry it is what C LNX would write.
		if a, err := peer.Decode(blob[:i]); err == nil {
			require.Nil(t, a.Ext)
			plain++
			continue
		}
		require.ErrorIs(t, insert(blob[:i]), fierr.EInval, "%d bytes", i)
	}
	require.Equal(t, 1, plain)
	for i := range blob {
		for _, with := range []byte{1, 0x80, 0xff} {
			bad := slices.Clone(blob)
			bad[i] ^= with
			require.Error(t, insert(bad), "byte %d of %d", i, len(blob))
		}
	}
	require.ErrorIs(t, insert(nil), fierr.EInval)
	require.ErrorIs(t, insert(append(slices.Clone(blob), blob...)), fierr.EInval)
	_, err := n.ep.AV().Lookup(0)
	require.Error(t, err, "nothing was inserted")
	to := n.insert(blob)
	require.Equal(t, to, n.insert(blob), "again")
}

// Endpoints with nothing in common say what each has.
func TestNothingSharedHere(t *testing.T) {
	shm, tcp := newNode(t, choice{Links: "shm"}.options()), newNode(t, choice{Links: "tcp:lo"}.options())
	for _, pair := range [][2]*node{{shm, tcp}, {tcp, shm}} {
		_, err := pair[0].ep.AV().Insert(pair[1].ep.Name())
		require.ErrorIs(t, err, fierr.EHostUnreach)
		require.ErrorContains(t, err, "shm")
		require.ErrorContains(t, err, "tcp;ofi_rxm")
		_, err = pair[0].ep.AV().Lookup(0)
		require.Error(t, err)
	}
}

func TestBadOperations(t *testing.T) {
	onLinks(t, func(t *testing.T, c choice) {
		n := newNode(t, c.options())
		self := n.insert(n.ep.Name())
		info := n.ep.Link().Info
		many := make([][]byte, info.IOVLimit+1)
		for what, op := range map[string]func() error{
			"TSendV":   func() error { return n.ep.TSendV(many, self, 1, nil) },
			"TRecvV":   func() error { return n.ep.TRecvV(many, self, 1, 0, nil) },
			"TSendMsg": func() error { return n.ep.TSendMsg(&lnx.Msg{IOV: many, Addr: self}, 0) },
			"TRecvMsg": func() error { return n.ep.TRecvMsg(&lnx.Msg{IOV: many, Addr: self}, 0) },
		} {
			err := op()
			require.ErrorIs(t, err, fierr.EInval, what)
			require.ErrorContains(t, err, fmt.Sprintf("%d buffers", len(many)), what)
		}
		long := make([]byte, info.InjectSize+1)
		for what, op := range map[string]func() error{
			"TInject":     func() error { return n.ep.TInject(long, self, 1) },
			"TInjectData": func() error { return n.ep.TInjectData(long, 1, self, 1) },
			"TSendMsg":    func() error { return n.ep.TSendMsg(&lnx.Msg{IOV: [][]byte{long}, Addr: self}, lnx.FlagInject) },
		} {
			err := op()
			require.ErrorIs(t, err, fierr.EMsgSize, what)
			require.ErrorContains(t, err, fmt.Sprint(info.InjectSize), what)
		}
		for _, flags := range []lnx.Flags{lnx.FlagPeek, lnx.FlagClaim, lnx.FlagDiscard, lnx.FlagRecv, 1, 1 << 63, ^lnx.Flags(0)} {
			require.ErrorIs(t, n.ep.TSendMsg(&lnx.Msg{Addr: self}, flags), fierr.EBadFlags, "%#x", flags)
		}
		for _, flags := range []lnx.Flags{lnx.FlagDiscard, lnx.FlagPeek | lnx.FlagClaim | lnx.FlagDiscard, lnx.FlagInject, lnx.FlagRemoteCQData, 1, ^lnx.Flags(0)} {
			require.ErrorIs(t, n.ep.TRecvMsg(&lnx.Msg{Addr: self}, flags), fierr.EBadFlags, "%#x", flags)
		}
		for _, ctx := range []any{nil, []int{}, map[int]int{}, func() {}} {
			require.ErrorIs(t, n.ep.TRecvMsg(&lnx.Msg{Addr: self, Context: ctx}, lnx.FlagPeek|lnx.FlagClaim), fierr.EInval)
			require.ErrorIs(t, n.ep.TRecvMsg(&lnx.Msg{Addr: self, Context: ctx}, lnx.FlagClaim), fierr.EInval)
			require.ErrorIs(t, n.ep.Cancel(ctx), fierr.EInval)
		}
		require.ErrorIs(t, n.ep.TRecvMsg(&lnx.Msg{Addr: self, Context: "never claimed"}, lnx.FlagClaim|lnx.FlagDiscard), fierr.EInval)
		require.ErrorIs(t, n.ep.Cancel("never posted"), fierr.ENoEnt)
		k, err := n.ep.CQ().Read(nil)
		require.Zero(t, k)
		require.True(t, err == nil || err == fierr.Again, err)
		_, err = n.ep.CQ().ReadErr()
		require.ErrorIs(t, err, fierr.EAgain)
	})
}

// Empty messages have no memory, in any spelling.
func TestEmptyBuffers(t *testing.T) {
	onLinks(t, func(t *testing.T, c choice) {
		n := newNode(t, c.options())
		self := n.insert(n.ep.Name())
		empties := [][]byte{nil, {}, make([]byte, 0, 8), make([]byte, 8)[8:]}
		iovs := [][][]byte{nil, {}, {nil}, {{}, nil}, {make([]byte, 8)[8:], nil}}
		var sends []func(p *pending) error
		var recvs []func(p *pending) error
		for _, b := range empties {
			sends = append(sends, func(p *pending) error { return n.ep.TSend(b, self, 1, p) })
			sends = append(sends, func(p *pending) error { p.done = true; return n.ep.TInject(b, self, 1) })
			recvs = append(recvs, func(p *pending) error { return n.ep.TRecv(b, self, 1, 0, p) })
		}
		for _, iov := range iovs {
			sends = append(sends, func(p *pending) error { return n.ep.TSendV(iov, self, 1, p) })
			recvs = append(recvs, func(p *pending) error { return n.ep.TRecvV(iov, self, 1, 0, p) })
			recvs = append(recvs, func(p *pending) error {
				return n.ep.TRecvMsg(&lnx.Msg{IOV: iov, Addr: self, Tag: 1, Context: p}, lnx.FlagCompletion)
			})
		}
		for i, send := range sends {
			for j, recv := range recvs {
				s, r := &pending{}, &pending{}
				late := (i+j)%2 == 0
				if !late {
					require.NoError(t, recv(r))
				}
				n.until(func() bool { return send(s) == nil })
				if late {
					require.NoError(t, recv(r))
				}
				n.finish(s, r)
				require.Nil(t, s.err)
				check(t, r, message{Tag: 1}, self)
			}
			// something into nothing
			r := &pending{}
			require.NoError(t, recvs[i%len(recvs)](r))
			n.send(self, message{Size: 5000, Tag: 1})
			n.finish(r)
			checkCut(t, r, nil, message{Size: 5000, Tag: 1}, self)
		}
	})
}

func TestBadOptions(t *testing.T) {
	env := func(name, value string) func(string) (string, bool) {
		return func(n string) (string, bool) { return value, n == name }
	}
	for _, c := range []struct {
		opts lnx.Options
		want string
	}{
		{lnx.Options{Links: "shm", Policy: "per-msg"}, "Policy"},
		{lnx.Options{Links: "shm", Policy: "PER_"}, "Policy"},
		{lnx.Options{Links: "shm++tcp"}, "Links"},
		{lnx.Options{}, "FI_LNX_PROV_LINKS"},
		{lnx.Options{Links: "shm", CQSize: -1}, "CQSize"},
		{lnx.Options{Links: "shm", MaxPosted: 1 << 30}, "MaxPosted"},
		{lnx.Options{Links: "shm", MaxUnexpected: -5}, "MaxUnexpected"},
		{lnx.Options{Links: "shm", MaxSends: -5}, "MaxSends"},
		{lnx.Options{Links: "shm", Peers: -5}, "Peers"},
		{lnx.Options{Links: "shm", ConnectTimeout: -5}, "ConnectTimeout"},
		{lnx.Options{Links: "shm", Lookup: env("FI_LNX_MULTI_RAIL_SELECTION", "x")}, "FI_LNX_MULTI_RAIL_SELECTION"},
		{lnx.Options{Lookup: env("FI_LNX_PROV_LINKS", "shm+")}, "FI_LNX_PROV_LINKS"},
		{lnx.Options{Links: "shm", Lookup: env("FI_LNX_DISABLE_SHM", "x")}, "FI_LNX_DISABLE_SHM"},
		{lnx.Options{Links: "nosuch"}, `provider "nosuch" is unknown`},
		{lnx.Options{Links: "tcp:nosuch"}, `no domain "nosuch"`},
		{lnx.Options{Links: "shm", DisableShm: true}, "nothing of it is left; shm: disabled by FI_LNX_DISABLE_SHM or Options.DisableShm"},
		{lnx.Options{Links: "tcp:lo+tcp;ofi_rxm:lo"}, "named twice"},
	} {
		if c.opts.Lookup == nil {
			c.opts.Lookup = noEnv
		}
		l, err := lnx.Links(c.opts)
		require.ErrorContains(t, err, c.want, "%+v", c.opts)
		require.NotNil(t, l)
		require.Empty(t, l.Links)
		require.Less(t, strings.Count(err.Error(), "\n"), 10)
	}
}
