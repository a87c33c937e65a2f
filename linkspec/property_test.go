package linkspec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"golnx/linkspec"
)

// genSpec draws a valid spec: names of the alphabet, distinct where they must be.
func genSpec(t *rapid.T) linkspec.Spec {
	name := rapid.StringMatching(`[A-Za-z0-9_.\-]{1,12}`)
	layers := rapid.SliceOfN(name.Filter(func(s string) bool { return !strings.EqualFold(s, "lnx") }), 1, 3)
	pieces := rapid.SliceOfN(name, 1, 3)
	domain := rapid.Custom(func(t *rapid.T) string { return strings.Join(pieces.Draw(t, "pieces"), ":") })
	member := rapid.Custom(func(t *rapid.T) linkspec.Member {
		m := linkspec.Member{Provider: strings.Join(layers.Draw(t, "layers"), ";")}
		if rapid.Bool().Draw(t, "has domains") {
			m.Domains = rapid.SliceOfNDistinct(domain, 1, 6, rapid.ID).Draw(t, "domains")
		}
		return m
	})
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) linkspec.Link {
		members := rapid.SliceOfN(member, 1, 4).Draw(t, "members")
		// A number as last layer makes providers distinct in whatever order.
		for i := range members {
			members[i].Provider += fmt.Sprintf(";layer%d", i)
		}
		return linkspec.Link{Members: members}
	}), 1, 5).Draw(t, "spec")
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := genSpec(t)
		text := spec.String()
		parsed, err := linkspec.Parse(text)
		require.NoError(t, err)
		require.Equal(t, spec, parsed)
		require.Equal(t, text, parsed.String())
	})
}

// Spaces and tabs around tokens change nothing.
func TestSpacesDoNotMatter(t *testing.T) {
	space := rapid.StringMatching(`[ \t]{0,3}`)
	rapid.Check(t, func(t *rapid.T) {
		spec := genSpec(t)
		around := func(sep string) string {
			return space.Draw(t, "before") + sep + space.Draw(t, "after")
		}
		var text strings.Builder
		text.WriteString(around(""))
		for i, l := range spec {
			if i > 0 {
				text.WriteString(around("|"))
			}
			for j, m := range l.Members {
				if j > 0 {
					text.WriteString(around("+"))
				}
				for k, layer := range strings.Split(m.Provider, ";") {
					if k > 0 {
						text.WriteString(around(";"))
					}
					text.WriteString(layer)
				}
				for k, d := range m.Domains {
					text.WriteString(around(map[bool]string{true: ":", false: ","}[k == 0]))
					for n, piece := range strings.Split(d, ":") {
						if n > 0 {
							text.WriteString(around(":"))
						}
						text.WriteString(piece)
					}
				}
			}
		}
		text.WriteString(around(""))
		parsed, err := linkspec.Parse(text.String())
		require.NoError(t, err)
		require.Equal(t, spec, parsed)
	})
}

// One rune put into, taken out of or changed in a valid spec gives a valid one or
// a well-placed error.
func TestOneMistake(t *testing.T) {
	alphabet := rapid.SampledFrom([]rune("|+:,; \ta_-.0L/\n\x00é"))
	rapid.Check(t, func(t *rapid.T) {
		runes := []rune(genSpec(t).String())
		at := rapid.IntRange(0, len(runes)-1).Draw(t, "at")
		drop := rapid.IntRange(0, 1).Draw(t, "drop")
		put := rapid.SliceOfN(alphabet, 0, 2).Draw(t, "put")
		text := string(runes[:at]) + string(put) + string(runes[at+drop:])
		parsed, err := linkspec.Parse(text)
		checkVerdict(t, text, parsed, err)
	})
}

// A repeated provider or domain is found wherever it is, at its second place.
func TestRepeatedName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := genSpec(t)
		link := &spec[len(spec)-1]
		again := rapid.SampledFrom(link.Members).Draw(t, "again")
		before := spec.String()
		if len(again.Domains) > 0 && rapid.Bool().Draw(t, "domain") {
			last := linkspec.Member{Provider: "last", Domains: append(again.Domains[:len(again.Domains):len(again.Domains)], again.Domains[0])}
			link.Members = append(link.Members, last)
			full := spec.String()
			before = full[:len(full)-len(again.Domains[0])]
		} else {
			link.Members = append(link.Members, linkspec.Member{Provider: strings.ToUpper(again.Provider)})
			before += "+"
		}
		_, err := linkspec.Parse(spec.String())
		var syntax *linkspec.SyntaxError
		require.ErrorAs(t, err, &syntax)
		require.Contains(t, syntax.Found, "for the second time")
		require.Equal(t, len(before)+1, syntax.Column)
	})
}
