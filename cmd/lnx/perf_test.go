package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"golnx/cmd/lnx/bench"
	"golnx/cmd/lnx/pair"
	"golnx/internal/need"
)

// measured is a JSON report.
type measured struct {
	Test    string
	Links   string
	Size    int
	Iters   int
	Window  int
	HalfRTT bench.Spread `json:"half_rtt_us"`
	Msgs    float64      `json:"msgs_per_s"`
	Ops     float64      `json:"ops_per_s"`
	One     bench.Spread `json:"op_us"`
	Bytes   float64      `json:"bytes_per_s"`
	Rails   []bench.RailCount
}

func parse(t *testing.T, out string) []measured {
	t.Helper()
	var all []measured
	for line := range strings.Lines(out) {
		var m measured
		require.NoError(t, json.Unmarshal([]byte(line), &m))
		all = append(all, m)
	}
	return all
}

func TestLatJSON(t *testing.T) {
	got := execute(t, strings.Fields("perf lat --links shm+tcp:lo --size 8 --iters 200 --json --verify")...)
	require.Zero(t, got.code, got.stderr)
	require.Empty(t, got.stderr)
	require.Regexp(t, `^\{"test":"lat","op":"tsend","links":"shm\+tcp:lo","size":8,"iters":200,`+
		`"half_rtt_us":\{"p50":[\d.]+,"p99":[\d.]+,"mean":[\d.]+\},`+
		`"rails":\[\{"name":"shm","tx_msgs":200,"rx_msgs":200\},\{"name":"tcp;ofi_rxm:lo","tx_msgs":0,"rx_msgs":0\}\]\}\n$`, got.stdout)
	m := parse(t, got.stdout)[0]
	require.Positive(t, m.HalfRTT.P50)
	require.LessOrEqual(t, m.HalfRTT.P50, m.HalfRTT.P99)
	require.Positive(t, m.HalfRTT.Mean)
}

func TestLatWithoutShm(t *testing.T) {
	got := execute(t, strings.Fields("perf lat --links shm+tcp:lo --disable-shm --size 0,1,100K --iters 20 --warmup 0 --json --verify")...)
	require.Zero(t, got.code, got.stderr)
	all := parse(t, got.stdout)
	require.Len(t, all, 3)
	for i, size := range []int{0, 1, 100 << 10} {
		require.Equal(t, size, all[i].Size)
		require.Equal(t, []bench.RailCount{{Name: "tcp;ofi_rxm:lo", Tx: 20, Rx: 20}}, all[i].Rails)
	}
}

func TestStreams(t *testing.T) {
	for _, c := range []struct {
		args string
		acks func(iters int) int
	}{
		{"rate --links shm --window 1 --iters 30", func(n int) int { return n }},
		{"rate --links tcp:lo --policy PER_MSG --window 7 --size 8,16K --iters 500", nil},
		{"bw --links shm+tcp:lo --window 8 --size 4K,1M --iters 40 --warmup 3", func(n int) int { return n/4 + 1 }},
	} {
		t.Run(c.args, func(t *testing.T) {
			got := execute(t, append(strings.Fields("perf --json --verify"), strings.Fields(c.args)...)...)
			require.Zero(t, got.code, got.stderr)
			all := parse(t, got.stdout)
			require.NotEmpty(t, all)
			for _, m := range all {
				require.Positive(t, m.Msgs+m.Bytes)
				require.EqualValues(t, m.Iters, m.Rails[0].Tx)
				if c.acks != nil {
					require.EqualValues(t, c.acks(m.Iters), m.Rails[0].Rx)
				}
			}
		})
	}
}

// Tests of operations on the other end's memory, over each kind of rail.
func TestOps(t *testing.T) {
	for _, links := range []string{"shm", "tcp:lo", "shm+tcp:lo"} {
		for _, c := range []struct {
			args   string
			figure func(m measured) float64
		}{
			{"lat --op read --size 1,70000", func(m measured) float64 { return m.One.P50 }},
			{"lat --op write --size 1,70000", func(m measured) float64 { return m.HalfRTT.Mean }},
			{"rate --op read --window 7 --warmup 0", func(m measured) float64 { return m.Ops }},
			{"rate --op write --both", func(m measured) float64 { return m.Ops }},
			{"lat --op fadd", func(m measured) float64 { return m.One.P50 }},
			{"rate --op fadd --window 5 --both", func(m measured) float64 { return m.Ops }},
			{"bw --op read --size 64K --both", func(m measured) float64 { return m.Bytes }},
			{"bw --op write --size 1,1M", func(m measured) float64 { return m.Bytes }},
		} {
			t.Run(links+" "+c.args, func(t *testing.T) {
				args := append(strings.Fields("perf --json --iters 40 --links"), links)
				for _, verify := range [][]string{nil, {"--verify"}} {
					got := execute(t, slices.Concat(args, strings.Fields(c.args), verify)...)
					require.Zero(t, got.code, got.stderr)
					for _, m := range parse(t, got.stdout) {
						require.Positive(t, c.figure(m))
						require.EqualValues(t, 40, m.Rails[0].Ops)
						for _, other := range m.Rails[1:] {
							require.Zero(t, other.Ops)
						}
					}
				}
			})
		}
	}
}

