package benchtable

import (
	"fmt"
	"slices"
	"strings"

	"golnx/cmd/lnx/ui"
)

// Row is one comparison.
type Row struct {
	Name string
	// Unit is that of the figures.
	Unit string
	// Ours is divided by the best of Base; without Base it stands alone.
	Ours Figure
	Base []Figure
	// Goal bounds that ratio, or the figure that stands alone: from above, or
	// from below with More, when a larger figure is the better one. 0 is none.
	Goal float64
	More bool
}

// Figure is a number in what a command prints.
type Figure struct {
	Command Command
	// Where picks one of several lines by its fields, as "kind=tag,posted=0".
	Where string
	// Key names the number by the fields that lead to it, as "half_rtt_us.p50".
	Key string
}

// Command is a run of one of the two programs, lnx or cbench.
type Command struct {
	Program string
	// Args are separated by spaces.
	Args string
	// Iters is the number of messages or round trips; 0 leaves it to the program,
	// for which it depends on the size.
	Iters int
	// Rails asks for a network namespace with this many interfaces besides lo,
	// rail1, rail2 and so on.
	Rails int
	// Unpinned leaves the ends on any processor: goroutines are not to be placed.
	Unpinned bool
}

// The figures that tests print: half a round trip, how long one operation takes, and
// how many messages, operations and bytes there are in a second.
func lat(c Command) Figure    { return Figure{Command: c, Key: "half_rtt_us.p50"} }
func single(c Command) Figure { return Figure{Command: c, Key: "op_us.p50"} }
func rate(c Command) Figure   { return Figure{Command: c, Key: "msgs_per_s"} }
func ops(c Command) Figure    { return Figure{Command: c, Key: "ops_per_s"} }
func bw(c Command) Figure     { return Figure{Command: c, Key: "bytes_per_s"} }
func reg(c Command) Figure    { return Figure{Command: c, Key: "reg_ns"} }

// at is the figure of one line of several.
func (f Figure) at(where string, values ...any) Figure {
	f.Where = fmt.Sprintf(where, values...)
	return f
}

// ours and the others are the runs: the test and its arguments, and how long.
func ours(links, test string, iters int) Command {
	return Command{Program: "lnx", Args: "perf --links " + links + " " + test, Iters: iters}
}

func cLNX(test string, iters int) Command {
	return Command{Program: "cbench", Args: "--provider lnx --domain lo " + test, Iters: iters}
}

func cShm(test string, iters int) Command {
	return Command{Program: "cbench", Args: "--provider shm " + test, Iters: iters}
}

func cTCP(test string, iters int) Command {
	return Command{Program: "cbench", Args: "--provider tcp;ofi_rxm --domain lo " + test, Iters: iters}
}

// beside is a C program to compare with, by its name in those of rows.
type beside struct {
	name string
	run  func(test string, iters int) Command
}

// both has two rails, as C LNX in the rows beside it.
const both = "shm+tcp:lo"

// Depths are how many receives or messages wait in the rows about matching.
var Depths = []int{10, 100, 1000, 10_000, 100_000}

// Rows are what is compared, in order; depths are Depths, or others for a quick look.
func Rows(depths []int) []Row {
	return slices.Concat(goals(), sizes(), streams(), memory(), matching(depths), goroutines(), rails(), idle())
}

// goals are most rows that have one.
func goals() []Row {
	const large = "lat --size 4194304"
	small, smallLNX, smallShm := ours(both, "lat", 500_000), cLNX("lat", 500_000), cShm("lat", 500_000)
	return []Row{
		{"half RTT 8 B, shm+tcp:lo / C LNX", "us", lat(small), []Figure{lat(smallLNX)}, 0.6, false},
		{"half RTT 8 B, shm+tcp:lo / C shm", "us", lat(small), []Figure{lat(smallShm)}, 1.7, false},
		{
			"half RTT 8 B, tcp:lo / C tcp;ofi_rxm:lo", "us",
			lat(ours("tcp:lo", "lat", 40_000)), []Figure{lat(cTCP("lat", 40_000))}, 1.05, false,
		},
		{
			"rate 8 B window 64, shm+tcp:lo / C LNX", "msg/s",
			rate(ours(both, "rate", 3_000_000)), []Figure{rate(cLNX("rate", 3_000_000))}, 1, true,
		},
		{
			"rate 8 B window 64, 32 in a call, shm+tcp:lo / C LNX", "msg/s",
			rate(ours(both, "rate --batch 32", 3_000_000)), []Figure{rate(cLNX("rate", 3_000_000))}, 1.5, true,
		},
		{
			"half RTT 4 MiB, shm+tcp:lo / better of C LNX, C shm", "us",
			lat(ours(both, large, 1500)), []Figure{lat(cLNX(large, 1500)), lat(cShm(large, 1500))}, 1.03, false,
		},
		{
			"half RTT 4 MiB of huge pages, shm+tcp:lo / better of C LNX, C shm", "us",
			lat(ours(both, large+" --huge", 1500)),
			[]Figure{lat(cLNX(large+" --huge", 1500)), lat(cShm(large+" --huge", 1500))}, 1.03, false,
		},
	}
}

