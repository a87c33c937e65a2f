package linkspec_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/linkspec"
)

// lookupIn makes a map look like the environment.
func lookupIn(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := vars[name]
		return value, ok
	}
}

// checkEnv asserts all that holds for the outcome of FromEnv: it fails just when a
// variable is wrong alone, reports each such variable once, and is zero then.
func checkEnv(t require.TestingT, vars map[string]string) {
	var wrong []string
	for _, name := range []string{
		linkspec.EnvProvLinks, linkspec.EnvMultiRailSelection, linkspec.EnvDisableShm, linkspec.EnvDumpStats,
	} {
		value, ok := vars[name]
		if !ok {
			continue
		}
		if _, err := linkspec.FromEnv(lookupIn(map[string]string{name: value})); err != nil {
			wrong = append(wrong, name)
		}
	}
	env, err := linkspec.FromEnv(lookupIn(vars))
	if len(wrong) == 0 {
		require.NoError(t, err)
		return
	}
	require.Zero(t, env)
	var named []string
	for _, e := range joined(t, err) {
		named = append(named, e.Name)
		require.Equal(t, vars[e.Name], e.Value)
		require.True(t, strings.HasPrefix(e.Error(), e.Name+": "), e.Error())
		require.Less(t, len(e.Error()), 1000)
	}
	require.Equal(t, wrong, named)
}

// joined returns the errors that FromEnv joined.
func joined(t require.TestingT, err error) []*linkspec.EnvError {
	join, ok := err.(interface{ Unwrap() []error })
	require.True(t, ok, "a joined error, not %T", err)
	var out []*linkspec.EnvError
	for _, e := range join.Unwrap() {
		env, ok := e.(*linkspec.EnvError)
		require.True(t, ok, "an EnvError, not %T", e)
		out = append(out, env)
	}
	return out
}

func TestFromEnvUnset(t *testing.T) {
	var asked []string
	env, err := linkspec.FromEnv(func(name string) (string, bool) {
		asked = append(asked, name)
		return "ignored, not set", false
	})
	require.NoError(t, err)
	require.Zero(t, env)
	require.Equal(t, linkspec.PerPeer, env.Selection)
	require.ElementsMatch(t, []string{
		"FI_LNX_PROV_LINKS", "FI_LNX_MULTI_RAIL_SELECTION", "FI_LNX_DISABLE_SHM", "FI_LNX_DUMP_STATS",
	}, asked)
}

func TestFromEnvSet(t *testing.T) {
	env, err := linkspec.FromEnv(lookupIn(map[string]string{
		"FI_LNX_PROV_LINKS":           " shm + cxi:cxi0 ",
		"FI_LNX_MULTI_RAIL_SELECTION": "PER_MSG",
		"FI_LNX_DISABLE_SHM":          "yes",
		"FI_LNX_DUMP_STATS":           "0",
	}))
	require.NoError(t, err)
	require.Equal(t, linkspec.Env{
		Links: linkspec.Spec{{Members: []linkspec.Member{
			{Provider: "shm"}, {Provider: "cxi", Domains: []string{"cxi0"}},
		}}},
		LinksSet:   true,
		Selection:  linkspec.PerMsg,
		DisableShm: true,
	}, env)
}

// Each variable lands in its own field.
func TestFromEnvOneByOne(t *testing.T) {
	for name, want := range map[string]linkspec.Env{
		"FI_LNX_PROV_LINKS":           {LinksSet: true, Links: linkspec.Spec{{Members: []linkspec.Member{{Provider: "1"}}}}},
		"FI_LNX_DISABLE_SHM":          {DisableShm: true},
		"FI_LNX_DUMP_STATS":           {DumpStats: true},
		"FI_LNX_MULTI_RAIL_SELECTION": {},
	} {
		env, err := linkspec.FromEnv(lookupIn(map[string]string{name: "1"}))
		if name == "FI_LNX_MULTI_RAIL_SELECTION" {
			require.Error(t, err)
		} else {
			require.NoError(t, err, name)
		}
		require.Equal(t, want, env, name)
	}
}

