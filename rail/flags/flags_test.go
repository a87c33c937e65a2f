package flags

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/providers/fiinfo"
	"golnx/rail"
	"golnx/rail/intercept"
)

type env map[string]string

func (e env) lookup(name string) (string, bool) {
	text, ok := e[name]
	return text, ok
}

// asked are the hints of a link.
func asked(provider string) *fiinfo.Info {
	return &fiinfo.Info{
		Caps: 1<<1 | 1<<3 | 1<<43 | 1<<57 | 1<<59, Mode: 1<<52 | 1<<59, EP: fiinfo.EP{Type: 3},
		Domain: fiinfo.Domain{Threading: 3, ControlProgress: 2, Progress: 2, AVType: 2, MRMode: 0x474},
		Fabric: fiinfo.Fabric{Provider: provider},
	}
}

// granted is much of what a provider answers to that.
func granted(provider, domain string) *fiinfo.Info {
	info := asked(provider)
	info.Caps |= 1<<10 | 1<<11
	info.Mode = 0
	info.AddrFormat, info.Src = 2, fiinfo.Addr{2, 0, 0x1d, 0x2f, 127, 0, 0, 1, 15: 0}
	info.EP = fiinfo.EP{Type: 3, Protocol: 11, ProtocolVersion: 1, MaxMsgSize: 1<<64 - 1, MemTagFormat: 0xaaaaaaaaaaaaaaaa, TxCtxCount: 1}
	info.TX = fiinfo.TX{Caps: 1 << 11, MsgOrder: 1 << 8, InjectSize: 64, Size: 2048, IOVLimit: 4}
	info.Domain.Name, info.Domain.MRMode, info.Domain.MRKeySize = domain, 0, 8
	info.Fabric.Name, info.Fabric.APIVersion = "127.0.0.0/8", 2<<16|1
	info.NIC = &fiinfo.NIC{Device: domain, PCI: "0000:3b:00.0", MTU: 1500, Speed: 25e9, State: "up"}
	return info
}

// getInfo calls the hook as a link does.
func getInfo(h *intercept.Hooks, provider string, results []*fiinfo.Info, err error) error {
	return h.GetInfo(&intercept.GetInfo{Provider: provider, Hints: asked(provider)}, func(c *intercept.GetInfo) error {
		c.Results = results
		return err
	})
}

// theRail is one of an endpoint's.
func theRail(index int, name string) *intercept.Rail {
	return &intercept.Rail{
		Endpoint: &intercept.Endpoint{ID: 7, Link: "shm+tcp"}, Index: index,
		Info: rail.Info{Index: index, Name: name, Provider: "tcp;ofi_rxm"}, Device: "lo",
	}
}

func open(t *testing.T, e env) (*Recorder, *strings.Builder) {
	t.Helper()
	warnings := new(strings.Builder)
	r, err := FromEnv(e.lookup, warnings)
	require.NoError(t, err)
	require.NotNil(t, r)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r, warnings
}

func read(t *testing.T, dir string) *File {
	t.Helper()
	files, err := ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.False(t, files[0].Cut)
	return files[0]
}

func TestRecordsEveryStep(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "here")
	r, warnings := open(t, env{dirKnob: dir, "PMIX_RANK": "3"})
	h := r.Hooks()
	one, two := granted("tcp;ofi_rxm", "lo"), granted("tcp;ofi_rxm", "eth0")
	require.NoError(t, getInfo(h, "tcp;ofi_rxm", []*fiinfo.Info{one, two}, nil))
	require.NoError(t, getInfo(h, "cxi", nil, nil))
	failed := errors.New("fi_getinfo of verbs: out of memory")
	require.Equal(t, failed, getInfo(h, "verbs", nil, failed), "an error goes on to the caller")
	require.NoError(t, h.GetInfo(&intercept.GetInfo{Provider: "sm2"}, func(*intercept.GetInfo) error { return nil }))
	h.DomainInfo(theRail(1, "tcp;ofi_rxm:lo"), asked("tcp;ofi_rxm"), one)
	h.EndpointInfo(theRail(1, "tcp;ofi_rxm:lo"), nil, one)

	f := read(t, dir) // before Close: what was taken is there
	host, err := os.Hostname()
	require.NoError(t, err)
	require.Equal(t, Header{Format: 1, Rank: 3, RankSource: "PMIX_RANK", Host: host, PID: os.Getpid(), ResultsMax: 8}, f.Header)
	lo := &Rail{Link: "shm+tcp", Endpoint: 7, Index: 1, Name: "tcp;ofi_rxm:lo", Device: "lo"}
	require.Equal(t, []Record{
		{Step: GetInfo, Provider: "tcp;ofi_rxm", Asked: asked("tcp;ofi_rxm"), Results: 2, Granted: []*fiinfo.Info{one, two}},
		{Step: GetInfo, Provider: "cxi", Asked: asked("cxi")},
		{Step: GetInfo, Provider: "verbs", Asked: asked("verbs"), Error: failed.Error()},
		{Step: GetInfo, Provider: "sm2"},
		{Step: Domain, Provider: "tcp;ofi_rxm", Rail: lo, Asked: asked("tcp;ofi_rxm"), Results: 1, Granted: []*fiinfo.Info{one}},
		{Step: Endpoint, Provider: "tcp;ofi_rxm", Rail: lo, Results: 1, Granted: []*fiinfo.Info{one}},
	}, f.Records)
	require.Empty(t, warnings)
}

