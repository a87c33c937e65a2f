package timer

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/providers/fierr"
	"golnx/rail/intercept"
	"golnx/rail/timer/nic"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// start makes a recorder in a directory of its own.
func start(t testing.TB, cfg Config, env Env) (*Recorder, []*intercept.Hooks) {
	t.Helper()
	if cfg.Dir == "" {
		cfg.Dir = t.TempDir()
	}
	if env.Clock == nil {
		env.Clock = counting()
	}
	r, err := New(cfg, env)
	require.NoError(t, err)
	t.Cleanup(func() { r.Close() })
	return r, []*intercept.Hooks{r.Hooks()}
}

// recorded reads the files of a rank.
func recorded(t testing.TB, r *Recorder) (ops []Op, links []Link, m *Meta) {
	t.Helper()
	files, err := Files(r.cfg.Dir)
	require.NoError(t, err)
	require.Len(t, files, 1)
	var bad []string
	if files[0].Ops != "" {
		ops, bad, _ = read(t, OpenOps, files[0].Ops)
		require.Empty(t, bad)
		links, bad, _ = read(t, OpenLinks, files[0].Links)
		require.Empty(t, bad)
	}
	m, err = ReadMeta(files[0].Meta)
	require.NoError(t, err)
	return ops, links, m
}

