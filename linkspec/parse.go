package linkspec

import (
	"errors"
	"unicode/utf8"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

const namePattern = `[A-Za-z0-9_.-]+`

// What follows a ":" up to the next "+" or "|" are domains, which may hold a ":"
// of their own. Every rune lexes, so that the parser meets errors in the order in
// which they stand.
var specLexer = lexer.MustStateful(lexer.Rules{
	"Root": {
		{Name: "space", Pattern: `[ \t]+`},
		{Name: "Provider", Pattern: namePattern},
		{Name: "Layer", Pattern: `;`},
		{Name: "Colon", Pattern: `:`, Action: lexer.Push("Domains")},
		{Name: "Plus", Pattern: `\+`},
		{Name: "Bar", Pattern: `\|`},
		{Name: "Bad", Pattern: `(?s:.)`},
	},
	"Domains": {
		{Name: "space", Pattern: `[ \t]+`},
		{Name: "Domain", Pattern: namePattern},
		{Name: "Label", Pattern: `:`},
		{Name: "Comma", Pattern: `,`},
		{Name: "Plus", Pattern: `\+`, Action: lexer.Pop()},
		{Name: "Bar", Pattern: `\|`, Action: lexer.Pop()},
		{Name: "Bad", Pattern: `(?s:.)`},
	},
})

type specNode struct {
	Links []*linkNode `parser:"@@ ( Bar @@ )*"`
}

type linkNode struct {
	Pos     lexer.Position
	Members []*memberNode `parser:"@@ ( Plus @@ )*"`
}

type memberNode struct {
	Pos      lexer.Position
	Provider string        `parser:"@( Provider ( Layer Provider )* )"`
	Domains  []*domainNode `parser:"( Colon @@ ( Comma @@ )* )?"`
}

type domainNode struct {
	Pos  lexer.Position
	Name string `parser:"@( Domain ( Label Domain )* )"`
}

var specParser = participle.MustBuild[specNode](participle.Lexer(specLexer))

// expectedAfter says what may follow a token; EOF stands for the start of the
// spec. The token alone decides, because the lexer tells providers from domains.
var expectedAfter = func() map[lexer.TokenType]string {
	const provider, domain = "a provider name", "a domain name"
	of := specLexer.Symbols()
	return map[lexer.TokenType]string{
		lexer.EOF:      provider,
		of["Bar"]:      provider,
		of["Plus"]:     provider,
		of["Layer"]:    provider,
		of["Colon"]:    domain,
		of["Comma"]:    domain,
		of["Label"]:    domain,
		of["Provider"]: `"+" and another provider, ":" and domains, ";" and a layer, "|" and another link, or the end of the spec`,
		of["Domain"]:   `"," and another domain, "+" and another provider, ":" and a label, "|" and another link, or the end of the spec`,
	}
}()

// Parse reads a spec, the format of FI_LNX_PROV_LINKS. The package comment has the
// grammar, what is refused beyond it, and how it differs from fi_lnx(7).
//
// The error is a [*SyntaxError] for the first mistake: the leftmost one against
// the grammar, or if there is none, the leftmost one beyond it. Parse is safe for
// concurrent use.
func Parse(spec string) (Spec, error) {
	if len(spec) > MaxSpecBytes {
		return nil, tooLong(spec)
	}
	tree, err := specParser.ParseString("", spec)
	if err != nil {
		return nil, unexpected(spec, err)
	}
	return tree.check(spec)
}

// unexpected turns the parser's error into ours. Lexing once more up to where it
// stopped gives the token found and the one before it.
func unexpected(spec string, err error) *SyntaxError {
	var at participle.Error
	offset := 0
	if errors.As(err, &at) {
		offset = at.Position().Offset
	}
	before := lexer.EOFToken(lexer.Position{})
	found := before
	// Neither call can fail: the lexer's rules match every rune.
	lex, _ := specLexer.LexString("", spec)
	for {
		found, _ = lex.Next()
		if found.EOF() || found.Pos.Offset >= offset {
			break
		}
		before = found
	}
	return syntaxError(spec, found.Pos.Offset, describe(found), expectedAfter[before.Type])
}

func describe(found lexer.Token) string {
	switch {
	case found.EOF():
		return "the end of the spec"
	case found.Type == specLexer.Symbols()["Bad"]:
		return describeRune(found.Value)
	default:
		return quoteShort(found.Value)
	}
}

func syntaxError(spec string, offset int, found, expected string) *SyntaxError {
	return &SyntaxError{
		Spec:     spec,
		Column:   utf8.RuneCountInString(spec[:offset]) + 1,
		Found:    found,
		Expected: expected,
	}
}