func TestFromEnvSelection(t *testing.T) {
	for value, want := range map[string]linkspec.Selection{
		"PER_PEER": linkspec.PerPeer, "PER_MSG": linkspec.PerMsg,
	} {
		env, err := linkspec.FromEnv(lookupIn(map[string]string{linkspec.EnvMultiRailSelection: value}))
		require.NoError(t, err)
		require.Equal(t, want, env.Selection)
		require.Equal(t, value, env.Selection.String())
		// C LNX takes any case, and a part that begins the name.
		for i := len("PER_x"); i <= len(value); i++ {
			for _, part := range []string{value[:i], strings.ToLower(value[:i])} {
				got, err := linkspec.ParseSelection(part)
				require.NoError(t, err)
				require.Equal(t, want, got, part)
			}
		}
	}
	for _, value := range []string{"", "P", "per", "PER_", "PER_MSG ", " PER_PEER", "PER_MSGS", "PER_RAIL", "0", "\x00"} {
		_, err := linkspec.FromEnv(lookupIn(map[string]string{linkspec.EnvMultiRailSelection: value}))
		require.ErrorContains(t, err, "FI_LNX_MULTI_RAIL_SELECTION: found ")
		require.ErrorContains(t, err, "expected PER_MSG or PER_PEER")
	}
	require.Equal(t, "Selection(7)", linkspec.Selection(7).String())
}

// The words are those of libfabric's FI_PARAM_BOOL: any case, no spaces.
func TestFromEnvBooleans(t *testing.T) {
	words := map[string]bool{
		"1": true, "true": true, "yes": true, "on": true, "TRUE": true, "Yes": true, "oN": true,
		"0": false, "false": false, "no": false, "off": false, "False": false, "NO": false, "OFF": false,
	}
	for _, name := range []string{linkspec.EnvDisableShm, linkspec.EnvDumpStats} {
		for value, want := range words {
			env, err := linkspec.FromEnv(lookupIn(map[string]string{name: value}))
			require.NoError(t, err, value)
			require.Equal(t, want, env.DisableShm || env.DumpStats, value)
		}
		for _, value := range []string{"", "2", "-1", "00", "01", "t", "f", "y", "n", "enable", " 1", "1\n", "falſe", "YEſ", strings.Repeat("1", 1<<16)} {
			_, err := linkspec.FromEnv(lookupIn(map[string]string{name: value}))
			require.ErrorContains(t, err, name+": found ")
			require.ErrorContains(t, err, "expected 1, true, yes, on, 0, false, no or off")
			require.Less(t, len(err.Error()), 200)
		}
	}
}

func TestFromEnvReportsAll(t *testing.T) {
	vars := map[string]string{
		"FI_LNX_PROV_LINKS":           "shm+lnx",
		"FI_LNX_MULTI_RAIL_SELECTION": "nearest",
		"FI_LNX_DISABLE_SHM":          "maybe",
		"FI_LNX_DUMP_STATS":           "",
	}
	checkEnv(t, vars)
	_, err := linkspec.FromEnv(lookupIn(vars))
	require.EqualError(t, err, strings.Join([]string{
		`FI_LNX_PROV_LINKS: link spec, column 5: found provider "lnx", expected a provider to link: lnx cannot be a member of a link`,
		`  "shm+lnx"`,
		`       ^`,
		`FI_LNX_MULTI_RAIL_SELECTION: found "nearest", expected PER_MSG or PER_PEER; another policy is for Options.Policy`,
		`FI_LNX_DISABLE_SHM: found "maybe", expected 1, true, yes, on, 0, false, no or off`,
		`FI_LNX_DUMP_STATS: found "", expected 1, true, yes, on, 0, false, no or off`,
	}, "\n"))
	var syntax *linkspec.SyntaxError
	require.True(t, errors.As(err, &syntax))
	require.Equal(t, 5, syntax.Column)
}

// Set but empty is not unset.
func TestFromEnvEmptyLinks(t *testing.T) {
	_, err := linkspec.FromEnv(lookupIn(map[string]string{linkspec.EnvProvLinks: ""}))
	var env *linkspec.EnvError
	require.ErrorAs(t, err, &env)
	require.Equal(t, "FI_LNX_PROV_LINKS", env.Name)
	var syntax *linkspec.SyntaxError
	require.ErrorAs(t, env, &syntax)
	require.Equal(t, 1, syntax.Column)
}