// One run with everything on, compared to the last byte.
func TestGolden(t *testing.T) {
	root := t.TempDir()
	counter := func(text string) {
		path := filepath.Join(root, "sys/class/net/eth0/statistics/rx_bytes")
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	counter("5")
	var now atomic.Int64
	now.Store(1_000_000)
	sampled := make(chan bool)
	env := Env{Clock: now.Load, Host: "node7", PID: 42, Sources: []nic.Source{watched{nic.Network{Root: root}, sampled}}}
	ts := new(tickers)
	env.Ticker = ts.ticker
	cfg, err := FromEnv(set("INTERCEPT_TIMER_NIC", "1", "INTERCEPT_TIMER_NIC_DEV", "eth0", "INTERCEPT_TIMER_CQGAP", "1", "PMIX_RANK", "3"))
	require.NoError(t, err)
	cfg.Dir = t.TempDir()
	r, hooks := start(t, *cfg, env)
	<-sampled
	at := now.Store
	w := newWorld(t, 1, hooks, "eth0", `odd,"nic"`)
	newWorld(t, 2, hooks, "eth0")
	at(1_001_000)
	require.NoError(t, w.send(0, 0, make([]byte, 8), 0x2a, "first"))
	at(1_002_000)
	require.NoError(t, w.call(1, &intercept.Send{Op: intercept.OpTInject, To: w.to[1], IOV: [][]byte{{1}, {2, 3}}, Context: "second"}))
	at(1_004_000)
	require.Equal(t, "second", w.end(1, 1, 0))
	at(1_005_000)
	require.Equal(t, "first", w.end(0, 0, int(fierr.ECanceled)))
	read := func(ns int64) {
		at(ns)
		_, err := hooks[0].CQRead(w.view, nil, func([]intercept.Entry) (int, error) { return 0, nil })
		require.NoError(t, err)
	}
	read(1_005_900)
	read(1_008_000)
	require.NoError(t, w.send(0, 0, nil, 0, "for ever"))
	sample := func(ns int64) {
		at(ns)
		ts.of(cfg.NICEvery) <- time.Time{}
		<-sampled
	}
	sample(1_010_000)
	sample(1_020_000)
	counter("7")
	sample(1_030_000)
	go func() { <-sampled }() // the last time
	at(1_040_000)
	require.NoError(t, r.Close())

	golden, err := filepath.Abs("testdata/golden")
	require.NoError(t, err)
	if *rewrite {
		require.NoError(t, os.RemoveAll(golden))
		require.NoError(t, os.MkdirAll(golden, 0o755))
	}
	got, err := os.ReadDir(cfg.Dir)
	require.NoError(t, err)
	for _, f := range got {
		text, err := os.ReadFile(filepath.Join(cfg.Dir, f.Name()))
		require.NoError(t, err)
		text = bytes.Replace(text, []byte(cfg.Dir), []byte("out"), 1)
		if *rewrite {
			require.NoError(t, os.WriteFile(filepath.Join(golden, f.Name()), text, 0o644))
		}
		want, err := os.ReadFile(filepath.Join(golden, f.Name()))
		require.NoError(t, err)
		require.Equal(t, string(want), string(text), f.Name())
	}
	want, err := os.ReadDir(golden)
	require.NoError(t, err)
	require.Len(t, got, len(want))
}

// watched tells when a NIC has been read.
type watched struct {
	nic.Source
	read chan<- bool
}

func (s watched) Open(device string, want func(string) bool) nic.Device {
	return watchedDevice{s.Source.Open(device, want), s.read}
}

type watchedDevice struct {
	nic.Device
	read chan<- bool
}

func (d watchedDevice) Read(each func(int, uint64)) {
	d.Device.Read(each)
	d.read <- true
}

// Every operation that starts here has a hook, receives have none.
func TestAllInitiatorOperations(t *testing.T) {
	_, hooks := start(t, Config{}, Env{})
	h := reflect.ValueOf(hooks[0]).Elem()
	hooked, receives := 0, 0
	for i := range h.NumField() {
		switch h.Field(i).Type() {
		case reflect.TypeFor[intercept.SendFunc](), reflect.TypeFor[intercept.RMAFunc](), reflect.TypeFor[intercept.AtomicFunc]():
			require.False(t, h.Field(i).IsNil(), h.Type().Field(i).Name)
			hooked++
		case reflect.TypeFor[intercept.RecvFunc]():
			require.True(t, h.Field(i).IsNil(), h.Type().Field(i).Name)
			receives++
		case reflect.TypeFor[intercept.ReadFunc]():
			require.True(t, h.Field(i).IsNil(), h.Type().Field(i).Name)
		}
	}
	require.Equal(t, intercept.NumOps, hooked+receives, "there are operations of another kind")
}

func TestRMA(t *testing.T) {
	r, hooks := start(t, Config{}, Env{})
	w := newWorld(t, 1, hooks, "eth0")
	c := intercept.RMA{Op: intercept.OpWriteV, To: w.to[0], IOV: [][]byte{make([]byte, 3), make([]byte, 4)}, Context: "mine"}
	require.NoError(t, w.chains[0].RMA[c.Op](&c))
	require.Equal(t, "mine", w.end(0, 0, 0))
	w.refuse = fierr.Again
	c.Context = "refused"
	require.ErrorIs(t, w.chains[0].RMA[c.Op](&c), fierr.EAgain)
	require.Equal(t, "refused", c.Context)
	require.NoError(t, r.Close())
	ops, _, _ := recorded(t, r)
	require.Len(t, ops, 1)
	require.Equal(t, Op{Start: ops[0].Start, End: ops[0].End, Op: "writev", Bytes: 7}, ops[0])
	require.Less(t, ops[0].Start, ops[0].End)
}

func TestFilters(t *testing.T) {
	for _, tc := range []struct {
		name      string
		cfg       Config
		rails     []int // of the operations of 1, 2, 3 … bytes
		want      []int64
		skipped   uint64
		unwatched bool
	}{
		{name: "all", rails: []int{0, 1, 0}, want: []int64{1, 2, 3}},
		{name: "bytes", cfg: Config{OpsMinBytes: 3}, rails: []int{0, 1, 0, 1}, want: []int64{3, 4}, skipped: 2},
		{name: "NIC", cfg: Config{OpsNIC: []string{"cxi*"}}, rails: []int{0, 1, 0, 1}, want: []int64{2, 4}, skipped: 2},
		{name: "this rank", cfg: Config{Rank: 2, OpsRanks: []RankRange{{1, 3}}}, rails: []int{0}, want: []int64{1}},
		{name: "other ranks", cfg: Config{Rank: 4, OpsRanks: []RankRange{{1, 3}}}, rails: []int{0}, unwatched: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, hooks := start(t, tc.cfg, Env{})
			require.Equal(t, tc.unwatched, hooks[0].TSend == nil)
			w := newWorld(t, 1, hooks, "eth0", "cxi0")
			for i, rail := range tc.rails {
				require.NoError(t, w.send(rail, 0, make([]byte, i+1), 0, i))
				require.Equal(t, i, w.end(rail, 0, 0))
			}
			require.NoError(t, r.Close())
			ops, _, m := recorded(t, r)
			var bytes []int64
			for _, op := range ops {
				bytes = append(bytes, op.Bytes)
			}
			require.Equal(t, tc.want, bytes)
			require.Equal(t, OpCounts{RowCounts: RowCounts{Recorded: uint64(len(tc.want))}, Skipped: tc.skipped}, m.Ops)
			endpoints, _, _ := read(t, OpenEndpoints, endpointsFile.path(r.cfg.Dir, tc.cfg.Rank))
			require.Equal(t, []Endpoint{{ID: 1, Address: "address1", Link: "made1"}}, endpoints)
		})
	}
}

// A pair of NICs has one number, also when the peer was removed and comes back.
func TestLinks(t *testing.T) {
	r, hooks := start(t, Config{}, Env{})
	w := newWorld(t, 5, hooks, "eth0", "eth1")
	again := *w.to[0]
	w.to = append(w.to, &again)
	for _, p := range [][2]int{{0, 0}, {0, 0}, {1, 0}, {0, 1}, {0, 0}, {0, 2}} {
		require.NoError(t, w.send(p[0], p[1], nil, 0, nil))
		w.end(p[0], 0, 0)
	}
	require.NoError(t, r.Close())
	ops, links, _ := recorded(t, r)
	var used []int
	for _, op := range ops {
		used = append(used, op.Link)
	}
	require.Equal(t, []int{0, 0, 1, 2, 0, 0}, used)
	one := Link{Endpoint: 5, Provider: "tcp;ofi_rxm", LocalNIC: "eth0", RemoteNIC: "nic0", LocalAddr: "address5", RemoteAddr: "peer0"}
	two, three := one, one
	two.ID, two.Rail, two.LocalNIC = 1, 1, "eth1"
	three.ID, three.RemoteNIC, three.RemoteAddr = 2, "nic1", "peer1"
	require.Equal(t, []Link{one, two, three}, links)
}

