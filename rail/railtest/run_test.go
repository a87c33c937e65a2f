package railtest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/linkspec"
	"golnx/rail"
	"golnx/rail/railtest"
)

// recorder is a T that remembers.
type recorder struct{ errors, fatal []string }

func (*recorder) Helper()                     {}
func (r *recorder) Errorf(f string, a ...any) { r.errors = append(r.errors, fmt.Sprintf(f, a...)) }
func (r *recorder) Fatalf(f string, a ...any) { r.fatal = append(r.fatal, fmt.Sprintf(f, a...)) }

// namedRecorder has a name, as a *testing.T.
type namedRecorder struct {
	recorder
	name string
}

func (r *namedRecorder) Name() string { return r.name }

func parse(t *testing.T, text string) railtest.Case {
	t.Helper()
	c, err := railtest.Parse("c", text)
	require.NoError(t, err)
	return c
}

func TestRunReportsEveryDifference(t *testing.T) {
	c := parse(t, `
domain cxi:cxi0
domain cxi:cxi1
peer A cxi:cxi0
peer N tcp:eth0
link cxi
policy PER_MSG
send A x3
  -> cxi:cxi0 to cxi:cxi0
  -> cxi:cxi0 to cxi:cxi0
  -> cxi:cxi0 to cxi:cxi0 | PER_MSG: luck
send A
send A
  -> cxi:cxi0 to cxi:cxi0
  -> cxi:cxi1 to cxi:cxi0
send N
  -> cxi:cxi0 to tcp:eth0
`)
	var r recorder
	railtest.Run(&r, c)
	require.Empty(t, r.fatal)
	require.Equal(t, []string{
		"c:8: send A x3: message 2:\n  expected cxi:cxi0 to cxi:cxi0\n  picked   cxi:cxi1 to cxi:cxi0",
		"c:8: send A x3: message 3:\n  expected cxi:cxi0 to cxi:cxi0 | PER_MSG: luck\n  picked   cxi:cxi0 to cxi:cxi0 | PER_MSG: the turn of this rail (1 of 2 that reach the peer) and of this address (1 of 1)",
		"c:12: send A: 0 picks expected, one for each message, and 1 made",
		"c:13: send A: 2 picks expected, one for each message, and 1 made",
		"c:16: send N: message 1:\n  expected cxi:cxi0 to tcp:eth0\n  picked   error: peer N: no rail reaches the peer: it has tcp:eth0, the local rails are cxi:cxi0, cxi:cxi1",
	}, r.errors)
}

func TestUpdateKeepsAllElse(t *testing.T) {
	const before = `# kept
  domain   cxi:cxi0
domain cxi:cxi1

peer A cxi:cxi0
link cxi
send A x2
  -> stale
# kept too
down cxi:cxi0
send A
    -> stale
    -> stale`
	const after = `# kept
  domain   cxi:cxi0
domain cxi:cxi1

peer A cxi:cxi0
link cxi
send A x2
  -> cxi:cxi0 to cxi:cxi0
  -> cxi:cxi0 to cxi:cxi0
# kept too
down cxi:cxi0
send A
  -> cxi:cxi1 to cxi:cxi0
`
	got, err := railtest.Update("c", before)
	require.NoError(t, err)
	require.Equal(t, after, got)

	path := filepath.Join(t.TempDir(), "c.rail")
	require.NoError(t, os.WriteFile(path, []byte(before), 0o644))
	var stale recorder
	railtest.RunFile(&stale, path, false)
	require.Len(t, stale.errors, 5)
	require.Equal(t, fmt.Sprintf("if the picks are as they should be, write them into %s: go test -update", path), stale.errors[4])
	named := namedRecorder{name: "TestRails"}
	railtest.RunFile(&named, path, false)
	require.Len(t, named.errors, 5)
	require.Contains(t, named.errors[4], "go test -run '^TestRails$' -update")
	var r recorder
	railtest.RunFile(&r, path, true)
	require.Equal(t, recorder{}, r)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, after, string(text))
}

func TestRunFileFailsOnWhatItCannotRead(t *testing.T) {
	for _, update := range []bool{false, true} {
		var r recorder
		railtest.RunFile(&r, filepath.Join(t.TempDir(), "none.rail"), update)
		require.Len(t, r.fatal, 1)
		path := filepath.Join(t.TempDir(), "bad.rail")
		require.NoError(t, os.WriteFile(path, []byte("lnk shm"), 0o644))
		r = recorder{}
		railtest.RunFile(&r, path, update)
		require.Len(t, r.fatal, 1)
		require.Contains(t, r.fatal[0], "bad.rail:1:")
	}
}

