package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
	"golnx/providers"
)

// madeUp is a listing of a machine with two fast NICs, of which one has atomics.
func madeUp() ([]shown, []lnx.LeftOut) {
	shm := providers.Info{
		Provider: "shm", Fabric: "shm", Domain: "shm", AddrFormat: providers.AddrStr, NodeLocal: true,
		Caps: 1<<1 | 1<<3 | 1<<43 | lnx.CapRMAEvent, InjectSize: 4096, MaxMsgSize: ^uint64(0), IOVLimit: 4, NIC: providers.NIC{NUMA: -1},
	}
	nic := func(domain, pci string, numa int) providers.Info {
		return providers.Info{
			Provider: "cxi", Fabric: "cxi", Domain: domain, AddrFormat: 0x1234,
			Caps: 1<<1 | 1<<3 | 1<<43 | 1<<52 | 1<<40, InjectSize: 192, MaxMsgSize: 1 << 30, IOVLimit: 1,
			NIC: providers.NIC{Device: domain, PCI: pci, NUMA: numa, Speed: 200e9, MTU: 2048},
		}
	}
	whole := lnx.LeftOut{Link: "shm+verbs", What: lnx.WholeLink, Reason: "provider verbs offers nothing"}
	note := lnx.LeftOut{Link: "shm+verbs", What: "verbs", Reason: "became verbs;ofi_rxm, which has the peer interface", Note: true}
	part := lnx.LeftOut{Link: "shm+cxi", What: "cxi0", Reason: "its network x: a domain is one rail, over y"}
	more := lnx.CapRMA | lnx.CapAtomic
	return []shown{
		{&lnx.Link{Name: "shm+cxi:cxi0,cxi1", Rails: []providers.Info{shm, nic("cxi0", "0000:21:00.0", 0), nic("cxi1", "0000:a1:00.0", 1)}, LeftOut: []lnx.LeftOut{part}},
			[]lnx.Caps{more | lnx.CapRMAEvent, lnx.CapRMA, more}},
		{&lnx.Link{Name: "shm", Rails: []providers.Info{shm}}, []lnx.Caps{shm.Caps}},
	}, []lnx.LeftOut{part, note, whole}
}

func TestInfoTable(t *testing.T) {
	var b bytes.Buffer
	links, left := madeUp()
	require.NoError(t, showInfo(&b, links, left))
	requireGolden(t, "info.golden", b.String())
}

func TestInfoJSONOfMadeUp(t *testing.T) {
	var b bytes.Buffer
	links, left := madeUp()
	require.NoError(t, showInfoJSON(&b, links, left))
	requireGolden(t, "info_json.golden", b.String())
}

func TestInfoJSON(t *testing.T) {
	got := execute(t, "info", "--links=shm+tcp:lo|cxi:nosuch", "--json")
	require.Zero(t, got.code, got.stderr)
	var out infoJSON
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &out))
	require.Len(t, out.Links, 1)
	require.Equal(t, "shm+tcp;ofi_rxm:lo", out.Links[0].Name)
	require.Len(t, out.Links[0].Rails, 2)
	for _, r := range out.Links[0].Rails {
		require.Contains(t, r.Caps, "FI_TAGGED")
		require.Contains(t, r.Caps, "FI_PEER")
	}
	require.Equal(t, "FI_SOCKADDR_IN", out.Links[0].Rails[1].AddrFormat)
	tcp := lnx.LeftOut{Link: "shm+tcp:lo", What: "tcp", Reason: "became tcp;ofi_rxm, which has the peer interface"}
	require.Contains(t, out.Links[0].Notes, tcp)
	require.NotContains(t, out.Links[0].LeftOut, tcp)
	require.Len(t, out.LeftOut, 1, "of the other link only")
	require.Equal(t, "cxi:nosuch", out.LeftOut[0].Link)
}

// Without a spec there is all that could stand in one.
func TestInfoOfEverything(t *testing.T) {
	got := within(t, "info")
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, got.stdout, "What can be linked here, as with --links 'shm+tcp;ofi_rxm")
	require.Regexp(t, `(?m)^│ shm +│ shm +│`, got.stdout)
	require.Regexp(t, `(?m)^│ tcp;ofi_rxm:lo +│`, got.stdout)

	got = within(t, "info", "--json", "--disable-shm")
	require.Zero(t, got.code, got.stderr)
	var out infoJSON
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &out))
	require.NotEmpty(t, out.Links)
	for _, l := range out.Links {
		require.NotEqual(t, "shm", l.Name)
	}
	require.Contains(t, out.LeftOut, lnx.LeftOut{Link: "shm", What: "shm", Reason: "disabled by FI_LNX_DISABLE_SHM or --disable-shm"})
}