// What ends after the endpoint began to close is recorded too, and then the endpoint is
// forgotten.
func TestEndpointsThatClose(t *testing.T) {
	ts := new(tickers)
	r, hooks := start(t, Config{}, Env{Ticker: ts.ticker})
	const lives = 50
	for id := range uint64(lives) {
		w := newWorld(t, id+1, hooks, "eth0")
		require.NoError(t, w.send(0, 0, nil, 1, "early"))
		require.NoError(t, w.send(0, 0, nil, 2, "late"))
		require.NoError(t, w.send(0, 0, nil, 3, "never"))
		require.Equal(t, "early", w.end(0, 0, 0))
		w.closing(hooks)
		ops, _, m := recorded(t, r) // it is in the file when the hook returns
		require.Len(t, ops, 2*int(id)+1)
		require.Equal(t, uint64(len(ops)), m.Ops.Recorded)
		require.Zero(t, m.End)
		require.Equal(t, "late", w.end(0, 0, int(fierr.ECanceled)))
	}
	for range 10 {
		ts.tick(flushEvery)
	}
	r.mu.Lock()
	require.Empty(t, r.endpoints)
	r.mu.Unlock()
	require.Nil(t, r.endpoint(1))
	require.NoError(t, r.Close())
	ops, _, m := recorded(t, r)
	require.Len(t, ops, 2*lives)
	require.Equal(t, OpCounts{RowCounts: RowCounts{Recorded: 2 * lives}, Unfinished: lives}, m.Ops)
	require.Equal(t, "closed", m.Ended)
}

// After Close the hooks do nothing but give contexts back.
func TestAfterClose(t *testing.T) {
	r, hooks := start(t, Config{CQGap: time.Nanosecond}, Env{})
	w := newWorld(t, 1, hooks, "eth0")
	require.NoError(t, w.send(0, 0, nil, 0, "before"))
	require.NoError(t, r.Close())
	require.NoError(t, r.Close())
	require.Equal(t, "before", w.end(0, 0, 0))
	require.NoError(t, w.send(0, 0, nil, 0, "after"))
	require.Equal(t, []any{"after"}, w.under)
	newWorld(t, 2, hooks, "eth0")
	w.closing(hooks)
	r.Flush()
	_, _, m := recorded(t, r)
	require.Equal(t, OpCounts{Unfinished: 1}, m.Ops)
}

func TestNewErrors(t *testing.T) {
	clock := counting()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	ts := new(tickers)
	for _, tc := range []struct {
		name string
		cfg  Config
		env  Env
		want string
	}{
		{"no directory", Config{}, Env{Clock: clock}, "no directory is given"},
		{"no clock", Config{Dir: dir}, Env{}, "Env.Clock is not set"},
		{"no ticker", Config{Dir: dir, NIC: true}, Env{Clock: clock}, "need Env.Ticker"},
		{"a file", Config{Dir: file}, Env{Clock: clock}, "not a directory"},
		{"unknown NIC", Config{Dir: dir, NIC: true, NICDevices: []string{"lo", "cxi9"}}, Env{Clock: clock, Ticker: ts.ticker}, `INTERCEPT_TIMER_NIC_DEV=lo,cxi9: there is no NIC "cxi9" with counters: there are `},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := New(tc.cfg, tc.env)
			require.ErrorContains(t, err, "op timer: ")
			require.ErrorContains(t, err, tc.want)
		})
	}
}

// Two recorders never write the same files; one after the other replaces them.
func TestSameRankTwice(t *testing.T) {
	dir := t.TempDir()
	ts := new(tickers)
	first, _ := start(t, Config{Dir: dir, NIC: true, CQGap: 1}, Env{Ticker: ts.ticker})
	_, err := New(Config{Dir: dir}, Env{Clock: counting()})
	require.ErrorContains(t, err, "endpoints_rank0.csv is being written by another process")
	other, _ := start(t, Config{Dir: dir, Rank: 1}, Env{})
	require.NoError(t, other.Close())
	require.NoError(t, first.Close())

	again, _ := start(t, Config{Dir: dir}, Env{})
	require.NoError(t, again.Close())
	files, err := Files(dir)
	require.NoError(t, err)
	require.Len(t, files, 2)
	require.Empty(t, files[0].NIC, "a file of the run before is left")
	require.Empty(t, files[0].CQGaps)
}
