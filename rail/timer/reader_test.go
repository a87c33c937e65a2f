package timer

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// read answers a file's rows, and the text of each line error without the directory.
func read[T any](t testing.TB, open func(string) (*Reader[T], error), path string) (rows []T, bad []string, cut bool) {
	t.Helper()
	r, err := open(path)
	require.NoError(t, err)
	defer r.Close()
	for row, err := range r.All() {
		var line *LineError
		if errors.As(err, &line) {
			bad = append(bad, strings.TrimPrefix(err.Error(), filepath.Dir(path)+"/"))
			continue
		}
		require.NoError(t, err)
		rows = append(rows, row)
	}
	require.Equal(t, r.Size(), r.Offset())
	return rows, bad, r.Cut()
}

const opsHeader = "start_ns,end_ns,op,bytes,link,tag,status\n"

func TestReadOps(t *testing.T) {
	first := Op{Start: 10, End: 25, Op: "tsend", Bytes: 8, Link: 1, Tag: 0x2a}
	last := Op{Start: 11, End: math.MaxInt64, Op: "inject_write", Status: 265, Tag: math.MaxUint64}
	const firstLine = "10,25,tsend,8,1,0x2a,0\n"
	const lastLine = "11,9223372036854775807,inject_write,0,0,0xffffffffffffffff,265\n"
	for _, tc := range []struct {
		name, text string
		rows       []Op
		bad        []string
		cut        bool
	}{
		{name: "empty file", cut: true},
		{name: "header cut", text: opsHeader[:20], cut: true},
		{name: "no rows", text: opsHeader},
		{name: "two rows", text: opsHeader + firstLine + lastLine, rows: []Op{first, last}},
		{name: "carriage returns", text: strings.ReplaceAll(opsHeader+firstLine, "\n", "\r\n"), rows: []Op{first}},
		{
			name: "other order, unknown column",
			text: "new,status,tag,link,bytes,op,end_ns,start_ns\nx,0,0x2a,1,8,\"tsend\",25,10\n",
			rows: []Op{first},
		},
		{name: "last line cut", text: opsHeader + firstLine + lastLine[:len(lastLine)-2], rows: []Op{first}, cut: true},
		{name: "last line is zeroes", text: opsHeader + firstLine + "\x00\x00\x00", rows: []Op{first}, cut: true},
		{
			name: "bad lines",
			text: opsHeader + firstLine + "10,25,tsend\n" + "x,25,tsend,8,1,0x2a,0\n" + "10,5,tsend,8,1,0x2a,0\n" +
				"10,25,tsend,8,1,42,0\n" + "10,18446744073709551616,tsend,8,1,0x2a,0\n" + "10,18446744073709551615,tsend,8,1,0x2a,0\n" +
				"\n" + "10,25,\"tsend,8,1,0x2a,0\n" + "10,25,\"a\"b,8,1,0x2a,0\n" + "10,,tsend,8,1,0x2a,0\n" + lastLine,
			rows: []Op{first, last},
			bad: []string{
				"ops.csv:3: 3 fields, and the header has 7",
				`ops.csv:4: field 1 is "x", not a number from 0 to 2^64-1`,
				"ops.csv:5: it ends at 5, before it starts at 10",
				`ops.csv:6: field 6 is "42", not a number as 0x1f`,
				`ops.csv:7: field 2 is "18446744073709551616", not a number from 0 to 2^64-1`,
				`ops.csv:8: field 2 is "18446744073709551615", not a number from -1 to 2^63-1`,
				"ops.csv:9: 1 fields, and the header has 7",
				"ops.csv:10: a quote is not closed",
				"ops.csv:11: text after a closing quote",
				`ops.csv:12: field 2 is "", not a number`,
			},
		},
		{
			name: "a line too long",
			text: opsHeader + strings.Repeat("1", 3*longestLine) + "\n" + firstLine,
			rows: []Op{first},
			bad:  []string{"ops.csv:2: the line is longer than 65536 bytes"},
		},
		{name: "a last line too long", text: opsHeader + firstLine + strings.Repeat("1", 2*longestLine), rows: []Op{first}, cut: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rows, bad, cut := read(t, OpenOps, write(t, "ops.csv", tc.text))
			require.Equal(t, tc.rows, rows)
			require.Equal(t, tc.bad, bad)
			require.Equal(t, tc.cut, cut)
		})
	}
}