// What a consumer further in writes into the hints was not asked for by the program.
func TestRecordsHintsAsAsked(t *testing.T) {
	dir := t.TempDir()
	r, _ := open(t, env{dirKnob: dir})
	err := r.Hooks().GetInfo(&intercept.GetInfo{Provider: "shm", Hints: asked("shm")}, func(c *intercept.GetInfo) error {
		c.Hints.Caps, c.Hints.Domain.Name = 0, "other"
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, asked("shm"), read(t, dir).Records[0].Asked)
}

func TestResultsMax(t *testing.T) {
	var results []*fiinfo.Info
	for i := range 20 {
		results = append(results, granted("shm", fmt.Sprint("domain", i)))
	}
	for text, want := range map[string]int{"": 8, "1": 1, "0": 20, "20": 20, "100": 20} {
		dir := t.TempDir()
		r, _ := open(t, env{dirKnob: dir, resultsMaxKnob: text})
		c := &intercept.GetInfo{Provider: "shm"}
		require.NoError(t, r.Hooks().GetInfo(c, func(c *intercept.GetInfo) error { c.Results = results; return nil }))
		require.Len(t, c.Results, 20, "the caller gets all")
		rec := read(t, dir).Records[0]
		require.Equal(t, results[:want], rec.Granted, text)
		require.Equal(t, 20, rec.Results)
	}
}

func TestNothingIsRecordedUnasked(t *testing.T) {
	for _, e := range []env{{}, {dirKnob: ""}, {resultsMaxKnob: "x", "RANK": "x"}} {
		r, err := FromEnv(e.lookup, nil)
		require.NoError(t, err)
		require.Nil(t, r)
		require.Nil(t, r.Hooks())
		require.NoError(t, r.Close())
	}
}

func TestBadVariables(t *testing.T) {
	dir := t.TempDir()
	taken := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(taken, nil, 0o666))
	for _, test := range []struct {
		env  env
		want string
	}{
		{env{dirKnob: dir, resultsMaxKnob: "-1"}, `INTERCEPT_FLAGS_RESULTS_MAX="-1": a number of answers`},
		{env{dirKnob: dir, resultsMaxKnob: "all"}, `INTERCEPT_FLAGS_RESULTS_MAX="all": a number of answers`},
		{env{dirKnob: dir, resultsMaxKnob: "9999999999"}, `INTERCEPT_FLAGS_RESULTS_MAX="9999999999": a number of answers`},
		{env{dirKnob: dir, "RANK": "first"}, `RANK="first"`},
		{env{dirKnob: taken}, `INTERCEPT_FLAGS_DIR="` + taken + `"`},
		{env{dirKnob: taken + "/below"}, `INTERCEPT_FLAGS_DIR="` + taken + `/below"`},
	} {
		r, err := FromEnv(test.env.lookup, nil)
		require.ErrorContains(t, err, test.want)
		require.Nil(t, r)
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "a bad variable leaves no file")
}

// Processes that say they are the same rank, as without any launcher, do not write over
// one another; what an earlier one left goes.
func TestProcessesOfOneRank(t *testing.T) {
	dir := t.TempDir()
	first, _ := open(t, env{dirKnob: dir})
	second, _ := open(t, env{dirKnob: dir})
	require.NoError(t, getInfo(first.Hooks(), "shm", nil, nil))
	require.NoError(t, getInfo(second.Hooks(), "tcp", nil, nil))
	files, err := ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 2)
	require.Equal(t, filepath.Join(dir, "flags_rank0.jsonl"), files[0].Path)
	require.Equal(t, "shm", files[0].Records[0].Provider)
	require.Equal(t, filepath.Join(dir, "flags_rank0_2.jsonl"), files[1].Path)
	require.Equal(t, "tcp", files[1].Records[0].Provider)

	require.NoError(t, first.Close())
	require.NoError(t, first.Close())
	require.NoError(t, getInfo(first.Hooks(), "verbs", nil, nil), "after Close the hooks do nothing")
	open(t, env{dirKnob: dir})
	files, err = ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 2)
	require.Empty(t, files[0].Records)
}

