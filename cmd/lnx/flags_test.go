package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Two ranks opened a link of shm and tcp. The second one asked for other flags of its
// last endpoint, had no luck with cxi, and its file is cut.
const recordedFlags = "../../testdata/flags"

func TestFlags(t *testing.T) {
	got := within(t, "flags", recordedFlags)
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, got.stderr, "flags_rank1.jsonl: the last line is cut")
	require.Equal(t, 1, strings.Count(got.stderr, "\n"), got.stderr)
	requireGolden(t, "flags.golden", got.stdout)
}

func TestFlagsAll(t *testing.T) {
	some, all := within(t, "flags", recordedFlags), within(t, "flags", "--all", recordedFlags)
	require.Zero(t, all.code, all.stderr)
	granted := regexp.MustCompile(`│ ep_attr.type +│ FI_EP_RDM +│   │ FI_EP_RDM  `)
	unused := regexp.MustCompile(`│ domain_attr.max_ep_srx_ctx +│ +│   │ 0 `)
	require.Len(t, granted.FindAllString(all.stdout, -1), 4)
	require.Len(t, unused.FindAllString(all.stdout, -1), 4+2)
	require.NotContains(t, all.stdout, "but for")
	require.NotContains(t, some.stdout, "ep_attr.type")
	require.NotContains(t, some.stdout, "max_ep_srx_ctx")
	_, vain, ok := strings.Cut(all.stdout, "fi_getinfo of cxi: no answer\n")
	require.True(t, ok)
	require.Regexp(t, `│ ep_attr.type +│ FI_EP_RDM +│ ≠ │ FI_EP_UNSPEC`, vain)
}

type readStep struct {
	Rank            int
	Step, Provider  string
	Rail            *struct{ Link, Name string }
	Answer, Answers int
	Error           string
	Attributes      []readAttribute
}

type readAttribute struct {
	Name, Relation string
	Asked, Granted any
}

func flagsJSON(t *testing.T, args ...string) []readStep {
	t.Helper()
	var s struct{ Steps []readStep }
	got := within(t, append([]string{"flags", "--json", recordedFlags}, args...)...)
	require.Zero(t, got.code, got.stderr)
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &s))
	return s.Steps
}

func TestFlagsJSON(t *testing.T) {
	steps := flagsJSON(t)
	// Of each rank: shm, two of five answers of tcp, the rest, cxi; two steps of three rails.
	require.Len(t, steps, 2*(1+2+1+1+2*3))
	first := steps[0]
	require.Equal(t, "getinfo", first.Step)
	require.Equal(t, "shm", first.Provider)
	require.Nil(t, first.Rail)
	require.Equal(t, []int{1, 1}, []int{first.Answer, first.Answers})
	require.Equal(t, "caps", first.Attributes[0].Name)
	require.Equal(t, "more", first.Attributes[0].Relation)
	require.Equal(t, []any{"FI_MSG", "FI_TAGGED", "FI_PEER", "FI_SOURCE", "FI_DIRECTED_RECV"}, first.Attributes[0].Asked)
	require.Contains(t, first.Attributes[0].Granted, "FI_LOCAL_COMM")
	for _, a := range first.Attributes {
		require.NotEqual(t, "equal", a.Relation, a.Name)
	}

	last := steps[len(steps)-1]
	require.Equal(t, 1, last.Rank)
	require.Equal(t, "endpoint", last.Step)
	require.Equal(t, "shm+tcp", last.Rail.Link)
	require.Equal(t, "tcp;ofi_rxm:eth0", last.Rail.Name)
	i := slices.IndexFunc(last.Attributes, func(a readAttribute) bool { return a.Name == "tx_attr.inject_size" })
	require.Equal(t, "less", last.Attributes[i].Relation)
	require.EqualValues(t, 4096, last.Attributes[i].Asked)
	require.EqualValues(t, 64, last.Attributes[i].Granted)

	failed := slices.IndexFunc(steps, func(s readStep) bool { return s.Error != "" })
	require.Equal(t, "cxi", steps[failed].Provider)
	require.Zero(t, steps[failed].Answers)
	require.Empty(t, steps[failed].Attributes)

	all := flagsJSON(t, "--all")
	require.Len(t, all, len(steps))
	for i := range all {
		if all[i].Answer != 0 || all[i].Answers == 0 {
			require.Greater(t, len(all[i].Attributes), len(steps[i].Attributes))
		} else {
			require.Empty(t, all[i].Attributes, "what was granted is not known")
		}
	}
}

func TestFlagsOfNothing(t *testing.T) {
	got := within(t, "flags", t.TempDir())
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.stderr, "record some with INTERCEPT_FLAGS_DIR=")
	require.Empty(t, got.stdout)
	require.Equal(t, exitUsage, within(t, "flags", "/none").code)
}

// A bad file fails the command, and the others are shown.
func TestFlagsOfBadFile(t *testing.T) {
	dir := t.TempDir()
	good, err := os.ReadFile(filepath.Join(recordedFlags, "flags_rank0.jsonl"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "flags_rank0.jsonl"), good, 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "flags_rank3.jsonl"), []byte("no header\n"), 0o666))
	got := within(t, "flags", dir)
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.stderr, "flags_rank3.jsonl:1: no header")
	require.Contains(t, got.stdout, "rank 0: fi_domain of rail 0 (shm) of shm+tcp")
}

func TestRankList(t *testing.T) {
	for want, ranks := range map[string][]int{
		"rank 3": {3}, "ranks 0-3": {0, 1, 2, 3}, "ranks 0,2": {0, 2}, "ranks 0-1,5,7-9": {0, 1, 5, 7, 8, 9},
	} {
		require.Equal(t, want, rankList(ranks))
	}
}