func TestReadOtherHeader(t *testing.T) {
	path := write(t, "ops.csv", "time_ns,device,counter,value\n")
	_, err := OpenOps(path)
	var line *LineError
	require.ErrorAs(t, err, &line)
	require.Equal(t, 1, line.Line)
	require.ErrorContains(t, err, "the header has no column start_ns")
	_, err = OpenOps(path + "x")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestReadStopsAndGoesOn(t *testing.T) {
	r, err := OpenOps(write(t, "ops.csv", opsHeader+"1,2,send,0,0,0x0,0\n3,4,send,0,0,0x0,0\n"))
	require.NoError(t, err)
	defer r.Close()
	for _, start := range []int64{1, 3} {
		for op, err := range r.All() {
			require.NoError(t, err)
			require.Equal(t, start, op.Start)
			break
		}
	}
	for range r.All() {
		t.Fatal("there are two rows")
	}
}

func TestReadLinks(t *testing.T) {
	rows, bad, _ := read(t, OpenLinks, write(t, "links.csv",
		"link,endpoint,rail,provider,local_nic,remote_nic,local_addr,remote_addr\n"+
			"3,7,-1,tcp;ofi_rxm,eth0,\"odd,\"\"nic\"\"\",aa,\"\"\n"))
	require.Empty(t, bad)
	require.Equal(t, []Link{{ID: 3, Endpoint: 7, Rail: -1, Provider: "tcp;ofi_rxm", LocalNIC: "eth0", RemoteNIC: `odd,"nic"`, LocalAddr: "aa"}}, rows)
}

func TestReadMetaErrors(t *testing.T) {
	_, err := ReadMeta(write(t, "meta.json", `{"format": 1, "rank"`))
	require.ErrorContains(t, err, "is no record of a rank")
	_, err = ReadMeta(write(t, "meta.json", `{"format": 2}`))
	require.ErrorContains(t, err, "has format 2: this program reads format 1")
	m, err := ReadMeta(write(t, "meta.json", `{"format": 1, "ops": {"recorded": 3, "unfinished": 1}}`+"   \n"))
	require.NoError(t, err)
	require.Equal(t, OpCounts{RowCounts: RowCounts{Recorded: 3}, Unfinished: 1}, m.Ops)
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	_, err := Files(dir)
	require.ErrorContains(t, err, "has no files of the op timer")
	for _, name := range []string{"ops_rank10.csv", "ops_rank2.csv", "meta_rank2.json", "nic_rank2.csv", "ops_rank02.csv", "ops_rank2.csv.gz", "ops_rank-1.csv", "ops_rank.csv", "readme"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
	}
	files, err := Files(dir)
	require.NoError(t, err)
	require.Equal(t, []RankFiles{
		{Rank: 2, Ops: filepath.Join(dir, "ops_rank2.csv"), NIC: filepath.Join(dir, "nic_rank2.csv"), Meta: filepath.Join(dir, "meta_rank2.json")},
		{Rank: 10, Ops: filepath.Join(dir, "ops_rank10.csv")},
	}, files)
}

func FuzzReadOps(f *testing.F) {
	f.Add([]byte(opsHeader + "10,25,tsend,8,1,0x2a,0\n\"1\",2,\"a\"\"b\",3,4,0x5,6\n"))
	f.Add([]byte("status,tag,link,bytes,op,end_ns,start_ns\n\"\n,\n\x00"))
	path := filepath.Join(f.TempDir(), "ops.csv")
	f.Fuzz(func(t *testing.T, text []byte) {
		require.NoError(t, os.WriteFile(path, text, 0o644))
		r, err := OpenOps(path)
		if err != nil {
			return
		}
		defer r.Close()
		n := 0
		for op, err := range r.All() {
			n++
			if err == nil {
				require.LessOrEqual(t, op.Start, op.End)
			} else {
				require.Zero(t, op)
			}
		}
		require.LessOrEqual(t, n, strings.Count(string(text), "\n"))
	})
}

func BenchmarkReadOps(b *testing.B) {
	const rows = 10_000
	path := write(b, "ops.csv", opsHeader+strings.Repeat("1764457290123456789,1764457290123457789,tsend,65536,12,0x1234abcd,0\n", rows))
	b.ReportAllocs()
	for b.Loop() {
		r, err := OpenOps(path)
		require.NoError(b, err)
		for _, err := range r.All() {
			if err != nil {
				b.Fatal(err)
			}
		}
		r.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
}
