package trace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	opsHeader       = "start_ns,end_ns,op,bytes,link,tag,status\n"
	linksHeader     = "link,endpoint,rail,provider,local_nic,remote_nic,local_addr,remote_addr\n"
	endpointsHeader = "endpoint,address,link_name\n"
	nicHeader       = "time_ns,device,counter,value\n"
)

// files writes files and answers their directory.
func files(t *testing.T, texts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return dir
}

func opened(t *testing.T, texts map[string]string) *Run {
	t.Helper()
	run, err := Open(files(t, texts))
	require.NoError(t, err)
	return run
}

func meta(host string) string {
	return `{"format":1,"host":"` + host + `","start_ns":5,"end_ns":9,"ended":"closed"}`
}

// The peer is who has the address: on the same host, if several have it.
func TestPeers(t *testing.T) {
	run := opened(t, map[string]string{
		"meta_rank0.json": meta("a"), "meta_rank1.json": meta("a"), "meta_rank2.json": meta("b"), "meta_rank3.json": meta("b"),
		"endpoints_rank0.csv": endpointsHeader + "0,shm1,shm+tcp\n0,tcp0,shm+tcp\n",
		"endpoints_rank1.csv": endpointsHeader + "0,shm2,shm+tcp\n0,tcp1,shm+tcp\n1,tcp1,shm+tcp\n",
		"endpoints_rank2.csv": endpointsHeader + "0,shm1,shm+tcp\n",
		"endpoints_rank3.csv": endpointsHeader + "0,shm2,tcp\n0,lo,tcp\n",
		"links_rank0.csv": linksHeader +
			"0,0,0,shm,shm,shm,shm1,shm2\n" +
			"1,0,1,tcp;ofi_rxm,eth0,eth1,tcp0,tcp1\n" +
			"2,0,1,tcp;ofi_rxm,eth0,eth9,tcp0,lo\n" +
			"3,0,1,tcp;ofi_rxm,eth0,,tcp0,gone\n" +
			"4,0,1,tcp;ofi_rxm,eth0,,tcp0,\n",
		"links_rank3.csv": linksHeader + "0,0,0,shm,shm,shm,shm2,shm1\n",
	})
	require.Empty(t, run.Notes())
	require.Equal(t, []string{"a", "b"}, run.Hosts())
	require.Equal(t, []string{"shm+tcp", "tcp"}, run.Names())
	var peers []int
	var paths []string
	for _, l := range run.Ranks[0].Links {
		peers = append(peers, l.Peer)
		paths = append(paths, l.Path.Rail+" "+l.Path.String())
	}
	require.Equal(t, []int{1, 1, 3, Unknown, Unknown}, peers)
	require.Equal(t, []string{
		"shm a/shm → a/shm", "tcp;ofi_rxm:eth0 a/eth0 → a/eth1", "tcp;ofi_rxm:eth0 a/eth0 → b/eth9",
		"tcp;ofi_rxm:eth0 a/eth0 → unknown", "tcp;ofi_rxm:eth0 a/eth0 → unknown",
	}, paths)
	require.Equal(t, 2, run.Ranks[3].Links[0].Peer)
	require.Equal(t, "b/shm → b/shm", run.Ranks[3].Links[0].Path.String())
	require.Len(t, run.Paths, 5)
	require.Equal(t, []string{"shm", "tcp;ofi_rxm:eth0", otherRails}, run.RailNames())
}

func TestOneHostNeedsNoName(t *testing.T) {
	run := opened(t, map[string]string{
		"meta_rank0.json": meta("a"), "links_rank0.csv": linksHeader + "0,0,0,cxi,cxi0,cxi1,x,y\n",
	})
	require.Equal(t, "cxi0 → cxi1", run.Ranks[0].Links[0].Path.String())
}

// Whatever is not right is told, and the rest is read.
func TestNotes(t *testing.T) {
	run := opened(t, map[string]string{
		"meta_rank0.json": `{"format":1,"ended":"the disk is full","ops":{"recorded":2,"dropped":7,"unfinished":3,"ended":"cap"}}`,
		"meta_rank1.json": `{"format"`,
		"ops_rank0.csv":   opsHeader + "10,20,tsend,8,0,0x1,0\nnonsense\nmore\n30,40,tsend,8,5,0x1,0\n50,60,tse",
		"links_rank1.csv": linksHeader[:10],
	})
	var links []string
	require.NoError(t, run.Ops(t.Context(), nil, func(op *Op) error {
		links = append(links, op.Link.Path.String())
		return nil
	}))
	require.Equal(t, []string{"unknown → unknown", "unknown → unknown"}, links)
	notes := strings.Join(run.Notes(), "\n")
	for _, want := range []string{
		"rank 0: recording ended early: the disk is full", "rank 0: 7 operations were not recorded (cap)",
		"rank 0: 3 operations had not completed at the end", "rank 0 has no links file",
		"meta_rank1.json is no record of a rank", "links_rank1.csv: the last line is cut off",
		"ops_rank0.csv: 2 lines were passed over, the first for: line 3: 1 fields, and the header has 7; the last line is cut off",
	} {
		require.Contains(t, notes, want)
	}
	require.Len(t, run.Notes(), 7)
	require.NoError(t, run.Ops(t.Context(), nil, func(*Op) error { return nil }))
	require.Len(t, run.Notes(), 7, "reading once more tells nothing twice")
}