func TestSimulateRefusesStepsWithoutSense(t *testing.T) {
	const head = "domain shm node-local\ndomain cxi:cxi0\npeer A cxi:cxi0 cxi:cxi1\nlink shm+cxi\n"
	for step, want := range map[string]string{
		"send B":                        `line 5: peer "B" is not among the peers`,
		"recv B cxi:cxi0 from shm":      `line 5: peer "B" is not among the peers`,
		"recv A cxi:cxi1 from cxi:cxi0": `line 5: rail "cxi:cxi1" is not in the link: its rails are shm, cxi:cxi0`,
		"recv A shm from cxi:cxi0":      "line 5: no message from A's cxi:cxi0 can come in over shm",
		"recv A cxi:cxi0 from cxi:no":   "line 5: no message from A's cxi:no can come in over cxi:cxi0",
		"down cxi":                      `line 5: rail "cxi" is not in the link`,
		"send A x100000\nsend A":        "line 6: more than 100000 messages",
	} {
		c := parse(t, head+step+"\n")
		_, err := c.Simulate()
		require.ErrorContains(t, err, want)
		var r recorder
		railtest.Run(&r, c)
		require.Equal(t, []string{err.Error()}, r.fatal)
	}
	_, err := railtest.Simulate(nil, nil, rail.Options{}, nil)
	require.ErrorContains(t, err, "at least one rail")
	_, err = railtest.Simulate([]rail.Info{{Name: "x"}}, nil, rail.Options{}, []railtest.Step{{Peer: "A"}})
	require.ErrorContains(t, err, `step 1: peer "A" is not among the peers`)
}

func TestRailsOfALink(t *testing.T) {
	m, err := railtest.ParseMachine("m", `
domain tcp;ofi_rxd:eth9
domain cxi:cxi1
domain cxi:cxi0
domain shm node-local
domain tcp;ofi_rxm:eth0
domain udp;ofi_rxd:eth0
domain tcp;ofi_rxd:eth8
`)
	require.NoError(t, err)
	for link, want := range map[string][]string{
		"shm+cxi":           {"shm", "cxi:cxi1", "cxi:cxi0"},
		"cxi:cxi0,cxi1+shm": {"cxi:cxi0", "cxi:cxi1", "shm"},
		"OFI_RXM;tcp":       {"tcp;ofi_rxm:eth0"},
		"tcp":               {"tcp;ofi_rxd:eth9", "tcp;ofi_rxd:eth8"}, // the first that layers over it
		"udp:eth0":          {"udp;ofi_rxd:eth0"},
		"cxi:cxi7":          {"no domain cxi7 of provider cxi: the machine has tcp;ofi_rxd:eth9, cxi:cxi1"},
		"verbs":             {"no domain of provider verbs: the machine has tcp;ofi_rxd:eth9, cxi:cxi1"},
	} {
		spec, err := linkspec.Parse(link)
		require.NoError(t, err)
		rails, err := m.Rails(spec[0], false)
		if err != nil {
			require.Len(t, want, 1, "%v", err)
			require.ErrorContains(t, err, want[0])
			continue
		}
		var names []string
		for i, r := range rails {
			require.Equal(t, i, r.Index)
			names = append(names, r.Name)
		}
		require.Equal(t, want, names, link)
	}
	spec, err := linkspec.Parse("shm")
	require.NoError(t, err)
	_, err = m.Rails(spec[0], true)
	require.ErrorContains(t, err, "no rail is left without shared memory")
	_, err = (&railtest.Machine{}).Rails(spec[0], false)
	require.ErrorContains(t, err, "the machine has none")
}

// An error of the rails names the peer as the case does, and is still that error.
func TestAllDownNamesThePeer(t *testing.T) {
	c := parse(t, "domain cxi:cxi0\npeer A cxi:cxi0\npeer B cxi:cxi0\nlink cxi\ndown cxi:cxi0\nsend B\n")
	picks, err := c.Simulate()
	require.NoError(t, err)
	require.Len(t, picks, 1)
	require.ErrorIs(t, picks[0].Err, rail.ErrAllDown)
	require.ErrorContains(t, picks[0].Err, "peer B: every rail that reaches it is down: rail 0 (cxi:cxi0) is down")
	require.NotContains(t, picks[0].String(), "peer 1")
}

func TestUseOfALinkThatIsNotThere(t *testing.T) {
	c := parse(t, "domain shm\nlink shm\nuse 2\n")
	_, err := c.Simulate()
	require.EqualError(t, err, `railtest: c: cannot use link 2: "shm" has 1`)
	c = railtest.Case{Name: "literal"}
	_, err = c.Simulate()
	require.ErrorContains(t, err, "railtest: literal: link spec")
}
