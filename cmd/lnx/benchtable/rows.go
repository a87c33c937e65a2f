package benchtable

import (
	"fmt"
	"slices"
	"strings"
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
	// Iters is the number of messages or round trips.
	Iters int
	// Rails asks for a network namespace with this many interfaces besides lo,
	// rail1, rail2 and so on.
	Rails int
}

const halfRTT = "half_rtt_us.p50"

// lat is the half round trip of a run.
func lat(c Command) Figure { return Figure{Command: c, Key: halfRTT} }

// single is how long one operation of a run takes.
func single(c Command) Figure { return Figure{Command: c, Key: "op_us.p50"} }

func rate(c Command) Figure { return Figure{Command: c, Key: "msgs_per_s"} }

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

// Depth is how many receives are many in the rows about matching.
const Depth = 100_000

// Rows are what is compared, in order; depth is Depth, or fewer for a quick look.
func Rows(depth int) []Row {
	const link = "shm+tcp:lo"
	small, smallLNX, smallShm := ours(link, "lat", 500_000), cLNX("lat", 500_000), cShm("lat", 500_000)
	return slices.Concat([]Row{
		{"half RTT 8 B, shm+tcp:lo / C LNX", "us", lat(small), []Figure{lat(smallLNX)}, 0.6, false},
		{"half RTT 8 B, shm+tcp:lo / C shm", "us", lat(small), []Figure{lat(smallShm)}, 1.7, false},
		{
			"half RTT 8 B, tcp:lo / C tcp;ofi_rxm:lo", "us",
			lat(ours("tcp:lo", "lat", 40_000)), []Figure{lat(cTCP("lat", 40_000))}, 1.05, false,
		},
		{
			"rate 8 B window 64, shm+tcp:lo / C LNX", "msg/s",
			rate(ours(link, "rate", 3_000_000)), []Figure{rate(cLNX("rate", 3_000_000))}, 1, true,
		},
		{
			"rate 8 B window 64, 32 in a call, shm+tcp:lo / C LNX", "msg/s",
			rate(ours(link, "rate --batch 32", 3_000_000)), []Figure{rate(cLNX("rate", 3_000_000))}, 1.5, true,
		},
		{
			"half RTT 4 MiB, shm+tcp:lo / better of C LNX, C shm", "us",
			lat(ours(link, "lat --size 4194304", 1500)),
			[]Figure{lat(cLNX("lat --size 4194304", 1500)), lat(cShm("lat --size 4194304", 1500))}, 1.03, false,
		},
	}, memory(), matching(link, depth), many(), idle())
}

// memory compares reads and writes of the other end's memory.
func memory() (rows []Row) {
	const large = "--size 4194304 --window 8"
	const registering = "reg --op write --size 4096"
	reg := func(c Command) Figure { return Figure{Command: c, Key: "reg_ns"} }
	bw := func(c Command) Figure { return Figure{Command: c, Key: "bytes_per_s"} }
	for _, l := range []struct {
		links, name  string
		base         func(test string, iters int) Command
		single, many int
	}{
		{"shm", "C shm", cShm, 200_000, 2000},
		{"tcp:lo", "C tcp;ofi_rxm:lo", cTCP, 40_000, 1000},
	} {
		for _, op := range []string{"write", "read"} {
			test := fmt.Sprintf("bw --op %s %s", op, large)
			rows = append(rows, Row{
				fmt.Sprintf("bandwidth of %s 4 MiB, %s / %s", op, l.links, l.name), "B/s",
				bw(ours(l.links, test, l.many)), []Figure{bw(l.base(test, l.many))}, 0.97, true,
			})
		}
		rows = append(rows,
			Row{
				fmt.Sprintf("half RTT of write 8 B, %s / %s", l.links, l.name), "us",
				lat(ours(l.links, "lat --op write", l.single)), []Figure{lat(l.base("lat --op write", l.single))}, 0, false,
			},
			Row{
				fmt.Sprintf("read 8 B, %s / %s", l.links, l.name), "us",
				single(ours(l.links, "lat --op read", l.single)), []Figure{single(l.base("lat --op read", l.single))}, 0, false,
			},
			Row{
				fmt.Sprintf("cache hit / fi_mr_reg and fi_close of 4 KiB, %s", l.name), "ns",
				reg(ours(l.links, registering, 1_000_000)), []Figure{reg(l.base(registering, 100_000))}, 0, false,
			})
	}
	return append(rows, Row{"cache hit among 1024 entries", "ns", reg(ours("shm", registering, 1_000_000)), nil, 100, false})
}

// matching compares waiting for one message among many with waiting for one alone.
func matching(link string, depth int) []Row {
	const few = "--posted 1000"
	c := ours(link, fmt.Sprintf("match --posted 0,%d --unexpected %d", depth, depth), 200_000)
	at := func(kind string, posted, unexpected int) Figure {
		return Figure{c, fmt.Sprintf("kind=%s,posted=%d,unexpected=%d", kind, posted, unexpected), halfRTT}
	}
	rows := []Row{{
		"half RTT 8 B with 1000 posted, shm+tcp:lo / C LNX", "us",
		lat(ours(link, "match --kind exact "+few, 200_000)), []Figure{lat(cLNX("match "+few, 40_000))}, 0, false,
	}}
	for _, kind := range []string{"exact", "tag", "source"} {
		none := []Figure{at(kind, 0, 0)}
		rows = append(rows,
			Row{fmt.Sprintf("half RTT 8 B with %d posted / with none, %s", depth, kind), "us", at(kind, depth, 0), none, 1.3, false},
			Row{fmt.Sprintf("half RTT 8 B with %d unexpected / with none, %s", depth, kind), "us", at(kind, 0, depth), none, 0, false})
	}
	return rows
}

// many compares a busy rail that has many idle ones beside it with the same alone.
func many() []Row {
	const n = 14
	var rails []string
	for i := range n {
		rails = append(rails, fmt.Sprintf("rail%d", i+1))
	}
	others := strings.Join(rails, ",")
	among := func(links string, iters int) Figure {
		c := ours(links, "lat", iters)
		c.Rails = n
		return lat(c)
	}
	return []Row{
		{
			"half RTT 8 B, shm with 14 idle tcp rails / shm alone", "us",
			among("shm+tcp:"+others, 500_000), []Figure{among("shm", 500_000)}, 1.2, false,
		},
		{
			"half RTT 8 B, tcp:lo with 14 idle tcp rails / alone", "us",
			among("tcp:lo,"+others, 40_000), []Figure{among("tcp:lo", 40_000)}, 1.2, false,
		},
	}
}

// idle is what waiting costs.
func idle() (rows []Row) {
	for _, l := range []struct {
		links  string
		wakeUp float64
	}{{"tcp:lo", 100}, {"shm", 200}, {"shm+tcp:lo", 200}} {
		c := ours(l.links, "idle", 100)
		rows = append(rows,
			Row{"idle CPU, " + l.links, "%", Figure{c, "", "idle.cpu_percent"}, nil, 2, false},
			Row{"wake-up p50, " + l.links, "us", Figure{c, "", "idle.wakeup_us.p50"}, nil, l.wakeUp, false})
	}
	return rows
}