func TestUntagged(t *testing.T) {
	for _, links := range []string{"shm", "tcp:lo", "shm+tcp:lo"} {
		for _, args := range []string{"lat --size 0,8,70000", "rate --both", "rate --window 7", "bw --size 64K,1M"} {
			got := execute(t, slices.Concat(strings.Fields("perf --op send --json --verify --iters 60 --links"), []string{links}, strings.Fields(args))...)
			require.Zero(t, got.code, got.stderr)
			for _, m := range parse(t, got.stdout) {
				require.GreaterOrEqual(t, m.Rails[0].Tx, uint64(60))
				require.Zero(t, m.Rails[0].Ops)
			}
		}
	}
}

func TestOpsAreTold(t *testing.T) {
	got := execute(t, strings.Fields("perf rate --op write --links shm --iters 20")...)
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, got.stdout, "rate of write over shm  ")
	require.Regexp(t, `│ +20 │ +64 │`, got.stdout)
	require.Contains(t, got.stdout, "rate [M op/s]")
	require.Regexp(t, `shm: 0 / [01], 20 on memory`, got.stdout)
	got = execute(t, strings.Fields("perf lat --op read --links shm --iters 20 --csv")...)
	require.Zero(t, got.code, got.stderr)
	require.Regexp(t, `^test,op,links,size,iters,op_us_p50,(.|\n)*\nlat,read,shm,8,20,[\d.]+,`, got.stdout)
}

func TestMatch(t *testing.T) {
	got := execute(t, strings.Fields("perf match --links shm+tcp:lo --json --verify --iters 50 --posted 0,300 --unexpected 200")...)
	require.Zero(t, got.code, got.stderr)
	lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
	require.Len(t, lines, 9)
	require.Regexp(t, `^\{"test":"match","op":"tsend","links":"shm\+tcp:lo","size":8,"iters":50,"kind":"tag","posted":300,"unexpected":0,"half_rtt_us":\{`, lines[4])
	require.Regexp(t, `"kind":"tag","posted":0,"unexpected":200,"half_rtt_us":\{.*"name":"shm","tx_msgs":50,"rx_msgs":50\}`, lines[5])

	got = execute(t, strings.Fields("perf match --links shm --iters 10 --kind source --posted 7")...)
	require.Zero(t, got.code, got.stderr)
	require.Regexp(t, `source │ +7 │ +0 │`, got.stdout)
}

func TestBothWays(t *testing.T) {
	got := execute(t, strings.Fields("perf bw --links shm --both --size 64K --iters 40 --json --verify")...)
	require.Zero(t, got.code, got.stderr)
	require.Regexp(t, `"iters":40,"window":16,"both":true,"bytes_per_s":\d`, got.stdout)
	got = execute(t, strings.Fields("perf rate --links shm --both --iters 40")...)
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, got.stdout, "rate of tsend over shm, both ways")
}

func TestHugePages(t *testing.T) {
	got := execute(t, strings.Fields("perf bw --links shm --huge --size 64K,3M --iters 10 --window 2 --json --verify")...)
	require.Zero(t, got.code, got.stderr)
	require.Regexp(t, `"window":2,"huge":true,"bytes_per_s":\d`, got.stdout)
	got = execute(t, strings.Fields("perf lat --op write --links shm --huge --size 3M --iters 5 --verify")...)
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, got.stdout, "lat of write over shm, buffers of huge pages, every byte verified")
}

func TestGoroutines(t *testing.T) {
	got := execute(t, strings.Fields("perf lat --links shm+tcp:lo --goroutines 8 --iters 100 --json --verify")...)
	require.Zero(t, got.code, got.stderr)
	require.Regexp(t, `"iters":100,"goroutines":8,"half_rtt_us":\{.*"name":"shm","tx_msgs":100,"rx_msgs":100\}`, got.stdout)
	got = execute(t, strings.Fields("perf rate --links shm --goroutines 3 --iters 100")...)
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, got.stdout, "3 blocking goroutines")
}