// sizes compares half round trips of other sizes.
func sizes() (rows []Row) {
	const test = "lat --size 0,64,1024,4096,65536,1048576"
	for _, size := range []uint64{0, 64, 1 << 10, 4 << 10, 64 << 10, 1 << 20} {
		for _, c := range []beside{{"C LNX", cLNX}, {"C shm", cShm}} {
			rows = append(rows, Row{
				fmt.Sprintf("half RTT %s, %s / %s", ui.Size(size), both, c.name), "us",
				lat(ours(both, test, 0)).at("size=%d", size), []Figure{lat(c.run(test, 0)).at("size=%d", size)}, 0, false,
			})
		}
	}
	return rows
}

// streams compares message rates and bandwidths of tagged messages.
func streams() (rows []Row) {
	for _, r := range []struct {
		what, test string
		sizes      []uint64
	}{
		{"window 64", "rate --size 0,64,1024,4096,65536", []uint64{0, 64, 1 << 10, 4 << 10, 64 << 10}},
		{"window 64 both ways", "rate --both --size 0,8,1024,65536", []uint64{0, 8, 1 << 10, 64 << 10}},
		{"window 1", "rate --window 1 --size 8", []uint64{8}},
	} {
		for _, size := range r.sizes {
			rows = append(rows, Row{
				fmt.Sprintf("rate %s %s, %s / C LNX", ui.Size(size), r.what, both), "msg/s",
				rate(ours(both, r.test, 0)).at("size=%d", size), []Figure{rate(cLNX(r.test, 0)).at("size=%d", size)}, 0, true,
			})
		}
	}
	const test = "bw --window 8 --size 4096,65536,1048576,4194304"
	for _, size := range []uint64{4 << 10, 64 << 10, 1 << 20, 4 << 20} {
		for _, c := range []beside{{"C LNX", cLNX}, {"C shm", cShm}} {
			rows = append(rows, Row{
				fmt.Sprintf("bandwidth %s window 8, %s / %s", ui.Size(size), both, c.name), "B/s",
				bw(ours(both, test, 0)).at("size=%d", size), []Figure{bw(c.run(test, 0)).at("size=%d", size)}, 0, true,
			})
		}
	}
	return rows
}

// memory compares reads, writes and additions in the other end's memory, and untagged
// messages, with each kind of rail alone: C LNX has none of them.
func memory() (rows []Row) {
	const registering = "reg --op write --size 4096"
	for _, l := range []struct {
		links string
		beside
		single, small, large int // iterations of lat, rate and bw
	}{
		{"shm", beside{"C shm", cShm}, 200_000, 1_000_000, 2000},
		{"tcp:lo", beside{"C tcp;ofi_rxm:lo", cTCP}, 40_000, 100_000, 1000},
	} {
		for _, r := range []struct {
			what, unit, test string
			iters            int
			figure           func(Command) Figure
			goal             float64
			more             bool
		}{
			{"bandwidth of write 4 MiB", "B/s", "bw --op write --size 4194304 --window 8", l.large, bw, 0.97, true},
			{"bandwidth of read 4 MiB", "B/s", "bw --op read --size 4194304 --window 8", l.large, bw, 0.97, true},
			{"half RTT of write 8 B", "us", "lat --op write", l.single, lat, 0, false},
			{"read 8 B", "us", "lat --op read", l.single, single, 0, false},
			{"fadd 8 B", "us", "lat --op fadd", l.single, single, 0, false},
			{"rate of fadd 8 B window 64", "op/s", "rate --op fadd", l.small, ops, 0, true},
			{"half RTT of send 8 B", "us", "lat --op send", l.single, lat, 0, false},
			{"rate of send 8 B window 64", "msg/s", "rate --op send", l.small, rate, 0, true},
		} {
			rows = append(rows, Row{
				fmt.Sprintf("%s, %s / %s", r.what, l.links, l.name), r.unit,
				r.figure(ours(l.links, r.test, r.iters)), []Figure{r.figure(l.run(r.test, r.iters))}, r.goal, r.more,
			})
		}
		rows = append(rows, Row{
			fmt.Sprintf("cache hit / fi_mr_reg and fi_close of 4 KiB, %s", l.name), "ns",
			reg(ours(l.links, registering, 1_000_000)), []Figure{reg(l.run(registering, 100_000))}, 0, false,
		})
	}
	return append(rows, Row{"cache hit among 1024 entries", "ns", reg(ours("shm", registering, 1_000_000)), nil, 100, false})
}

// lnxDepth is the greatest depth in the rows beside C LNX, which walks through all that
// wait, and crashes with more than 65,535 of them.
const lnxDepth = 10_000