func TestOrderOfFiles(t *testing.T) {
	dir := t.TempDir()
	for _, rank := range []string{"10", "9", "100"} {
		open(t, env{dirKnob: dir, "RANK": rank})
	}
	for _, other := range []string{"flags_rank.jsonl", "flags_rank-1.jsonl", "flags_rank007.jsonl", "flags_rank1_1.jsonl", "flags_rank1.csv", "ops_rank0.csv"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, other), []byte("x\n"), 0o666))
	}
	files, err := ReadDir(dir)
	require.NoError(t, err)
	var found []int
	for _, f := range files {
		found = append(found, f.Rank)
	}
	require.Equal(t, []int{9, 10, 100}, found)
}

func TestConcurrentSteps(t *testing.T) {
	dir := t.TempDir()
	r, _ := open(t, env{dirKnob: dir})
	h := r.Hooks()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 20 {
				h.DomainInfo(theRail(i, "tcp"), asked("tcp"), granted("tcp", "lo"))
			}
		})
	}
	all.Wait()
	require.Len(t, read(t, dir).Records, 160)
}

// fullDisk takes some bytes, and then no more.
type fullDisk struct {
	output
	left int
}

var errFull = errors.New("no space left on device")

func (d *fullDisk) Write(b []byte) (int, error) {
	n := min(len(b), d.left)
	d.left -= n
	n, err := d.output.Write(b[:n])
	if err == nil && n < len(b) {
		err = errFull
	}
	return n, err
}

func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	r, warnings := open(t, env{dirKnob: dir})
	line := func() { r.Hooks().EndpointInfo(theRail(0, "tcp"), asked("tcp"), granted("tcp", "lo")) }
	line()
	r.file = &fullDisk{r.file, int(r.size)} // room for one line more, and for some of the next
	line()
	line()
	line()
	require.NoError(t, getInfo(r.Hooks(), "tcp", nil, nil), "the program goes on")
	require.Equal(t, 1, strings.Count(warnings.String(), "\n"), warnings)
	require.Contains(t, warnings.String(), filepath.Join(dir, "flags_rank0.jsonl"))
	require.Contains(t, warnings.String(), errFull.Error())
	require.Len(t, read(t, dir).Records, 2)
	require.NoError(t, r.Close())
}

func TestFileCutAnywhere(t *testing.T) {
	dir := t.TempDir()
	r, _ := open(t, env{dirKnob: dir, "RANK": "5"})
	h := r.Hooks()
	require.NoError(t, getInfo(h, "shm", []*fiinfo.Info{granted("shm", "shm")}, nil))
	h.DomainInfo(theRail(0, "shm"), asked("shm"), granted("shm", "shm"))
	path := filepath.Join(dir, "flags_rank5.jsonl")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	whole := read(t, dir)
	require.Len(t, whole.Records, 2)
	for n := range text {
		f, err := parse(path, text[:n])
		require.NoError(t, err, "%s", text[:n])
		require.Equal(t, 5, f.Rank)
		lines := strings.Count(string(text[:n]), "\n")
		require.Len(t, f.Records, max(0, lines-1))
		require.Equal(t, whole.Records[:max(0, lines-1)], append([]Record{}, f.Records...))
		require.Equal(t, n == 0 || text[n-1] != '\n', f.Cut)
	}
}

func TestBadFiles(t *testing.T) {
	dir := t.TempDir()
	_, err := ReadDir(dir)
	require.ErrorContains(t, err, "record some with INTERCEPT_FLAGS_DIR="+dir)
	_, err = ReadDir(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)

	const header = `{"format":1,"rank":0}` + "\n"
	for rank, text := range []string{
		"getinfo\n", `{"format":2}` + "\n", header + `{"step":"getinfo","asked":{"caps":["FI_MESSAGE"]}}` + "\n", header + "null\n", header + "\x00\xff\n", header + `{"step":`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fileName(rank, 1)), []byte(text), 0o666))
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, fileName(6, 1)), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(dir, fileName(7, 1)), []byte(header+`{"step":"domain"}`+"\n"+"x\n"), 0o666))
	files, err := ReadDir(dir)
	require.Len(t, files, 7)
	require.Equal(t, []Record{{Step: Domain}}, files[6].Records, "what comes before a bad line")
	for _, want := range []string{
		"flags_rank0.jsonl:1: no header", "flags_rank1.jsonl:1: the file has format 2: this program reads format 1",
		`flags_rank2.jsonl:2: no record of a step: "FI_MESSAGE" is neither`, "flags_rank3.jsonl:2", "flags_rank4.jsonl:2", "flags_rank6.jsonl", "flags_rank7.jsonl:3",
	} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "flags_rank5.jsonl", "a cut line is no error")
}
