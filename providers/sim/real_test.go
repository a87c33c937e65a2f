//go:build cgo

package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/providers"
	"golnx/providers/ofi"
)

// The contract is that of libfabric's providers, so they pass the same tests.
func init() {
	for _, name := range []string{"shm", "tcp"} {
		kinds = append(kinds, kind{name, func(t *testing.T) func(providers.Owner) (providers.Core, error) {
			return func(o providers.Owner) (providers.Core, error) {
				return opened(ofi.Open([]*ofi.Info{localInfo(t, name)}, o, ofi.Options{MaxRx: 1024, MaxTx: 1024}))
			}
		}})
	}
}

// localInfo is the provider's way to this node.
func localInfo(t *testing.T, name string) *ofi.Info {
	traits, ok := providers.Lookup(name)
	require.True(t, ok)
	infos, err := ofi.Discover(traits, ofi.Hints(traits))
	require.NoError(t, err)
	for _, info := range infos {
		info.Fetch = providers.Sizes{} // the linear owner is no user of providers.Fetcher
		if traits.NodeLocal || info.Domain == "lo" && info.AddrFormat == providers.AddrSockaddrIn {
			return info
		}
	}
	require.Fail(t, "no domain for this node", "provider %s", name)
	return nil
}