func TestIdle(t *testing.T) {
	got := execute(t, strings.Fields("perf idle --links shm+tcp:lo --iters 3 --json")...)
	require.Zero(t, got.code, got.stderr)
	require.Regexp(t, `"size":8,"iters":3,"idle":\{"cpu_percent":[\d.]+,"wakeup_us":\{"p50":[\d.]+,"p99":[\d.]+,"mean":[\d.]+\},"half_rtt_us":[\d.]+\},"rails"`, got.stdout)
	var m struct{ Idle bench.Idle }
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &m))
	require.Positive(t, m.Idle.WakeUp.P50)
	require.Positive(t, m.Idle.HalfRTT)
}

func TestDuration(t *testing.T) {
	got := execute(t, strings.Fields("perf lat --links shm --duration 20ms --json")...)
	require.Zero(t, got.code, got.stderr)
	require.Positive(t, parse(t, got.stdout)[0].Iters)
}

func TestPinnedEnds(t *testing.T) {
	two, err := twoCPUs()
	if err != nil {
		need.Skip(t, &need.Missing{What: "two ends cannot be pinned", Err: err, Do: "run with two processors"})
	}
	got := execute(t, "perf", "lat", "--links=shm", "--iters=10", fmt.Sprintf("--cpus=%d,%d", two[0], two[1]))
	require.Zero(t, got.code, got.stderr)
	for _, where := range []string{"1023,0", "0,1023"} {
		got := execute(t, "perf", "lat", "--links=shm", "--iters=10", "--cpus="+where)
		require.Equal(t, exitFailed, got.code)
		require.Contains(t, got.stderr, "processor 1023 cannot be used: invalid argument")
	}
}

func TestPercentiles(t *testing.T) {
	got := execute(t, strings.Fields("perf lat --links shm --iters 200 --json --percentiles")...)
	require.Zero(t, got.code, got.stderr)
	m := regexp.MustCompile(`"half_rtt_us":\{[^}]*\},"percentiles_us":(\{"p50":[\d.]+,"p90":[\d.]+,"p99":[\d.]+,"p99.9":[\d.]+,"p99.99":[\d.]+,"max":[\d.]+\}),"rails"`).FindStringSubmatch(got.stdout)
	require.NotNil(t, m, got.stdout)
	var p bench.Percentiles
	require.NoError(t, json.Unmarshal([]byte(m[1]), &p))
	require.True(t, slices.IsSorted([]float64{p.P50, p.P90, p.P99, p.P999, p.P9999, p.Max}), "%+v", p)
	require.Equal(t, parse(t, got.stdout)[0].HalfRTT.P50, p.P50)

	got = execute(t, strings.Fields("perf lat --links shm --iters 200 --percentiles --histogram")...)
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, got.stdout, "p99.99 [us]")
	require.Regexp(t, `lat of tsend, 8 B \[us\]\n≤ +[\d.]+ │`, got.stdout)
}

func TestCSV(t *testing.T) {
	for args, head := range map[string][]string{
		"perf lat --links shm --size 8,64 --iters 20 --csv": {
			"test", "op", "links", "size", "iters", "half_rtt_us_p50", "half_rtt_us_p99", "half_rtt_us_mean", "percentiles_us_p50", "percentiles_us_p90",
			"percentiles_us_p99", "percentiles_us_p99.9", "percentiles_us_p99.99", "percentiles_us_max", "rails",
		},
		"perf rate --links shm --size 8,64 --iters 20 --csv --both": {"test", "op", "links", "size", "iters", "window", "both", "msgs_per_s", "rails"},
	} {
		got := execute(t, strings.Fields(args)...)
		require.Zero(t, got.code, got.stderr)
		rows, err := csv.NewReader(strings.NewReader(got.stdout)).ReadAll()
		require.NoError(t, err)
		require.Len(t, rows, 3)
		require.Equal(t, head, rows[0])
		require.Equal(t, []string{"shm", "64", "20"}, rows[2][2:5])
		require.Regexp(t, `^shm: \d+ / \d+$`, rows[2][len(head)-1])
	}
}

