package lnx_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
	"golnx/mr"
	"golnx/providers/fierr"
	"golnx/rail/intercept"
)

// Hooks see every read and write, with what it moves and where, may change it or do it
// themselves, and see its end.
func TestRMAHooks(t *testing.T) {
	onLinks(t, func(t *testing.T, c choice) {
		var seen []intercept.RMA
		var ended []intercept.Completion
		refusal := errors.New("not today")
		hook := func(_ *intercept.Rail, r *intercept.RMA, next func(*intercept.RMA) error) error {
			copied := *r
			copied.Remote = append([]intercept.RemoteIOV(nil), r.Remote...)
			seen = append(seen, copied)
			switch r.Context {
			case "drop":
				return nil
			case "refuse":
				return refusal
			case "range":
				r.Remote[0].Len += 1 << 40
			case "key":
				r.Remote[0].Key ^= 1
			case "elsewhere":
				r.Remote[0].Addr += 1000
			}
			return next(r)
		}
		opts := c.rma()
		opts.Hooks = []*intercept.Hooks{{
			Name: "rma", Read: hook, ReadV: hook, ReadMsg: hook, Write: hook, WriteV: hook, WriteMsg: hook,
			InjectWrite: hook, WriteData: hook, InjectWriteData: hook,
			Complete: func(_ *intercept.Rail, c *intercept.Completion) { ended = append(ended, *c) },
		}}
		p := &rmaPair{t: t, a: newNode(t, opts), b: newNode(t, c.rma())}
		p.toB, p.toA = p.a.insert(p.b.ep.Name()), p.b.insert(p.a.ep.Name())
		p.w = newWindow(t, p.b, p.a, p.toB, 1<<16, mr.RemoteRead|mr.RemoteWrite)
		ep, mem := p.a.ep, p.w.remote
		buf := payload(1, 5000)
		op := func() *pending { return &pending{buf: make([]byte, 5000)} }

		w := op()
		require.NoError(t, p.begin(func() error { return ep.WriteData(buf, 3, mem, 10, w) }))
		require.Equal(t, wrote, p.done(w).Flags)
		p.told()
		p.holds(10, buf)
		last := seen[len(seen)-1]
		require.Equal(t, intercept.OpWriteData, last.Op)
		require.EqualValues(t, 3, last.Data)
		require.Len(t, last.Remote, 1)
		require.EqualValues(t, 5000, last.Remote[0].Len)
		require.EqualValues(t, p.toB, last.To.Peer)
		r := op()
		require.NoError(t, p.begin(func() error { return ep.ReadV(split(r.buf, 2), mem, 10, r) }))
		p.done(r)
		require.True(t, bytes.Equal(buf, r.buf))
		require.Len(t, ended, 2)
		require.EqualValues(t, wrote, ended[0].Flags)
		require.EqualValues(t, read, ended[1].Flags)
		require.NoError(t, p.begin(func() error { return ep.InjectWrite([]byte{9}, mem, 0) }))
		p.a.until(func() bool { p.b.poll(); return len(ended) == 3 })
		require.EqualValues(t, wrote, ended[2].Flags, "also without a completion in the CQ")

		// a hook that does it itself
		require.NoError(t, ep.Write(buf, mem, 100, "drop"))
		p.a.until(func() bool { return len(p.a.odd) == 1 })
		require.Equal(t, "drop", p.a.odd[0].Context)
		require.Equal(t, wrote, p.a.odd[0].Flags)
		p.a.odd = nil
		require.ErrorIs(t, ep.Write(buf, mem, 100, "refuse"), refusal)
		require.ErrorIs(t, ep.Write(buf, mem, 100, "range"), fierr.EInval, "lengths differ")
		if !c.network() {
			require.ErrorIs(t, ep.Write(buf, mem, 100, "key"), fierr.ENoKey)
			require.ErrorIs(t, ep.Write(buf, mem, 1<<16-5000, "elsewhere"), fierr.ENoKey, "out of the memory")
		}
		require.NoError(t, p.begin(func() error { return ep.Write(buf, mem, 100, "elsewhere") }))
		p.a.until(func() bool { p.b.poll(); return len(p.a.odd) == 1 })
		p.holds(1100, buf)

		// an operation under way when the endpoint closes is withdrawn
		ended = nil
		require.NoError(t, p.begin(func() error { return ep.WriteData(make([]byte, 60_000), 1, mem, 0, "closing") }))
		require.NoError(t, ep.Close())
		require.Len(t, ended, 1)
		require.Equal(t, "closing", ended[0].Context)
	})
}

// The policy's rail is taken, with that rail's key at each of the peer's rails.
func TestRMAOnTwoRails(t *testing.T) {
	opts := lnx.Options{
		Links: "shm+cxi:cxi0,cxi1", Policy: "PER_MSG", DisableShm: true, Lookup: noEnv, Caps: lnx.CapRMA,
		ProviderAlias: map[string]string{"cxi": "tcp;ofi_rxm"},
		DomainAlias:   map[string]string{"cxi0": "lo", "cxi1": "lo"},
	}
	for _, eager := range []bool{false, true} {
		opts.EagerMR = eager
		p := newRMAPair(t, opts, 1<<20)
		for i := range 40 {
			w, r := &pending{buf: payload(uint64(i), 20_000)}, &pending{buf: make([]byte, 20_000)}
			m := &lnx.RMAMsg{IOV: [][]byte{w.buf}, Context: w, Remote: []lnx.RemoteRange{{p.w.remote, uint64(i), 20_000}}}
			require.NoError(t, p.begin(func() error { return p.a.ep.WriteMsg(m, lnx.FlagCompletion|lnx.FlagDeliveryComplete) }))
			p.done(w)
			require.NoError(t, p.begin(func() error { return p.a.ep.Read(r.buf, p.w.remote, uint64(i), r) }))
			p.done(r)
			require.True(t, bytes.Equal(w.buf, r.buf))
		}
		stats := p.a.ep.Stats()
		require.Len(t, stats, 2)
		for _, s := range stats {
			require.EqualValues(t, 40, s.Reads+s.Writes, "%v", stats)
			require.Zero(t, s.Errors)
		}
		require.Equal(t, 2, p.b.ep.MRStats().Registrations)
	}
}