func TestInfoWithoutLink(t *testing.T) {
	for _, c := range []struct{ args, stdout string }{
		{"info --links nosuch|tcp:nosuch", ""},
		{"info --links nosuch|tcp:nosuch --json", `"links": []`},
	} {
		got := within(t, strings.Fields(c.args)...)
		require.Equal(t, exitFailed, got.code)
		require.Contains(t, got.stderr, `lnx: no link to open: link nosuch: provider "nosuch" is unknown`)
		require.Contains(t, got.stderr, `lnx: link tcp:nosuch: provider tcp;ofi_rxm has no domain "nosuch": known are`)
		require.Contains(t, got.stdout, c.stdout)
	}
}

// What a link is not opened for, and could be, is told, and can be asked for by the names
// that are told.
func TestInfoCaps(t *testing.T) {
	got := execute(t, "info", "--links=shm+tcp:lo")
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, got.stdout, "│ Link shm+tcp;ofi_rxm:lo can be opened ")
	require.Regexp(t, `could do besides, asked for with --caps .*: rma,atomic(; rma_event of shm only)?\n`, got.stdout)
	require.NotContains(t, got.stdout, "FI_RMA_EVENT", "shm says that it has it, without what it is for")

	got = execute(t, "info", "--links=shm+tcp:lo", "--caps=rma,atomic")
	require.Zero(t, got.code, got.stderr)
	require.Regexp(t, "(?m)^caps of all rails:.* FI_RMA .*FI_ATOMIC .*FI_REMOTE_WRITE", got.stdout)
	require.NotContains(t, got.stdout, "rma,atomic")

	got = within(t, "info", "--links=shm+tcp:lo", "--json")
	require.Zero(t, got.code, got.stderr)
	var out infoJSON
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &out))
	require.NotContains(t, out.Links[0].Rails[0].Caps, "FI_RMA_EVENT")
	require.Subset(t, out.Links[0].Rails[0].More, []string{"FI_RMA", "FI_ATOMIC"})
	require.Subset(t, out.Links[0].Info.More, []string{"FI_RMA", "FI_ATOMIC"})

	got = within(t, "info", "--links=tcp:lo", "--direct", "--caps=atomic")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.stderr, "cannot do FI_ATOMIC, which --caps asks for")
	got = within(t, "info", "--caps=fetch")
	require.Equal(t, exitUsage, got.code)
	require.Contains(t, got.stderr, `--caps "fetch": there are rma (`)
}

// What is left out of a link that can be opened does not look like a failure.
func TestInfoOfWhatIsNotUsed(t *testing.T) {
	got := within(t, "info", "--links=shm+tcp:lo|cxi:nosuch", "--disable-shm")
	require.Zero(t, got.code, got.stderr)
	_, after, ok := strings.Cut(got.stdout, "note: tcp became tcp;ofi_rxm, which has the peer interface\nThe link is fine. Here too, but not used by it:\n")
	require.True(t, ok, got.stdout)
	require.Contains(t, after, "  shm: disabled by FI_LNX_DISABLE_SHM or --disable-shm\n")
	require.Contains(t, after, "Cannot be opened here:\n  cxi:nosuch: provider cxi offers nothing")
	require.Equal(t, 1, strings.Count(got.stdout, "cxi:nosuch"))
}

// Commands that only look leave the recordings of jobs alone.
func TestLookingRecordsNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("INTERCEPT_FLAGS_DIR", dir)
	t.Setenv("INTERCEPT_TIMER_DIR", dir)
	t.Setenv("FI_LNX_PROV_LINKS", "shm")
	file := filepath.Join(dir, "flags_rank0.jsonl")
	require.NoError(t, os.WriteFile(file, []byte("of a job\n"), 0o666))
	for _, args := range []string{"info", "info --links shm", "plan", "plan --links shm+cxi:cxi0", "doctor", "version", "run -n 1 --print", "counters"} {
		got := within(t, strings.Fields(args)...)
		require.Contains(t, []int{exitOK, exitFailed}, got.code, args+got.stderr)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, "of a job\n", string(text), args)
	}
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 1)

	// Whatever opens a link records.
	require.Zero(t, execute(t, "perf", "lat", "--links=shm", "--iters=1").code)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(text), `"step":"getinfo"`)
}