func TestOpenErrors(t *testing.T) {
	_, err := Open(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Open(t.TempDir())
	require.ErrorContains(t, err, "has no files of the op timer")
	_, err = Open(files(t, map[string]string{"links_rank0.csv": "a,b\n"}))
	require.ErrorContains(t, err, "the header has no column link")
}

func TestOpsStop(t *testing.T) {
	texts := map[string]string{"ops_rank0.csv": opsHeader + strings.Repeat("10,20,tsend,8,0,0x1,0\n", 3*rowsBetween)}
	run := opened(t, texts)
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	require.ErrorIs(t, run.Ops(ctx, nil, func(*Op) error { n++; cancel(); return nil }), context.Canceled)
	require.Less(t, n, 2*rowsBetween)
	require.ErrorIs(t, run.Ops(t.Context(), nil, func(*Op) error { return os.ErrClosed }), os.ErrClosed)

	p := new(Progress)
	require.NoError(t, run.Ops(t.Context(), p, func(*Op) error { return nil }))
	size, others := run.Size()
	require.Equal(t, size, p.Done())
	require.Zero(t, others)
	require.EqualValues(t, len(texts["ops_rank0.csv"]), size)
}

// A file that names ever new links and operations does not fill memory.
func TestManyNames(t *testing.T) {
	var text strings.Builder
	text.WriteString(opsHeader)
	for i := range mostRows + 100 {
		fmt.Fprintf(&text, "10,20,op%d,8,%d,0x1,0\n", i, i)
	}
	run := opened(t, map[string]string{"ops_rank0.csv": text.String()})
	rows, err := run.Summarise(t.Context(), nil, false)
	require.NoError(t, err)
	require.LessOrEqual(t, len(rows), mostRows+1)
	total := int64(0)
	for _, r := range rows {
		total += r.Count
	}
	require.EqualValues(t, mostRows+100, total)
}

func TestEarliest(t *testing.T) {
	run := opened(t, map[string]string{"meta_rank0.json": meta("a"), "ops_rank0.csv": opsHeader + "3,20,tsend,8,0,0x1,0\n"})
	at, err := run.Earliest(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 5, at)
	run = opened(t, map[string]string{"ops_rank0.csv": opsHeader + "30,40,tsend,8,0,0x1,0\n20,41,tsend,8,0,0x1,0\n", "nic_rank0.csv": nicHeader + "25,eth0,x,1\n"})
	at, err = run.Earliest(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 20, at)
}

// Whatever the files hold, nothing but an error comes of it.
func FuzzAnalyse(f *testing.F) {
	f.Add([]byte(opsHeader+"-1,9223372036854775807,read,9223372036854775807,0,0xf,5\n"), []byte(linksHeader+"0,0,0,cxi,cxi0,cxi1,a,b\n"),
		[]byte(nicHeader+"0,x,y,1\n9223372036854775807,x,y,18446744073709551615\n"))
	f.Add([]byte(opsHeader+"1,1,,0,-1,0x0,-1\n5,6,b,7,8,0x9,10\n"), []byte(""), []byte(nicHeader))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, ops, links, nic []byte) {
		for name, text := range map[string][]byte{"ops_rank0.csv": ops, "links_rank0.csv": links, "nic_rank0.csv": nic} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o644))
		}
		run, err := Open(dir)
		if err != nil {
			return
		}
		a, err := run.Analyse(t.Context(), nil, Limits{Bins: 8, Points: 20})
		if err != nil {
			return
		}
		require.LessOrEqual(t, a.Line.Bins(), 8)
		var count, cells int64
		for _, r := range a.Summary {
			require.LessOrEqual(t, r.Percentile(99), r.Max)
			count += r.Count
		}
		for _, r := range a.Rails {
			for _, c := range r.Cells.Cells() {
				cells += c.Ops
			}
		}
		require.Equal(t, a.Ops, count)
		require.Equal(t, a.Ops, cells)
	})
}
