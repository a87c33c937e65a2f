package linkspec_test

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/linkspec"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the expected text of the tables")

const tablePath = "../testdata/linkspec/specs.txt"

// A tableCase is a block of the table; its head says how blocks look.
type tableCase struct {
	line     int
	comments []string
	head     string // the line that gives the spec, after "spec "
	want     []string
}

func TestTable(t *testing.T) {
	text, err := os.ReadFile(tablePath)
	require.NoError(t, err)
	cases := readTable(t, string(text))

	var out []string
	accepted, rejected := 0, 0
	for _, c := range cases {
		block := c.comments
		if c.head != "" {
			spec := tableSpec(t, c)
			got, ok := outcome(t, spec)
			if ok {
				accepted++
			} else {
				rejected++
			}
			if !*rewrite {
				require.Equal(t, strings.Join(c.want, "\n"), strings.Join(got, "\n"),
					"%s:%d: spec %s", tablePath, c.line, c.head)
			}
			block = append(append(block, "spec "+c.head), got...)
		}
		out = append(out, strings.Join(block, "\n"))
	}
	require.GreaterOrEqual(t, accepted, 30, "accepted specs in the table")
	require.GreaterOrEqual(t, rejected, 30, "rejected specs in the table")
	if *rewrite {
		require.NoError(t, os.WriteFile(tablePath, []byte(strings.Join(out, "\n\n")+"\n"), 0o644))
	}
}

// outcome returns what the table shows for a spec, and whether it is accepted.
func outcome(t *testing.T, spec string) ([]string, bool) {
	t.Helper()
	parsed, err := linkspec.Parse(spec)
	checkVerdict(t, spec, parsed, err)
	if err == nil {
		return []string{"ok   " + parsed.String()}, true
	}
	lines := []string{"error"}
	for _, l := range strings.Split(err.Error(), "\n") {
		lines = append(lines, "  "+l)
	}
	return lines, false
}

func readTable(t testing.TB, text string) []tableCase {
	t.Helper()
	var cases []tableCase
	line := 1
	for _, block := range strings.Split(strings.TrimRight(text, "\n"), "\n\n") {
		c := tableCase{}
		for _, l := range strings.Split(block, "\n") {
			head, isHead := strings.CutPrefix(l, "spec ")
			switch {
			case c.head == "" && strings.HasPrefix(l, "#"):
				c.comments = append(c.comments, l)
			case c.head == "" && isHead:
				c.head, c.line = head, line
			case c.head != "":
				c.want = append(c.want, l)
			default:
				t.Fatalf("%s:%d: want a comment or a spec, found %q", tablePath, line, l)
			}
			line++
		}
		line++
		cases = append(cases, c)
	}
	return cases
}

// tableSpec puts together the quoted pieces of a head, each of which "*n" repeats.
func tableSpec(t testing.TB, c tableCase) string {
	t.Helper()
	fail := func(err error) {
		require.NoError(t, err, "%s:%d: want quoted pieces, each with *n or without, found %s", tablePath, c.line, c.head)
	}
	var spec strings.Builder
	for rest := c.head; rest != ""; rest = strings.TrimPrefix(rest, " ") {
		quoted, err := strconv.QuotedPrefix(rest)
		fail(err)
		piece, err := strconv.Unquote(quoted)
		fail(err)
		rest = rest[len(quoted):]
		times := 1
		if strings.HasPrefix(rest, "*") {
			end := strings.IndexByte(rest+" ", ' ')
			times, err = strconv.Atoi(rest[1:end])
			fail(err)
			rest = rest[end:]
		}
		spec.WriteString(strings.Repeat(piece, times))
	}
	return spec.String()
}

// Every limit is met exactly, and passed by one.
func TestLimits(t *testing.T) {
	numbered := func(n int, sep string) string {
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprintf("n%d", i)
		}
		return strings.Join(names, sep)
	}
	for _, tc := range []struct {
		name  string
		spec  func(n int) string
		limit int
	}{
		{"links", func(n int) string { return numbered(n, "|") }, linkspec.MaxLinks},
		{"members", func(n int) string { return numbered(n, "+") }, linkspec.MaxMembers},
		{"domains of a member", func(n int) string { return "cxi:" + numbered(n, ",") }, linkspec.MaxDomains},
		{"domains of a link", func(n int) string { return "tcp:eth0+cxi:" + numbered(n-1, ",") }, linkspec.MaxDomains},
		{"bytes of a provider", func(n int) string { return strings.Repeat("p", n-4) + ";rxm" }, linkspec.MaxNameBytes},
		{"bytes of a domain", func(n int) string { return "cxi:" + strings.Repeat("d", n) }, linkspec.MaxNameBytes},
		{"bytes", func(n int) string { return "shm" + strings.Repeat(" ", n-3) }, linkspec.MaxSpecBytes},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := linkspec.Parse(tc.spec(tc.limit))
			require.NoError(t, err)
			_, err = linkspec.Parse(tc.spec(tc.limit + 1))
			var syntax *linkspec.SyntaxError
			require.ErrorAs(t, err, &syntax)
			require.Contains(t, syntax.Expected, fmt.Sprintf("at most %d ", tc.limit))
		})
	}
}

// The limit of domains is one of a link, not of a spec.
func TestDomainsCountPerLink(t *testing.T) {
	names := make([]string, linkspec.MaxDomains)
	for i := range names {
		names[i] = fmt.Sprintf("d%d", i)
	}
	full := "cxi:" + strings.Join(names, ",")
	_, err := linkspec.Parse(full + "|cxi:d")
	require.NoError(t, err)
}
