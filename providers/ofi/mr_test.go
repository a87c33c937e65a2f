package ofi_test

import (
	"bytes"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"golnx/mr"
	"golnx/providers"
	"golnx/providers/fierr"
	"golnx/providers/fiinfo"
	"golnx/providers/ofi"
)

// nobody is an owner to whom no messages come.
type nobody struct{}

func (n *nobody) Match(int, uint64, uint64, uint64) (providers.Slot, bool) { panic("a message") }
func (n *nobody) MatchMsg(int, uint64, uint64) (providers.Slot, bool)      { panic("a message") }
func (n *nobody) Taken()                                                   {}
func (n *nobody) Dropped(providers.Slot)                                   { panic("a message") }

func openRMA(t *testing.T, provider, domain string) *ofi.Core {
	t.Helper()
	traits, ok := providers.Lookup(provider)
	require.True(t, ok)
	hints := ofi.Hints(traits)
	hints.Caps |= fiinfo.Caps(providers.CapRMA)
	hints.Domain.Name = domain
	infos, err := ofi.Discover(traits, hints)
	require.NoError(t, err)
	require.NotEmpty(t, infos)
	require.NotZero(t, infos[0].Caps&providers.CapRMA)
	require.Positive(t, infos[0].RMAIOVLimit)
	require.NotZero(t, infos[0].Levels&providers.FlagTransmitComplete)
	core, err := ofi.Open(infos[:1], &nobody{}, ofi.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, core.Close()) })
	return core
}

func onProviders(t *testing.T, f func(t *testing.T, provider, domain string)) {
	t.Run("shm", func(t *testing.T) { f(t, "shm", "") })
	t.Run("tcp", func(t *testing.T) { f(t, "tcp", "lo") })
}

// A domain registers memory, with keys that exist once, and lets go of it.
func TestRegistrar(t *testing.T) {
	onProviders(t, func(t *testing.T, provider, domain string) {
		core := openRMA(t, provider, domain)
		r := core.Registrar(0)
		require.True(t, r == core.Registrar(0), "one value for one domain")
		attr := r.Attr()
		require.Zero(t, attr.Mode&(providers.MRProvKey|providers.MREndpoint|mr.ModeRaw), "these tests choose keys")
		_, raw := r.(mr.RawMapper)
		require.False(t, raw)

		buf := make([]byte, 4096)
		var pin runtime.Pinner
		pin.Pin(&buf[0])
		defer pin.Unpin()
		ask := &mr.Attr{Memory: mr.Memory{Base: unsafe.Pointer(&buf[0]), Len: len(buf)}, Access: mr.RemoteWrite, RequestedKey: 4711}
		reg, err := r.Register(ask)
		require.NoError(t, err)
		require.True(t, reg.Domain() == r)
		require.EqualValues(t, 4711, reg.Key())
		require.NotZero(t, reg.Desc())
		_, err = r.Register(ask)
		require.ErrorIs(t, err, fierr.ENoKey, "the key is taken")
		_, _, err = reg.RawKey()
		require.Error(t, err)
		// Without FI_MR_ENDPOINT these have no meaning, and nothing here has it.
		require.ErrorIs(t, reg.BindEndpoint(), fierr.ENoSys)
		require.ErrorIs(t, reg.Enable(), fierr.ENoSys)
		require.NoError(t, reg.Close())
		require.NoError(t, reg.Close(), "twice does nothing")
		reg, err = r.Register(ask)
		require.NoError(t, err)
		require.NoError(t, reg.Close())

		ask.Memory.Iface = mr.CUDA
		_, err = r.Register(ask)
		require.Error(t, err)
	})
}

// Two cores write to and read from each other, plainly and as messages with data.
func TestRMA(t *testing.T) {
	onProviders(t, func(t *testing.T, provider, domain string) {
		a, b := openRMA(t, provider, domain), openRMA(t, provider, domain)
		nameA, err := a.Name(0)
		require.NoError(t, err)
		nameB, err := b.Name(0)
		require.NoError(t, err)
		toB, err := a.Insert(0, nameB)
		require.NoError(t, err)
		_, err = b.Insert(0, nameA)
		require.NoError(t, err)

		var pin runtime.Pinner
		defer pin.Unpin()
		there, here := make([]byte, 10_000), make([]byte, 10_000)
		pin.Pin(&there[0])
		pin.Pin(&here[0])
		reg, err := b.Registrar(0).Register(&mr.Attr{
			Memory: mr.Memory{Base: unsafe.Pointer(&there[0]), Len: len(there)}, Access: mr.RemoteAccess, RequestedKey: 9,
		})
		require.NoError(t, err)
		base := uint64(0)
		if b.Registrar(0).Attr().Mode&providers.MRVirtAddr != 0 {
			base = uint64(uintptr(unsafe.Pointer(&there[0])))
		}

		end := time.Now().Add(20 * time.Second)
		turn := func() {
			require.True(t, time.Now().Before(end), "it does not end")
			a.Progress(1)
			b.Progress(1)
		}
		slot, err := a.AllocTx()
		require.NoError(t, err)
		do := func(op providers.RMAOp) {
			t.Helper()
			op.Dest, op.Slot = toB, slot
			for err := a.RMA(0, &op); err != nil; err = a.RMA(0, &op) {
				require.ErrorIs(t, err, fierr.EAgain)
				turn()
			}
			for len(a.Ready()) == 0 {
				turn()
			}
			c := a.Ready()
			require.Len(t, c, 1)
			require.Equal(t, providers.Transmit, c[0].Kind)
			require.Equal(t, slot, c[0].Slot)
			require.Zero(t, c[0].Err)
			a.Consume(1)
		}
		part := func(from, to int) providers.IOVec {
			return providers.IOVec{Base: unsafe.Pointer(&here[from]), Len: uintptr(to - from)}
		}
		for i := range here {
			here[i] = byte(i * 7)
		}
		do(providers.RMAOp{Write: true, Count: 1, RemoteCount: 1, IOV: [4]providers.IOVec{part(0, 5000)}, Remote: [4]providers.RMAIOV{{Addr: base, Len: 5000, Key: 9}}})
		do(providers.RMAOp{
			Write: true, Count: 2, RemoteCount: 2, Data: 77, Flags: providers.FlagRemoteCQData,
			IOV:    [4]providers.IOVec{part(5000, 6000), part(6000, 10_000)},
			Remote: [4]providers.RMAIOV{{Addr: base + 5000, Len: 3000, Key: 9}, {Addr: base + 8000, Len: 2000, Key: 9}},
		})
		for len(b.Ready()) == 0 {
			turn()
		}
		c := b.Ready()
		require.Len(t, c, 1)
		require.Equal(t, providers.Remote, c[0].Kind)
		require.EqualValues(t, 77, c[0].Data)
		require.EqualValues(t, 5000, c[0].Len)
		b.Consume(1)
		want := bytes.Clone(here)
		require.True(t, bytes.Equal(want, there))
		clear(here)
		do(providers.RMAOp{Count: 1, RemoteCount: 1, IOV: [4]providers.IOVec{part(0, 10_000)}, Remote: [4]providers.RMAIOV{{Addr: base, Len: 10_000, Key: 9}}})
		require.True(t, bytes.Equal(want, here))
		require.NoError(t, reg.Close())
		a.FreeTx(slot)
	})
}
