// Package synth writes traces as the op timer does, of a run that never was: ranks on
// hosts that send to each other over shared memory and over NICs, whose counters are
// sampled. The same configuration gives the same files.
package synth

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	"golnx/rail/timer"
)

// Config says what is made up. The zero value is a small run.
type Config struct {
	Seed uint64
	// Hosts have RanksPerHost ranks each; 0 is 2 hosts with 2 ranks.
	Hosts, RanksPerHost int
	// Ops is how many operations there are altogether; 0 is 10,000.
	Ops int
	// NICs are the names of each host's NICs; none is eth0 and eth1.
	NICs []string
	// Suffix is put behind every name in the files.
	Suffix string
}

// Start is when every run begins, in Unix ns.
const Start = 1764457290_123456789

const (
	sampleEvery = 5e6 // ns
	window      = 8   // operations under way at once
)

// shm and the NICs: how long a message takes at least, and bytes per ns.
var (
	shmSpeed = speed{600, 9}
	nicSpeed = speed{14_000, 1.1}
)

type speed struct{ latency, bandwidth float64 }

// Extremes writes a trace of one rank with the smallest and the largest numbers that
// the files can hold.
func Extremes(dir string) error {
	const most = "9223372036854775807"
	var err error
	for name, text := range map[string]string{
		"ops_rank0.csv": "start_ns,end_ns,op,bytes,link,tag,status\n" +
			"-1," + most + ",tsend," + most + ",0,0xffffffffffffffff," + most + "\n" +
			most + "," + most + ",read," + most + "," + most + ",0x0,0\n" +
			"0,0,,0,-1,0x0,-1\n-1,-1,write,-1,0,0x0,0\n",
		"links_rank0.csv": "link,endpoint,rail,provider,local_nic,remote_nic,local_addr,remote_addr\n0,18446744073709551615,-1,,,,,\n",
		"nic_rank0.csv": "time_ns,device,counter,value\n-1,,,0\n" + most + ",,,18446744073709551615\n" +
			"0,x,y,0\n1,x,y,18446744073709551615\n",
		"cqgaps_rank0.csv": "start_ns,end_ns,endpoint\n-1," + most + ",18446744073709551615\n",
	} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return err
}

// run is a run that is being made up.
type run struct {
	Config
	dir string
	rng *rand.Rand
}

