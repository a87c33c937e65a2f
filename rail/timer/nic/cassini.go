package nic

import (
	_ "embed"
	"path"
	"strings"
	"sync"
)

//go:embed cassini.txt
var cassiniText string

// Meaning is what a counter of a Cassini counts.
type Meaning struct {
	// Counter is a name as [Cassini] has it. A # in it is any number. A * makes it a
	// family, and its meaning is for those that have none of their own.
	Counter string
	// Text is the meaning, in one line; in it each # is a number of the name, in
	// order.
	Text string
}

// CassiniMeanings answers all meanings that are known, block by block of the NIC. They
// are best effort, in our own words, and HPE does not vouch for them.
var CassiniMeanings = sync.OnceValue(func() (all []Meaning) {
	for line := range strings.Lines(cassiniText) {
		name, text, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok && !strings.HasPrefix(name, "#") {
			all = append(all, Meaning{name, strings.TrimSpace(text)})
		}
	}
	return all
})

// Describe says what a counter of a Cassini counts: itself or, failing that, the family
// that it belongs to. It is not ok if neither is known. MPI's "rh:" at the beginning is
// taken for "rh.". The meanings are best effort, as those of [CassiniMeanings].
func Describe(counter string) (text string, ok bool) {
	if after, ok := strings.CutPrefix(counter, "rh:"); ok {
		counter = "rh." + after
	}
	numberless, numbers := cutNumbers(counter)
	var family Meaning
	for _, m := range CassiniMeanings() {
		if m.Counter == numberless || m.Counter == counter {
			return m.with(numbers), true
		}
		if len(m.Counter) <= len(family.Counter) || !strings.Contains(m.Counter, "*") {
			continue
		}
		if fits, _ := path.Match(m.Counter, counter); fits {
			family = m
		}
	}
	return family.Text, family.Counter != ""
}

// cutNumbers writes # for the numbers among a name's words.
func cutNumbers(counter string) (numberless string, numbers []string) {
	words := strings.Split(counter, "_")
	for i, w := range words {
		if strings.Trim(w, "0123456789") == "" && w != "" {
			numbers = append(numbers, w)
			words[i] = "#"
		}
	}
	return strings.Join(words, "_"), numbers
}

// with is the text with the numbers of a name.
func (m Meaning) with(numbers []string) string {
	text := m.Text
	if strings.Contains(m.Counter, "#") {
		for _, n := range numbers {
			text = strings.Replace(text, "#", n, 1)
		}
	}
	return text
}
