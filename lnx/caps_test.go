package lnx

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/mr"
	"golnx/providers/fiinfo"
	"golnx/rail/intercept"
)

// without is a consumer that does not ask a provider for capabilities, which then has not
// got them.
func without(provider string, caps Caps) *intercept.Hooks {
	return &intercept.Hooks{GetInfo: func(c *intercept.GetInfo, next func(*intercept.GetInfo) error) error {
		if c.Provider == provider {
			c.Hints.Caps &^= fiinfo.Caps(caps)
		}
		return next(c)
	}}
}

// What a rail cannot do is an error when the link is looked for, which names the rail as
// the spec does, with its provider's full name, and the bit as libfabric does.
func TestLackingRailIsNamed(t *testing.T) {
	cxi := Options{Links: "shm+cxi:cxi0,cxi1", ProviderAlias: map[string]string{"cxi": "tcp;ofi_rxm"}, DomainAlias: map[string]string{"cxi0": "lo", "cxi1": "lo"}}
	for _, c := range []struct {
		opts Options
		caps Caps
		lost Caps   // by the rails of provider
		of   string // provider
		want string
	}{
		{Options{Links: "shm+tcp:lo"}, CapRMAEvent, 0, "", "rail tcp;ofi_rxm:lo cannot do FI_RMA_EVENT"},
		{Options{Links: "shm+tcp:lo"}, CapAtomic | CapRMAEvent, 0, "", "rail tcp;ofi_rxm:lo cannot do FI_RMA_EVENT"},
		{Options{Links: "tcp:lo", Direct: true}, CapAtomic, 0, "", "rail tcp:lo cannot do FI_ATOMIC"},
		{cxi, CapRMAEvent, 0, "", "rail cxi:cxi0=tcp;ofi_rxm:lo cannot do FI_RMA_EVENT"},

		{Options{Links: "shm+tcp:lo"}, CapRMA, CapRMA, "shm", "rail shm cannot do FI_RMA,"},
		{Options{Links: "shm+tcp:lo"}, CapRMA, CapRMA, "tcp;ofi_rxm", "rail tcp;ofi_rxm:lo cannot do FI_RMA,"},
		{Options{Links: "shm+tcp:lo"}, CapAtomic, CapAtomic, "shm", "rail shm cannot do FI_ATOMIC"},
		{Options{Links: "shm+tcp:lo"}, CapAtomic, CapAtomic, "tcp;ofi_rxm", "rail tcp;ofi_rxm:lo cannot do FI_ATOMIC"},
		{Options{Links: "tcp:lo", Direct: true}, CapRMA, CapRMA, "tcp", "rail tcp:lo cannot do FI_RMA,"},
		{Options{Links: "shm+tcp:lo"}, 0, CapTagged, "tcp;ofi_rxm", "rail tcp;ofi_rxm:lo cannot do FI_TAGGED"},
		{Options{Links: "shm+tcp:lo"}, CapAtomic, CapRMA | CapAtomic, "shm", "rail shm cannot do FI_RMA|FI_ATOMIC"},
		{cxi, CapAtomic, CapAtomic, "tcp;ofi_rxm", "rail cxi:cxi0=tcp;ofi_rxm:lo cannot do FI_ATOMIC"},
	} {
		c.opts.Caps, c.opts.Lookup = c.caps, env(nil)
		if c.lost != 0 {
			c.opts.Hooks = []*intercept.Hooks{without(c.of, c.lost)}
		}
		listing, err := Links(c.opts)
		require.ErrorIs(t, err, ErrNoLinks, c.want)
		require.ErrorIs(t, err, ErrNotSupported, c.want)
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, "leave the rail or the capability out")
		require.Empty(t, listing.Links)
	}
	_, err := Links(Options{Links: "shm", Caps: 1 << 22, Lookup: env(nil)})
	require.ErrorContains(t, err, "Options.Caps has 0x400000: CapTagged")
	_, err = Links(Options{Links: "shm", Caps: Caps(fiinfo.Caps(1 << 5)), Lookup: env(nil)})
	require.ErrorContains(t, err, "Options.Caps has FI_MULTICAST: CapTagged")
}

