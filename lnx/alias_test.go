package lnx

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func env(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
}

func TestParseAliases(t *testing.T) {
	got, err := parseAliases(" cxi0=lo, cxi1 = eth0")
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"cxi0": "lo", "cxi1": "eth0"}, got)
	for _, bad := range []string{"", "cxi0", "=lo", "cxi0=", "a=b,", "a=b,a=c", "a=b=c"} {
		_, err := parseAliases(bad)
		assert.Error(t, err, "%q", bad)
	}
}

func TestAliasedLink(t *testing.T) {
	listing, err := Links(Options{Lookup: env(map[string]string{
		"FI_LNX_PROV_LINKS":  "shm+cxi:cxi0",
		"LNX_PROVIDER_ALIAS": "cxi=tcp;ofi_rxm",
		"LNX_DOMAIN_ALIAS":   "cxi0=lo",
	})})
	require.NoError(t, err)
	link := listing.Links[0]
	assert.Equal(t, "shm+tcp;ofi_rxm:lo", link.Name, "what it really is")
	require.Len(t, link.Rails, 2)
	assert.Equal(t, "shm", link.Rails[0].Name())
	assert.Equal(t, "cxi:cxi0=tcp;ofi_rxm:lo", link.Rails[1].Name())
	assert.Equal(t, "cxi", listing.LeftOut[0].What, "the listing says so: %v", listing.LeftOut)

	_, err = Links(Options{Links: "cxi:cxi0", Lookup: env(map[string]string{"LNX_DOMAIN_ALIAS": "cxi0"})})
	assert.ErrorContains(t, err, "LNX_DOMAIN_ALIAS")
}
