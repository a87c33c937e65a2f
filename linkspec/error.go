package linkspec

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A SyntaxError says what is wrong with a spec, and where.
type SyntaxError struct {
	// Spec is the whole spec as given.
	Spec string
	// Column is where the mistake starts: 1 for the first rune of the spec, one
	// more than it has for its end. A byte that is not UTF-8 counts as a rune.
	Column int
	// Found describes what stands there, and Expected what may; both are prose.
	Found, Expected string
}

// Error returns three lines: column, found and expected; the spec; a caret below
// the column. The spec is quoted as a Go string in ASCII, so that the caret lines
// up whatever it holds; of a long one, the part around the column is shown.
func (e *SyntaxError) Error() string {
	shown, caret := excerpt(e.Spec, e.Column)
	return fmt.Sprintf("link spec, column %d: found %s, expected %s\n  %s\n  %s^",
		e.Column, e.Found, e.Expected, shown, strings.Repeat(" ", caret))
}

// Of a spec that is longer than windowWidth characters when quoted, an excerpt shows
// so many, at most windowBefore of them in front of the column.
const (
	windowWidth  = 64
	windowBefore = 40
)

// excerpt returns the part of spec to show, quoted, and the number of characters
// in it in front of the column.
func excerpt(spec string, column int) (shown string, caret int) {
	// One rune more than there can be room for shows that something is left out.
	runes := quoteRunes(spec, max(column, 0)+windowWidth)
	at := min(max(column-1, 0), len(runes))
	from, to := 0, len(runes)
	if len(strings.Join(runes, "")) > windowWidth {
		room := windowWidth
		for from = at; from > 0 && windowWidth-room+len(runes[from-1]) <= windowBefore; from-- {
			room -= len(runes[from-1])
		}
		for to = at; to < len(runes) && len(runes[to]) <= room; to++ {
			room -= len(runes[to])
		}
	}
	left, right := `"`, `"`
	if from > 0 {
		left = `..."`
	}
	if to < len(runes) {
		right = `"...`
	}
	before := strings.Join(runes[from:at], "")
	after := strings.Join(runes[at:to], "")
	return left + before + after + right, len(left) + len(before)
}

// quoteRunes returns the first n runes of s, or all if there are less, each as it
// stands in a quoted Go string.
func quoteRunes(s string, n int) []string {
	var runes []string
	for len(s) > 0 && len(runes) < n {
		_, size := utf8.DecodeRuneInString(s)
		quoted := strconv.QuoteToASCII(s[:size])
		runes = append(runes, quoted[1:len(quoted)-1])
		s = s[size:]
	}
	return runes
}

// quoteShort quotes s in ASCII, cut to what a line of an error bears.
func quoteShort(s string) string {
	const limit = 64
	runes := quoteRunes(s, limit+1)
	if len(runes) > limit {
		return `"` + strings.Join(runes[:limit], "") + `"...`
	}
	return `"` + strings.Join(runes, "") + `"`
}

// describeRune describes the one rune of s, which belongs to no token.
func describeRune(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case r == utf8.RuneError && size <= 1:
		return fmt.Sprintf("byte %s, which is not UTF-8", strconv.QuoteToASCII(s))
	case unicode.IsControl(r):
		return "control character " + strconv.QuoteToASCII(s)
	case r < utf8.RuneSelf || !unicode.IsPrint(r):
		return strconv.QuoteToASCII(s)
	default:
		return fmt.Sprintf("%q (%U)", s, r)
	}
}
