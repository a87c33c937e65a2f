package linkspec_test

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"golnx/linkspec"
)

// The grammar once more, as a regular expression: the oracle of what Parse must
// take or leave, sizes and repeated names aside.
var grammar = func() *regexp.Regexp {
	const (
		space    = `[ \t]*`
		name     = `[A-Za-z0-9_.-]+`
		provider = name + `(?:` + space + `;` + space + name + `)*`
		domain   = name + `(?:` + space + `:` + space + name + `)*`
		member   = space + provider + space +
			`(?::` + space + domain + space + `(?:,` + space + domain + space + `)*)?`
		link = member + `(?:\+` + member + `)*`
	)
	return regexp.MustCompile(`^` + link + `(?:\|` + link + `)*$`)
}()

// runePrefix returns the first n runes of s.
func runePrefix(s string, n int) string {
	for offset := range s {
		if n == 0 {
			return s[:offset]
		}
		n--
	}
	return s
}

// checkVerdict asserts all that holds for the outcome of Parse on any spec.
func checkVerdict(t require.TestingT, spec string, parsed linkspec.Spec, err error) {
	if err == nil {
		require.Regexp(t, grammar, spec)
		require.NotEmpty(t, parsed)
		again, err := linkspec.Parse(parsed.String())
		require.NoError(t, err)
		require.Equal(t, parsed, again)
		require.Equal(t, parsed.String(), again.String())
		return
	}
	require.Nil(t, parsed)
	var syntax *linkspec.SyntaxError
	require.ErrorAs(t, err, &syntax)
	require.Equal(t, spec, syntax.Spec)
	require.GreaterOrEqual(t, syntax.Column, 1)
	require.LessOrEqual(t, syntax.Column, utf8.RuneCountInString(spec)+1)
	require.NotEmpty(t, syntax.Found)
	require.NotEmpty(t, syntax.Expected)
	checkText(t, syntax)
	if len(spec) <= linkspec.MaxSpecBytes && !grammar.MatchString(spec) {
		checkLeftmost(t, syntax)
	}
}

// checkLeftmost asserts that a mistake against the grammar is where the spec stops
// being the start of an acceptable one.
func checkLeftmost(t require.TestingT, e *linkspec.SyntaxError) {
	canGoOn := func(s string) bool { return grammar.MatchString(s) || grammar.MatchString(s+"x") }
	before := runePrefix(e.Spec, e.Column-1)
	require.True(t, canGoOn(before), "nothing wrong before column %d of %q", e.Column, e.Spec)
	if len(before) < len(e.Spec) {
		through := runePrefix(e.Spec, e.Column)
		require.False(t, canGoOn(through), "column %d of %q is wrong", e.Column, e.Spec)
	}
}

// checkText asserts that the caret stands below the column, that the rest of the
// line is the spec around it, and that the line is short.
func checkText(t require.TestingT, e *linkspec.SyntaxError) {
	lines := strings.Split(e.Error(), "\n")
	require.Len(t, lines, 3, e.Error())
	shown, caret := lines[1], strings.IndexByte(lines[2], '^')
	require.Equal(t, strings.Repeat(" ", max(caret, 0))+"^", lines[2])
	require.LessOrEqual(t, len(shown), 80)
	require.Regexp(t, `^ {2}[ -~]*$`, shown)

	open, end := strings.IndexByte(shown, '"'), strings.LastIndexByte(shown, '"')
	require.Less(t, open, caret)
	require.LessOrEqual(t, caret, end)
	before, err := strconv.Unquote(shown[open:caret] + `"`)
	require.NoError(t, err, shown)
	after, err := strconv.Unquote(`"` + shown[caret:end+1])
	require.NoError(t, err, shown)

	wantBefore := runePrefix(e.Spec, e.Column-1)
	wantAfter := e.Spec[len(wantBefore):]
	require.True(t, strings.HasSuffix(wantBefore, before), e.Error())
	require.True(t, strings.HasPrefix(wantAfter, after), e.Error())
	require.Equal(t, before != wantBefore, strings.HasPrefix(shown, `  ..."`), e.Error())
	require.Equal(t, after != wantAfter, strings.HasSuffix(shown, `"...`), e.Error())
}

// A SyntaxError that the caller made up must not panic either.
func TestSyntaxErrorOutOfBounds(t *testing.T) {
	for _, column := range []int{math.MinInt, -1, 0, 5, 1 << 20, math.MaxInt} {
		err := &linkspec.SyntaxError{Spec: "shm", Column: column, Found: "this", Expected: "that"}
		require.Contains(t, err.Error(), "found this, expected that")
	}
	require.Equal(t, "link spec, column 0: found , expected \n  \"\"\n   ^", new(linkspec.SyntaxError).Error())
}

// The text of an error stays small, whatever the spec.
func TestHugeSpec(t *testing.T) {
	for _, spec := range []string{
		strings.Repeat("shm|", 1<<20),
		strings.Repeat("\x00", 1<<22),
		strings.Repeat("|", linkspec.MaxSpecBytes),
		"shm " + strings.Repeat("\x00", linkspec.MaxSpecBytes-4),
		"shm " + strings.Repeat("x", linkspec.MaxSpecBytes-4),
		strings.Repeat("x", linkspec.MaxSpecBytes),
	} {
		_, err := linkspec.Parse(spec)
		require.Error(t, err)
		require.Less(t, len(err.Error()), 400)
		checkVerdict(t, spec, nil, err)
	}
}

// The error of Parse is found behind others.
func TestSyntaxErrorAs(t *testing.T) {
	_, err := linkspec.Parse("shm+")
	var syntax *linkspec.SyntaxError
	require.ErrorAs(t, errors.Join(errors.New("other"), err), &syntax)
	require.Equal(t, linkspec.SyntaxError{
		Spec: "shm+", Column: 5, Found: "the end of the spec", Expected: "a provider name",
	}, *syntax)
}
