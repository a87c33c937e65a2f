package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// inPlaceOfCxi lets specs for two cxi NICs run over loopback.
func inPlaceOfCxi(t *testing.T) (said string) {
	t.Setenv("LNX_PROVIDER_ALIAS", "cxi=tcp;ofi_rxm")
	t.Setenv("LNX_DOMAIN_ALIAS", "cxi0=lo,cxi1=lo")
	return "lnx: ALIASES IN USE, FOR DEVELOPMENT ONLY: cxi is tcp;ofi_rxm, cxi0 is lo, cxi1 is lo\n"
}

// One loud line says that aliases are in use, and the rails that have other names than
// they are given show both.
func TestInfoMarksAliases(t *testing.T) {
	const spec = "shm+cxi:cxi0|shm+cxi:cxi1"
	said := inPlaceOfCxi(t)
	got := execute(t, "info", "--links", spec)
	require.Equal(t, outcome{got.stdout, said, 0}, got)
	for _, line := range []string{
		`│ shm +│ shm +│ shm +│ shm +│`,
		`│ cxi:cxi0=tcp;ofi_rxm:lo +│ tcp;ofi_rxm +│ 127\.0\.0\.1/32 +│ lo +│`,
		`│ cxi:cxi1=tcp;ofi_rxm:lo +│ tcp;ofi_rxm +│ 127\.0\.0\.1/32 +│ lo +│`,
		`note: cxi is an alias of tcp;ofi_rxm(?s:.*)note: cxi is an alias of tcp;ofi_rxm`,
	} {
		require.Regexp(t, `(?m)^`+line, got.stdout)
	}

	got = execute(t, "info", "--links", spec, "--json")
	require.Equal(t, outcome{got.stdout, said, 0}, got)
	var out struct {
		Links []struct {
			Notes []struct{ What, Reason string }
			Rails []struct{ Name, Alias, Provider, Domain string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &out))
	require.Len(t, out.Links, 2)
	for i, nic := range []string{"cxi:cxi0", "cxi:cxi1"} {
		rails := out.Links[i].Rails
		require.Len(t, rails, 2)
		require.Empty(t, rails[0].Alias)
		require.Equal(t, struct{ Name, Alias, Provider, Domain string }{nic + "=tcp;ofi_rxm:lo", nic, "tcp;ofi_rxm", "lo"}, rails[1])
		require.Contains(t, out.Links[i].Notes, struct{ What, Reason string }{"cxi", "is an alias of tcp;ofi_rxm"})
	}
}

// Without aliases nothing is said, and cxi is not there.
func TestInfoWithoutAliases(t *testing.T) {
	got := execute(t, "info", "--links", "shm+tcp:lo")
	require.Equal(t, outcome{got.stdout, "", 0}, got)
	require.NotContains(t, got.stdout, "alias")
	require.NotContains(t, got.stdout, "=")
}

// One line, however often the command looks for links.
func TestAliasesAreSaidOnce(t *testing.T) {
	said := inPlaceOfCxi(t)
	got := execute(t, "plan", "--links", "shm+cxi:cxi0+verbs:mlx5_0", "--messages", "1")
	require.Zero(t, got.code, got.stderr)
	require.Equal(t, said+"lnx: verbs is not on this machine; planning as if it were\n", got.stderr)
}

// The plan is made for the rails that stand in, and says so.
func TestPlanOfAliases(t *testing.T) {
	said := inPlaceOfCxi(t)
	t.Setenv("LNX_DOMAIN_ALIAS", "cxi0=lo")
	said = strings.ReplaceAll(said, ", cxi1 is lo", "")
	got := execute(t, "plan", "--links", "shm+cxi:cxi0", "--peers", "1", "--messages", "3", "--json")
	require.Equal(t, outcome{got.stdout, said, 0}, got)
	var out struct{ Rails []railLoad }
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &out))
	require.Equal(t, []railLoad{{"shm", 0}, {"cxi:cxi0=tcp;ofi_rxm:lo", 3}}, out.Rails)
}