// A call for what the link was not asked for, or a rail cannot, says which rail and which
// bit; each is ErrNotSupported, of this package and of mr.
func TestLackingCallIsNamed(t *testing.T) {
	notSupported := func(err error, texts ...string) {
		t.Helper()
		require.ErrorIs(t, err, ErrNotSupported)
		require.ErrorIs(t, err, mr.ErrNotSupported)
		for _, text := range texts {
			require.ErrorContains(t, err, text)
		}
	}
	plain := opened(t, Options{Links: "shm+tcp:lo"})
	const link = "shm+tcp;ofi_rxm:lo"
	_, err := plain.Register(make([]byte, 8), mr.RemoteRead)
	notSupported(err, link, "FI_RMA")
	require.ErrorIs(t, err, ErrNoRMA)
	_, err = plain.RegisterMemory(mr.Memory{}, mr.RemoteRead)
	notSupported(err, link, "FI_RMA")
	_, err = plain.Import(0, nil)
	notSupported(err, link, "FI_RMA")
	one := []byte{1}
	for call, err := range map[string]error{
		"Read": plain.Read(one, nil, 0, nil), "ReadMsg": plain.ReadMsg(&RMAMsg{}, 0),
		"Write": plain.Write(one, nil, 0, nil), "WriteMsg": plain.WriteMsg(&RMAMsg{}, 0),
		"InjectWrite": plain.InjectWrite(one, nil, 0), "WriteData": plain.WriteData(one, 1, nil, 0, nil),
	} {
		notSupported(err, call+" over "+link, "FI_RMA")
	}
	for call, err := range map[string]error{
		"Atomic":      plain.Atomic(one, nil, 0, Uint8, AtomicSum, nil),
		"FetchAtomic": plain.FetchAtomic(one, one, nil, 0, Uint8, AtomicSum, nil),
		"AtomicMsg":   plain.AtomicMsg(&AtomicMsg{}, 0),
	} {
		notSupported(err, call+" over "+link, "FI_ATOMIC")
		require.ErrorIs(t, err, ErrNoAtomic)
	}
	_, err = plain.FetchAtomicValid(Uint64, AtomicSum)
	notSupported(err, link, "FI_ATOMIC")

	for _, c := range []struct{ links, rail string }{{"shm", "shm"}, {"tcp:lo", "tcp;ofi_rxm:lo"}} {
		ep := opened(t, Options{Links: c.links, Caps: CapAtomic})
		for _, events := range []Events{EventRemoteRead, EventSend | EventRemoteWrite} {
			_, err = ep.OpenCounter(events)
			notSupported(err, "rail "+c.rail+" does not count", "FI_RMA_EVENT", "CapRMAEvent")
		}
		_, err = ep.AtomicValid(Uint128, AtomicSum)
		notSupported(err, "rail "+c.rail+" has no SUM of UINT128")
		_, err = ep.CompareAtomicValid(Float64, AtomicMSwap)
		notSupported(err, "rail "+c.rail+" has no MSWAP of DOUBLE")
		_, err = ep.RegisterMemory(mr.Memory{Len: 4096, Iface: mr.CUDA, DMABuf: &mr.DMABuf{FD: 9}}, mr.RemoteRead)
		notSupported(err, "rail "+c.rail, "FI_HMEM")
	}

	direct := opened(t, Options{Links: "tcp:lo", Direct: true})
	notSupported(direct.MRecv(one, AddrUnspec, nil), "rail tcp:lo", "FI_MSG")

	lesser := opened(t, Options{Links: "shm+tcp:lo", Caps: CapRMA})
	for i := range lesser.link.Rails { // as a provider that does not offer what these two do
		lesser.link.Rails[i].Levels &^= uint64(FlagDeliveryComplete) * uint64(i)
	}
	lesser.link.Info.Levels &^= uint64(FlagDeliveryComplete)
	notSupported(lesser.WriteMsg(&RMAMsg{}, FlagDeliveryComplete), "rail tcp;ofi_rxm:lo", fmt.Sprint(FlagDeliveryComplete))
}

// Memory of a closed endpoint says that the endpoint is closed.
func TestMemoryOfClosedEndpoint(t *testing.T) {
	ep := opened(t, Options{Links: "shm", Caps: CapRMA})
	region, err := ep.Register(make([]byte, 64), mr.RemoteRead)
	require.NoError(t, err)
	require.NoError(t, ep.Close())
	_, err = region.RemoteKey()
	require.ErrorIs(t, err, ErrClosed)
	_, err = ep.Register(make([]byte, 64), mr.RemoteRead)
	require.ErrorIs(t, err, ErrClosed)
	_, err = ep.Import(0, nil)
	require.Error(t, err)
	require.NoError(t, region.Close())
}