// Write makes up a run and writes its files into a directory that is there.
func Write(dir string, c Config) error {
	if c.Hosts == 0 {
		c.Hosts = 2
	}
	if c.RanksPerHost == 0 {
		c.RanksPerHost = 2
	}
	if c.Ops == 0 {
		c.Ops = 10_000
	}
	if len(c.NICs) == 0 {
		c.NICs = []string{"eth0", "eth1"}
	}
	r := &run{Config: c, dir: dir, rng: rand.New(rand.NewPCG(c.Seed, 1))}
	ranks := c.Hosts * c.RanksPerHost
	for rank := range ranks {
		ops := c.Ops / ranks
		if rank < c.Ops%ranks {
			ops++
		}
		if err := r.rank(rank, ops); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) name(format string, args ...any) string {
	return fmt.Sprintf(format, args...) + r.Suffix
}

func (r *run) host(rank int) int { return rank / r.RanksPerHost }

// address is what a rank is reached at over NIC i, or over shm at -1.
func (r *run) address(rank, i int) string {
	if i < 0 {
		return r.name("fi_shm://%d", rank)
	}
	return r.name("fi_sockaddr_in://10.0.%d.%d:%d", i, r.host(rank)+1, 4000+rank)
}

// link is a row of the links file, and how fast it is.
type link struct {
	peer, nic int // -1 is shm
	speed
}

// links answers the links of a rank: shm to its neighbours, every NIC to the others.
func (r *run) links(rank int) []link {
	var all []link
	for peer := range r.Hosts * r.RanksPerHost {
		switch {
		case peer == rank:
		case r.host(peer) == r.host(rank):
			all = append(all, link{peer, -1, shmSpeed})
		default:
			for nic := range r.NICs {
				s := nicSpeed
				s.bandwidth *= 1 - 0.3*float64(nic%2)
				all = append(all, link{peer, nic, s})
			}
		}
	}
	return all
}

func (r *run) rank(rank, ops int) error {
	links := r.links(rank)
	end, carried, err := r.ops(rank, ops, links)
	return errors.Join(err,
		r.table("links", rank, "link,endpoint,rail,provider,local_nic,remote_nic,local_addr,remote_addr", func(row func(...any)) {
			for id, l := range links {
				provider, nic := "shm", r.name("shm")
				if l.nic >= 0 {
					provider, nic = "tcp;ofi_rxm", r.name("%s", r.NICs[l.nic])
				}
				row(id, 0, l.nic+1, provider, nic, nic, r.address(rank, l.nic), r.address(l.peer, l.nic))
			}
		}),
		r.table("endpoints", rank, "endpoint,address,link_name", func(row func(...any)) {
			for nic := -1; nic < len(r.NICs); nic++ {
				row(0, r.address(rank, nic), r.name("shm+tcp"))
			}
		}),
		r.counters(rank, end, carried),
		r.meta(rank, ops, end))
}

func (r *run) meta(rank, ops int, end int64) error {
	text, err := json.Marshal(timer.Meta{
		Format: timer.FormatVersion, Rank: rank, RankSource: "PMI_RANK", Host: r.name("node%d", r.host(rank)),
		PID: 1000 + rank, Start: Start, End: end,
		Ops: timer.OpCounts{RowCounts: timer.RowCounts{Recorded: uint64(ops)}}, Ended: "closed",
	})
	if err != nil {
		return err
	}
	return os.WriteFile(r.path("meta", rank, "json"), text, 0o644)
}

func (r *run) path(kind string, rank int, suffix string) string {
	return filepath.Join(r.dir, fmt.Sprintf("%s_rank%d.%s", kind, rank, suffix))
}

// table writes a CSV file; texts are quoted.
func (r *run) table(kind string, rank int, header string, rows func(row func(...any))) error {
	f, err := os.Create(r.path(kind, rank, "csv"))
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<16)
	fmt.Fprintln(w, header)
	rows(func(fields ...any) {
		for i, field := range fields {
			if i > 0 {
				w.WriteByte(',')
			}
			if s, ok := field.(string); ok {
				w.WriteString(quote(s))
			} else {
				fmt.Fprint(w, field)
			}
		}
		w.WriteByte('\n')
	})
	return errors.Join(w.Flush(), f.Close())
}

func quote(s string) string {
	out := []byte{'"'}
	for i := range len(s) {
		if s[i] == '"' {
			out = append(out, '"')
		}
		out = append(out, s[i])
	}
	return string(append(out, '"'))
}

// ops writes the operations. It answers when the last one ends, and the bytes that
// each NIC carried in each interval between samples.
func (r *run) ops(rank, n int, links []link) (end int64, carried [][]float64, err error) {
	f, err := os.Create(r.path("ops", rank, "csv"))
	if err != nil {
		return 0, nil, err
	}
	w := bufio.NewWriterSize(f, 1<<16)
	fmt.Fprintln(w, "start_ns,end_ns,op,bytes,link,tag,status")
	carried = make([][]float64, len(r.NICs))
	end = Start
	var line []byte
	busy := make([]float64, len(links)) // until when, in ns from Start
	now := 0.0
	for i := range n {
		op := r.op(float64(i)/float64(n), now, i, links, busy)
		line = strconv.AppendInt(line[:0], Start+int64(op.start), 10)
		line = append(line, ',')
		line = strconv.AppendInt(line, Start+int64(op.end), 10)
		line = append(append(append(line, ','), op.name...), ',')
		line = strconv.AppendInt(line, int64(op.bytes), 10)
		line = append(line, ',')
		line = strconv.AppendInt(line, int64(op.link), 10)
		line = append(line, ",0x"...)
		line = strconv.AppendUint(line, uint64(i)<<8|uint64(rank), 16)
		line = append(line, ',')
		line = append(strconv.AppendInt(line, int64(op.status), 10), '\n')
		if _, err := w.Write(line); err != nil {
			return 0, nil, err
		}
		end = max(end, Start+int64(op.end))
		if nic := links[op.link].nic; nic >= 0 {
			at := int(op.end / sampleEvery)
			for len(carried[nic]) <= at {
				carried[nic] = append(carried[nic], 0)
			}
			carried[nic][at] += op.bytes
		}
		now = op.next
	}
	return end, carried, errors.Join(w.Flush(), f.Close())
}