// matching compares waiting for one message among many with waiting for one alone, and
// with waiting among as many in C LNX.
func matching(depths []int) (rows []Row) {
	list := func(depths []int) string { return strings.ReplaceAll(strings.Trim(fmt.Sprint(depths), "[]"), " ", ",") }
	shallow := slices.DeleteFunc(slices.Clone(depths), func(n int) bool { return n > lnxDepth })
	waiting := lat(ours(both, fmt.Sprintf("match --posted 0,%s --unexpected %[1]s", list(depths)), 0))
	c := lat(cLNX(fmt.Sprintf("match --kind exact,tag,source --posted %s --unexpected %[1]s", list(shallow)), 0))
	for _, depth := range depths {
		for _, kind := range []string{"exact", "tag", "source"} {
			none := waiting.at("kind=%s,posted=0,unexpected=0", kind)
			for _, w := range []struct {
				what, where string
				goal        float64 // at the greatest depth
			}{
				{"posted", fmt.Sprintf("kind=%s,posted=%d,unexpected=0", kind, depth), 1.3},
				{"unexpected", fmt.Sprintf("kind=%s,posted=0,unexpected=%d", kind, depth), 0},
			} {
				name := fmt.Sprintf("half RTT 8 B with %d %s", depth, w.what)
				if depth < slices.Max(depths) {
					w.goal = 0
				}
				rows = append(rows, Row{name + " / with none, " + kind, "us", waiting.at("%s", w.where), []Figure{none}, w.goal, false})
				if depth <= lnxDepth {
					rows = append(rows, Row{name + ", " + both + " / C LNX, " + kind, "us", waiting.at("%s", w.where), []Figure{c.at("%s", w.where)}, 0, false})
				}
			}
		}
	}
	return rows
}

// goroutines compares many of them with one, and that one with a loop that polls.
func goroutines() (rows []Row) {
	for _, r := range []struct {
		what, unit, test string
		polls            Command
		iters            int
		figure           func(Command) Figure
		more             bool
	}{
		{"half RTT 8 B", "us", "lat", ours(both, "lat", 500_000), 100_000, lat, false},
		{"rate 8 B window 64", "msg/s", "rate", ours(both, "rate", 3_000_000), 300_000, rate, true},
	} {
		some := func(n int) Figure {
			c := ours(both, fmt.Sprintf("%s --goroutines %d", r.test, n), r.iters)
			c.Unpinned = true
			return r.figure(c)
		}
		rows = append(rows,
			Row{r.what + ", 1 blocking goroutine / polling, " + both, r.unit, some(1), []Figure{r.figure(r.polls)}, 0, r.more},
			Row{r.what + ", 8 blocking goroutines / 1, " + both, r.unit, some(8), []Figure{some(1)}, 0, r.more},
			Row{r.what + ", 64 blocking goroutines / 1, " + both, r.unit, some(64), []Figure{some(1)}, 0, r.more})
	}
	return rows
}

// rails compares a busy rail that has idle ones beside it with the same alone.
func rails() (rows []Row) {
	const most = 14
	others := func(n int) string {
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("rail%d", i+1))
		}
		return strings.Join(names, ",")
	}
	among := func(links string, iters int) Figure {
		c := ours(links, "lat", iters)
		c.Rails = most
		return lat(c)
	}
	for _, r := range []struct {
		busy, more string // the busy rail, and what joins others to it
		iters      int
	}{{"shm", "+tcp:", 500_000}, {"tcp:lo", ",", 40_000}} {
		alone := []Figure{among(r.busy, r.iters)}
		rows = append(rows,
			Row{"half RTT 8 B, " + r.busy + " with 1 idle tcp rail / alone", "us", among(r.busy+r.more+others(1), r.iters), alone, 0, false},
			Row{"half RTT 8 B, " + r.busy + " with 14 idle tcp rails / alone", "us", among(r.busy+r.more+others(most), r.iters), alone, 1.2, false})
	}
	return rows
}

// idle is what waiting costs, and beside C, where shm looks for messages all the time.
func idle() (rows []Row) {
	const iters = 100
	cpu := func(c Command) Figure { return Figure{Command: c, Key: "idle.cpu_percent"} }
	wake := func(c Command) Figure { return Figure{Command: c, Key: "idle.wakeup_us.p50"} }
	for _, l := range []struct {
		links  string
		wakeUp float64
		bases  []beside
	}{
		{"tcp:lo", 100, []beside{{"C tcp;ofi_rxm:lo", cTCP}}},
		{"shm", 200, []beside{{"C shm", cShm}}},
		{both, 200, nil},
	} {
		c := ours(l.links, "idle", iters)
		rows = append(rows,
			Row{"idle CPU, " + l.links, "%", cpu(c), nil, 2, false},
			Row{"wake-up p50, " + l.links, "us", wake(c), nil, l.wakeUp, false})
		for _, b := range l.bases {
			rows = append(rows,
				Row{"idle CPU, " + l.links + " / " + b.name, "%", cpu(c), []Figure{cpu(b.run("idle", iters))}, 0, false},
				Row{"wake-up p50, " + l.links + " / " + b.name, "us", wake(c), []Figure{wake(b.run("idle", iters))}, 0, false})
		}
	}
	return rows
}
