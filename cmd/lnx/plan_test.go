package main

import (
	"encoding/json"
	"os"
	"path/filepath"
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

// What the file says itself is planned: flags come before it, the environment after.
func TestPlanOfFileAlone(t *testing.T) {
	const machine = "domain shm node-local\ndomain cxi:cxi0\ndomain cxi:cxi1\npeer A local shm cxi:cxi0\n"
	t.Setenv("FI_LNX_PROV_LINKS", "shm+") // not asked for
	t.Setenv("FI_LNX_MULTI_RAIL_SELECTION", "nonsense")
	file := filepath.Join(t.TempDir(), "m")
	for _, c := range []struct{ lines, flags, link, policy, rail string }{
		{"link shm+cxi\npolicy per_msg", "", "shm+cxi", "PER_MSG", "shm"},
		{"link shm+cxi\npolicy PER_MSG\nshm off\nseed 1", "", "shm+cxi", "PER_MSG", "cxi:cxi1"},
		{"link shm|cxi:cxi1\nuse 2\npolicy NEAREST", "", "cxi:cxi1", "NEAREST", "cxi:cxi1"},
		{"link shm+cxi\npolicy PER_MSG\nseed 1", "--links=cxi --policy=weighted --seed=0", "cxi", "WEIGHTED", "cxi:cxi0"},
	} {
		require.NoError(t, os.WriteFile(file, []byte(machine+c.lines+"\n"), 0o666))
		got := within(t, append([]string{"plan", "--json", "--messages=1", "--machine=" + file}, strings.Fields(c.flags)...)...)
		require.Zero(t, got.code, got.stderr)
		var out struct {
			Link, Policy string
			Picks        []pickJSON
		}
		require.NoError(t, json.Unmarshal([]byte(got.stdout), &out))
		require.Equal(t, []string{c.link, c.policy, c.rail}, []string{out.Link, out.Policy, out.Picks[0].Rail}, c.lines+c.flags)
	}

	require.NoError(t, os.WriteFile(file, []byte(machine+"link shm\nuse 2\npolicy PER_MSG\n"), 0o666))
	require.Contains(t, within(t, "plan", "--machine", file).stderr, "use 2: there is no such link in shm")
	require.NoError(t, os.WriteFile(file, []byte(machine+"link shm+cxi\n"), 0o666))
	require.Contains(t, within(t, "plan", "--machine", file).stderr, `FI_LNX_MULTI_RAIL_SELECTION: found "nonsense", expected PER_MSG or PER_PEER; another policy is for --policy, which takes NEAREST, PER_MSG,`)
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