// Every size is measured with every window.
func TestSizesAndWindows(t *testing.T) {
	args := strings.Fields("perf rate --links shm --size 8,4K --window 1,64 --iters 20")
	got := execute(t, append(args, "--json")...)
	require.Zero(t, got.code, got.stderr)
	var measured [][2]int
	for _, m := range parse(t, got.stdout) {
		require.Positive(t, m.Msgs)
		measured = append(measured, [2]int{m.Size, m.Window})
	}
	require.Equal(t, [][2]int{{8, 1}, {8, 64}, {4096, 1}, {4096, 64}}, measured)

	got = execute(t, append(args, "--csv")...)
	require.Zero(t, got.code, got.stderr)
	rows, err := csv.NewReader(strings.NewReader(got.stdout)).ReadAll()
	require.NoError(t, err)
	require.Equal(t, []string{"test", "op", "links", "size", "iters", "window", "msgs_per_s", "rails"}, rows[0])
	require.Len(t, rows, 5)
	require.Equal(t, []string{"8", "20", "64"}, rows[2][3:6])

	got = execute(t, args...)
	require.Zero(t, got.code, got.stderr)
	require.Regexp(t, `4 KiB │ +20 │ +1 │ (.|\n)*4 KiB │ +20 │ +64 │`, got.stdout)
}

func TestTableOfSizes(t *testing.T) {
	got := execute(t, strings.Fields("perf lat --links shm --size 8,4K --iters 10")...)
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, got.stdout, "lat of tsend over shm")
	require.Regexp(t, `4 KiB │ +10 │`, got.stdout)
	require.Contains(t, got.stdout, "shm: 10 / 10")
}

// listening starts the listening end and answers its address.
func listening(t *testing.T, args string) (*running, string) {
	t.Helper()
	r := start(t, append(strings.Fields("perf lat --listen 127.0.0.1:0"), strings.Fields(args)...)...)
	return r, r.await(`^lnx: listens on (.+)$`)[1]
}

func TestListenConnect(t *testing.T) {
	other, addr := listening(t, "--links shm+tcp:lo")
	got := execute(t, "perf", "lat", "--links=tcp:lo", "--connect="+addr, "--size=8,64K", "--iters=20", "--json", "--verify")
	require.Zero(t, got.code, got.stderr)
	all := parse(t, got.stdout)
	require.Len(t, all, 2)
	require.Equal(t, []bench.RailCount{{Name: "tcp;ofi_rxm:lo", Tx: 20, Rx: 20}}, all[1].Rails)
	code, rest := other.finish()
	require.Zero(t, code, rest)
	require.Empty(t, rest)
}

func TestListenConnectWithOp(t *testing.T) {
	other, addr := listening(t, "--links tcp:lo --op write")
	got := execute(t, "perf", "lat", "--op=write", "--links=tcp:lo", "--connect="+addr, "--size=8,64K", "--iters=20", "--json", "--verify")
	require.Zero(t, got.code, got.stderr)
	require.Len(t, parse(t, got.stdout), 2)
	code, rest := other.finish()
	require.Zero(t, code, rest)
}

func TestEndsThatDisagree(t *testing.T) {
	for _, c := range []struct{ listen, connect, want string }{
		{"--links shm", "lat --links tcp:lo", "no rail in common"},
		{"--links shm", "rate --links shm", `this end runs "lat"`},
		{"--links shm --op read", "lat --op write --links shm", `started with --op read`},
	} {
		t.Run(c.want, func(t *testing.T) {
			other, addr := listening(t, c.listen)
			got := execute(t, append([]string{"perf", "--connect=" + addr}, strings.Fields(c.connect)...)...)
			code, rest := other.finish()
			require.Equal(t, exitFailed, got.code)
			require.Equal(t, exitFailed, code)
			require.Contains(t, got.stderr, c.want)
			require.Contains(t, rest, c.want)
		})
	}
}

func TestBadPeerOfListen(t *testing.T) {
	frame := func(text string) string { return fmt.Sprintf("%s\x00\x00\x00%c%s", pair.Preamble, len(text), text) }
	for name, c := range map[string]struct{ sent, want string }{
		"another protocol": {"GET / HTTP/1.0\r\n\r\n", "does not speak the protocol"},
		"silence":          {"", "sent 0 of the first"},
		"a huge message":   {pair.Preamble + "\xff\xff\xff\xff", "at most"},
		"no JSON":          {frame("nonsense"), "no JSON"},
		"no blob":          {frame(`{"kind":"hello","body":{"blob":"AAAA"}}`), "AV.Insert"},
		"wrong order":      {frame(`{"kind":"run","body":{}}`), `sent "run"`},
		"an evil error":    {frame(`{"kind":"error","body":"\u001b[2J"}`), `the other end: \x1b[2J`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, addr := listening(t, "--links shm --timeout 2s")
			conn, err := net.Dial("tcp", addr)
			require.NoError(t, err)
			defer conn.Close()
			_, err = conn.Write([]byte(c.sent))
			require.NoError(t, err)
			code, rest := r.finish()
			require.Equal(t, exitFailed, code)
			require.Contains(t, rest, c.want)
			requireNoRegions(t, r.Process.Pid)
		})
	}
}

