package lnx

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What a rail is said to be able to do can be asked for, and nothing else.
func TestGrantable(t *testing.T) {
	for _, opts := range []Options{{Links: "shm"}, {Links: "tcp:lo"}, {Links: "tcp:lo", Direct: true}} {
		opts.Lookup = env(nil)
		listing, err := Links(opts)
		require.NoError(t, err)
		link := listing.Links[0]
		require.Zero(t, link.Rails[0].Caps&CapRMA, "it was not asked for")
		could, err := link.Grantable()
		require.NoError(t, err)
		require.Len(t, could, 1)
		for _, more := range []Caps{CapTagged, CapRMA, CapAtomic, CapRMAEvent} {
			opts.Caps = more
			_, err := Links(opts)
			require.Equal(t, err == nil, could[0]&more == more && (more == CapTagged || could[0]&CapRMA != 0), "%s, direct %v: %v: %v", link.Name, opts.Direct, more, err)
		}
	}

	listing, err := Links(Options{Links: "shm+tcp:lo", Caps: CapRMA, Lookup: env(nil)})
	require.NoError(t, err)
	could, err := listing.Links[0].Grantable()
	require.NoError(t, err)
	require.Equal(t, CapRMA|CapAtomic, could[0]&(CapRMA|CapAtomic))
	require.Equal(t, CapRMA|CapAtomic, could[1]&(CapRMA|CapAtomic))
}