type operation struct {
	start, end, next, bytes float64
	link, status            int
	name                    string
}

// phase answers the sizes of messages as the run goes on.
func phase(progress float64) (smallest, doublings float64) {
	switch {
	case progress < 0.3:
		return 8 << 10, 3
	case progress < 0.6:
		return 64, 4
	case progress < 0.8:
		return 128 << 10, 4
	}
	return 32 << 10, 2
}

// op makes up one, of which a few are slow; a NIC is in trouble for a while.
func (r *run) op(progress, now float64, i int, links []link, busy []float64) operation {
	o := operation{link: r.rng.IntN(len(links)), start: now, name: "tsend"}
	l := links[o.link]
	smallest, doublings := phase(progress)
	o.bytes = math.Floor(smallest * math.Pow(2, doublings*r.rng.Float64()))
	if l.nic >= 0 && r.rng.IntN(5) == 0 {
		o.name = "write"
		if o.bytes > 65536 && r.rng.IntN(3) == 0 {
			o.name = "read"
		}
	}
	s := l.speed
	if l.nic == 1 && progress > 0.66 && progress < 0.72 {
		s.bandwidth /= 5
		s.latency *= 3
	}
	jitter := math.Exp(0.35 * r.rng.NormFloat64())
	if r.rng.IntN(400) == 0 {
		jitter *= 5 + 40*r.rng.Float64()
	}
	begin := max(o.start, busy[o.link])
	transfer := o.bytes / s.bandwidth
	busy[o.link] = begin + transfer
	o.end = begin + transfer + s.latency*jitter
	if l.nic >= 0 && r.rng.IntN(20_000) == 0 {
		o.status = 110
		o.end += 20e6
	}
	// The window moves on as messages are sent: about every eighth of one's time.
	// Now and then the ranks compute.
	o.next = now + (o.end-o.start)/window + 200*r.rng.Float64()
	if i%1000 == 999 {
		o.next += 3e6
	}
	return o
}

// counters writes samples of the NICs, by the first rank of each host.
func (r *run) counters(rank int, end int64, carried [][]float64) error {
	if rank%r.RanksPerHost != 0 {
		return nil
	}
	return r.table("nic", rank, "time_ns,device,counter,value", func(row func(...any)) {
		sums := make([]float64, len(r.NICs))
		for i := 0; Start+int64(i)*sampleEvery <= end+sampleEvery; i++ {
			at := Start + int64(i)*sampleEvery
			for nic, name := range r.NICs {
				if i > 0 && i-1 < len(carried[nic]) {
					sums[nic] += carried[nic][i-1]
				}
				sent := uint64(sums[nic])
				for _, c := range []struct {
					counter string
					value   uint64
				}{
					{"tx_bytes", sent}, {"rx_bytes", sent * 9 / 10},
					{"tx_packets", sent / 1448}, {"tx_dropped", 0},
				} {
					row(at, r.name("%s", name), r.name("%s", c.counter), 1_000_000+c.value)
				}
			}
		}
	})
}
