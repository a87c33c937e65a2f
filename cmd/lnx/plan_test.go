package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlanOfDescribedMachine(t *testing.T) {
	got := within(t, strings.Fields("plan --machine testdata/two_nics.machine --links shm+cxi --policy PER_MSG --messages 3")...)
	require.Zero(t, got.code, got.stderr)
	requireGolden(t, "plan.golden", got.stdout)
}

func TestPlanTakesFirstLinkThatIsThere(t *testing.T) {
	got := within(t, strings.Fields("plan --machine testdata/two_nics.machine --links verbs|cxi:cxi1 --messages 1 --json")...)
	require.Zero(t, got.code, got.stderr)
	var out struct {
		Link, Policy string
		Picks        []pickJSON
		Rails        []railLoad
	}
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &out))
	require.Equal(t, "cxi:cxi1", out.Link)
	require.Equal(t, "PER_PEER", out.Policy)
	require.Len(t, out.Picks, 2)
	require.Equal(t, []railLoad{{"cxi:cxi1", 2}}, out.Rails)
}

func TestPlanOfThisMachine(t *testing.T) {
	got := within(t, strings.Fields("plan --links shm+tcp:lo --peers 3 --local --messages 2")...)
	require.Zero(t, got.code, got.stderr)
	require.Regexp(t, `shm +│ +6 │`, got.stdout)
	require.Contains(t, got.stdout, "shared memory takes all traffic inside a node")
}

// A link that this machine cannot open is planned as it is written.
func TestPlanOfAnotherMachine(t *testing.T) {
	got := within(t, strings.Fields("plan --links shm+cxi:cxi0,cxi1 --policy PER_MSG --peers 2 --messages 8 --json")...)
	require.Zero(t, got.code, got.stderr)
	require.Equal(t, "lnx: cxi is not on this machine; planning as if it were\n", got.stderr)
	var out struct{ Rails []railLoad }
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &out))
	require.Equal(t, []railLoad{{"shm", 0}, {"cxi:cxi0", 8}, {"cxi:cxi1", 8}}, out.Rails)

	// What is here is as it is here.
	got = within(t, strings.Fields("plan --links shm+tcp+cxi:cxi0 --peers 1 --messages 1 --json")...)
	require.Zero(t, got.code, got.stderr)
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &out))
	require.Equal(t, "shm", out.Rails[0].Name)
	require.Contains(t, out.Rails[1].Name, "tcp;ofi_rxm:")
	require.Equal(t, "cxi:cxi0", out.Rails[len(out.Rails)-1].Name)

	for links, want := range map[string]string{
		"shm+cxi":             "name its domains (cxi:DOMAIN,DOMAIN), or give --machine",
		"cxi":                 "provider cxi offers nothing",
		"shm+nox:nox0":        `provider "nox" is unknown`,
		"shm+tcp:lx+cxi:cxi0": `has no domain "lx"`,
	} {
		got := within(t, "plan", "--links", links)
		require.Equal(t, exitFailed, got.code, links)
		require.Contains(t, got.stderr, want, links)
	}
}

// Of a case file, the machine is taken.
func TestPlanOfCaseFile(t *testing.T) {
	got := within(t, strings.Fields("plan --machine ../../testdata/rail/rail_down_per_peer.rail --links cxi --policy PER_MSG --messages 3 --json")...)
	require.Zero(t, got.code, got.stderr)
	var out struct {
		Policy string
		Picks  []pickJSON
	}
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &out))
	require.Equal(t, "PER_MSG", out.Policy)
	var rails []string
	for _, p := range out.Picks {
		require.Empty(t, p.Error)
		if p.Peer == "A" {
			rails = append(rails, p.Rail)
		}
	}
	require.Equal(t, []string{"cxi:cxi0", "cxi:cxi1", "cxi:cxi2"}, rails)
}

func TestPlanErrors(t *testing.T) {
	for _, c := range []struct {
		args, want string
		code       int
	}{
		{"--machine testdata/two_nics.machine --links tcp", "the machine has shm, cxi:cxi0, cxi:cxi1", exitFailed},
		{"--machine testdata/two_nics.machine --links cxi --peers 3", "the machine file has its own", exitUsage},
		{"--machine testdata/two_nics.machine", "no link to plan for", exitUsage},
		{"", "set FI_LNX_PROV_LINKS, as in FI_LNX_PROV_LINKS='shm+tcp', or give --links\n", exitFailed},
		{"--machine plan_test.go --links shm", "plan_test.go", exitFailed},
	} {
		got := within(t, append([]string{"plan"}, strings.Fields(c.args)...)...)
		require.Equal(t, c.code, got.code, got.stderr)
		require.Contains(t, got.stderr, c.want)
	}
}

// The command of the README, on a machine without cxi.
func TestPlanOfReadme(t *testing.T) {
	args := strings.Fields("plan --links shm+cxi:cxi0,cxi1 --policy PER_MSG --peers 2 --messages 8")
	got := within(t, args...)
	require.Zero(t, got.code, got.stderr)
	require.Equal(t, "lnx: cxi is not on this machine; planning as if it were\n", got.stderr)
	requireGolden(t, "plan_cxi.golden", got.stdout)

	got = within(t, append(args, "--json")...)
	require.Zero(t, got.code, got.stderr)
	requireGolden(t, "plan_cxi_json.golden", got.stdout)
}