// endless starts a measurement that takes for ever, and answers its other end.
func endless(t *testing.T, args string) (*running, process) {
	t.Helper()
	r := start(t, append(strings.Fields("-v perf --iters 1000000000"), strings.Fields(args)...)...)
	child := watch(t, r.await(`^lnx: started the other end, process (\d+)$`)[1])
	r.await(`^lnx: runs `)
	return r, child
}

func TestKilledParentTakesChildAlong(t *testing.T) {
	for _, args := range []string{"lat --links shm+tcp:lo", "bw --links tcp:lo --size 64K"} {
		t.Run(args, func(t *testing.T) {
			r, child := endless(t, args)
			require.NoError(t, r.Process.Kill())
			_, err := r.Process.Wait()
			require.NoError(t, err)
			child.requireEnd(t)
			requireRegionsRemoved(t, r.Process.Pid, child.pid)
		})
	}
}

func TestInterrupt(t *testing.T) {
	for _, sig := range []unix.Signal{unix.SIGINT, unix.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			r, child := endless(t, "lat --links shm+tcp:lo")
			require.NoError(t, r.Process.Signal(sig))
			child.requireEnd(t)
			code, rest := r.finish()
			require.Equal(t, exitInterrupted, code)
			require.Equal(t, "lnx: interrupted\n", rest)
			requireNoRegions(t, r.Process.Pid, child.pid)
		})
	}
}

func TestKilledChildIsNoticed(t *testing.T) {
	for _, args := range []string{"lat --links shm+tcp:lo", "rate --links tcp:lo"} {
		t.Run(args, func(t *testing.T) {
			r, child := endless(t, args)
			require.NoError(t, unix.Kill(child.pid, unix.SIGKILL))
			code, rest := r.finish()
			require.Equal(t, exitFailed, code)
			require.Contains(t, rest, "process "+strconv.Itoa(child.pid)+": signal: killed")
			child.requireEnd(t)
			requireRegionsRemoved(t, r.Process.Pid, child.pid)
		})
	}
}

func TestLinkThatIsNotThere(t *testing.T) {
	got := execute(t, "perf", "lat", "--links=nosuch")
	require.Equal(t, exitFailed, got.code)
	require.Regexp(t, `^lnx: no link to open: link nosuch: provider "nosuch" is unknown: .*\n$`, got.stderr)
	require.Empty(t, got.stdout)
}

func TestPeerCommandByHand(t *testing.T) {
	got := execute(t, "perf-peer")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.stderr, "lnx starts this command itself")
}

func TestDemo(t *testing.T) {
	got := execute(t, "demo")
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, got.stdout, "link shm+tcp;ofi_rxm:lo, FI_LNX_DISABLE_SHM=0")
	require.Contains(t, got.stdout, "link tcp;ofi_rxm:lo, FI_LNX_DISABLE_SHM=1")
	require.Regexp(t, `4 MiB │ +3 │ +[\d.]+ │ shm: 3 / 3 `, got.stdout)
	require.Regexp(t, `4 MiB │ +3 │ +[\d.]+ │ tcp;ofi_rxm:lo: 3 / 3 `, got.stdout)
	total := 0
	for _, n := range regexp.MustCompile(`B │ +(\d+) │`).FindAllStringSubmatch(got.stdout, -1) {
		each, err := strconv.Atoi(n[1])
		require.NoError(t, err)
		total += each * 2 * demoRuns
	}
	require.Contains(t, got.stdout, fmt.Sprintf("\n%d messages verified: ", total))
}

// Whoever asks for help hears of every test and operation.
func TestPerfHelpListsAll(t *testing.T) {
	got := execute(t, "perf", "--help")
	require.Zero(t, got.code, got.stderr)
	text := strings.Join(strings.Fields(got.stdout), " ")
	ops := map[string]string{}
	for _, test := range bench.Offered() {
		require.Contains(t, text, fmt.Sprintf("%s (%s; --op ", test.Name, test.Help))
		ops[test.Name] += ", " + test.Op
	}
	for name, ops := range ops {
		require.Regexp(t, name+` \([^)]*; --op `+ops[2:]+`\)`, text)
	}
	for _, op := range bench.Ops() {
		require.Contains(t, text, fmt.Sprintf("%s (%s", op.Name, op.Help))
	}
}
