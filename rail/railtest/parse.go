package railtest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golnx/linkspec"
	"golnx/rail"
)

// Parse reads a case. name is for messages. An error names line and column, as
// name:3:10, both from 1 and the column in runes.
func Parse(name, text string) (Case, error) {
	c, err := ParseParts(name, text)
	if err == nil && c.Link == "" {
		return Case{}, fmt.Errorf("railtest: %s: no link statement: add one, as \"link shm+cxi\"", name)
	}
	return c, err
}

// ParseParts is Parse of a case of which parts may be missing: without a link Case.Link
// is empty, and there may be no steps.
func ParseParts(name, text string) (Case, error) {
	p := parser{c: Case{Name: name}}
	if err := p.lines(text); err != nil {
		return Case{}, err
	}
	return p.c, nil
}

// ParseMachine reads a machine file: the domain, distances and peer statements of
// a case. What else a case says is checked and left out, so that a case file will do.
func ParseMachine(name, text string) (Machine, error) {
	c, err := ParseParts(name, text)
	return c.Machine, err
}

type parser struct {
	c    Case
	line int
	text string          // of the line, without space around it
	at   int             // the word that is read, from 0; an error is of that one
	said map[string]bool // statements that stand once
}

type statement struct {
	parse func(p *parser, words []string) error
	once  bool
}

var statements map[string]statement

func init() {
	statements = map[string]statement{
		"domain":    {parse: (*parser).domain},
		"distances": {parse: (*parser).distances, once: true},
		"peer":      {parse: (*parser).peer},
		"link":      {parse: (*parser).link, once: true},
		"use":       {parse: (*parser).use, once: true},
		"policy":    {parse: (*parser).policy, once: true},
		"seed":      {parse: (*parser).seed, once: true},
		"shm":       {parse: (*parser).shm, once: true},
		"explain":   {parse: (*parser).explain, once: true},
		"send":      {parse: (*parser).send},
		"recv":      {parse: (*parser).recv},
		"up":        {parse: health(rail.Up)},
		"suspect":   {parse: health(rail.Suspect)},
		"down":      {parse: health(rail.Down)},
		wantMark:    {parse: (*parser).want},
	}
}

// wantMark begins an expectation.
const wantMark = "->"

func (p *parser) lines(text string) error {
	p.said = map[string]bool{}
	for line := range strings.Lines(text) {
		p.line++
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		p.text, p.at = strings.TrimSpace(line), 0
		st, ok := statements[words[0]]
		err := fmt.Errorf("%q is no statement: there are %s", words[0], strings.Join(slices.Sorted(maps.Keys(statements)), ", "))
		switch {
		case !ok:
		case st.once && p.said[words[0]]:
			err = fmt.Errorf("%q stands here for the second time: a case has one", words[0])
		default:
			p.said[words[0]] = true
			err = st.parse(p, words[1:])
		}
		if err != nil {
			return fmt.Errorf("railtest: %s:%d:%d: %w", p.c.Name, p.line, p.column(line, err), err)
		}
	}
	return nil
}

// column answers where in the line the word is that an error is about.
func (p *parser) column(line string, err error) int {
	rest := line
	for range p.at {
		rest = strings.TrimLeftFunc(rest, unicode.IsSpace)
		rest = rest[len(firstWord(rest)):]
	}
	rest = strings.TrimLeftFunc(rest, unicode.IsSpace)
	column := utf8.RuneCountInString(line[:len(line)-len(rest)]) + 1
	var spec *linkspec.SyntaxError
	if errors.As(err, &spec) {
		column += spec.Column - 1
	}
	return column
}

func firstWord(text string) string {
	if i := strings.IndexFunc(text, unicode.IsSpace); i >= 0 {
		return text[:i]
	}
	return text
}

func (p *parser) domain(words []string) error {
	if len(words) == 0 {
		return fmt.Errorf("domain wants a name, as cxi:cxi0")
	}
	p.at = 1
	d := rail.Info{NUMA: -1}
	var err error
	if d.Provider, d.Domain, err = splitName(words[0]); err != nil {
		return err
	}
	same := func(o rail.Info) bool { return o.Provider == d.Provider && o.Domain == d.Domain }
	if slices.ContainsFunc(p.c.Domains, same) {
		return fmt.Errorf("domain %s is there already: describe each once", words[0])
	}
	seen := map[string]bool{}
	for i, w := range words[1:] {
		p.at = 2 + i
		key, value, hasValue := strings.Cut(w, "=")
		known := slices.IndexFunc(attrs, func(a attr) bool { return a.key == key })
		switch {
		case seen[key]:
			return fmt.Errorf("%s stands there twice: give it one value", key)
		case w == "node-local":
			d.NodeLocal = true
		case known < 0 || !hasValue || value == "":
			return fmt.Errorf("%q is no attribute: use node-local, or one of speed, numa, pci, mtu, inject, max, format, fabric as key=value", w)
		default:
			if err := attrs[known].set(&d, value); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
		seen[key] = true
	}
	p.c.Domains = append(p.c.Domains, d)
	return nil
}

// splitName takes provider:domain apart. Domains may hold further colons.
func splitName(name string) (provider, domain string, err error) {
	provider, domain, has := strings.Cut(name, ":")
	if provider == "" || has && domain == "" {
		return "", "", fmt.Errorf("%q is no domain, which is provider:domain or a provider", name)
	}
	return provider, domain, nil
}

func (p *parser) distances(words []string) error {
	if len(words) == 0 || len(words) > maxNode {
		return fmt.Errorf("distances wants a row for each node, as 10,21 21,10")
	}
	for i, w := range words {
		p.at = 1 + i
		var row []int
		for v := range strings.SplitSeq(w, ",") {
			n, err := strconv.ParseUint(v, 10, 16)
			if err != nil {
				return fmt.Errorf("%q is no distance: use numbers from 0 to 65535 with commas, as 10,21", v)
			}
			row = append(row, int(n))
		}
		p.c.Distances = append(p.c.Distances, row)
	}
	p.at = 1
	o := rail.Options{Distances: p.c.Distances}
	return o.Validate()
}

func (p *parser) peer(words []string) error {
	if len(words) < 2 {
		return fmt.Errorf("peer wants a name and addresses, as: peer A local shm cxi:cxi0")
	}
	p.at = 1
	peer := Peer{Name: words[0]}
	if slices.ContainsFunc(p.c.Peers, func(o Peer) bool { return o.Name == peer.Name }) {
		return fmt.Errorf("peer %s is there already: describe each once, with all its addresses", peer.Name)
	}
	words = words[1:]
	if words[0] == "local" {
		peer.Local = true
		words = words[1:]
		p.at++
	}
	if len(words) == 0 {
		return fmt.Errorf("peer %s has no address: write some, as: peer A local shm cxi:cxi0", peer.Name)
	}
	for _, w := range words {
		p.at++
		var a Addr
		var err error
		name, fabric, has := strings.Cut(w, "@")
		if has && fabric == "" {
			return fmt.Errorf("%q: the fabric after @ is missing: write it, or leave the @ out", w)
		}
		if a.Provider, a.Domain, err = splitName(name); err != nil {
			return err
		}
		if slices.ContainsFunc(peer.Addrs, func(o Addr) bool { return o.String() == a.String() }) {
			return fmt.Errorf("address %s stands there twice: write each once", a)
		}
		a.Fabric = fabric
		peer.Addrs = append(peer.Addrs, a)
	}
	p.c.Peers = append(p.c.Peers, peer)
	return nil
}

func (p *parser) link(words []string) error {
	if len(words) == 0 {
		return fmt.Errorf("link wants a spec, as shm+cxi:cxi0,cxi1")
	}
	p.at = 1
	spec, err := linkspec.Parse(strings.TrimSpace(p.text[len(firstWord(p.text)):]))
	if err != nil {
		return err
	}
	p.c.Link = spec.String()
	return nil
}

func (p *parser) use(words []string) error {
	n, err := p.one(words, "use wants the number of a link, from 1")
	if err != nil {
		return err
	}
	if p.c.Use, err = strconv.Atoi(n); err != nil || p.c.Use < 1 {
		return fmt.Errorf("%q is no number of a link, which are from 1", n)
	}
	return nil
}

func (p *parser) policy(words []string) (err error) {
	name, err := p.one(words, "policy wants a name, as PER_MSG")
	if err == nil {
		p.c.Policy, err = rail.ParsePolicy(name)
	}
	return err
}

func (p *parser) seed(words []string) (err error) {
	n, err := p.one(words, "seed wants a number")
	if err == nil {
		p.c.Seed, err = parseNumber(n)
	}
	return err
}

func (p *parser) shm(words []string) error {
	if w, err := p.one(words, "shm wants off"); err != nil || w != "off" {
		return fmt.Errorf(`"shm off" is all there is`)
	}
	p.c.ShmOff = true
	return nil
}

func (p *parser) explain(words []string) error {
	if len(words) > 0 {
		p.at = 1
		return fmt.Errorf("explain stands alone: leave the rest of the line out")
	}
	p.c.Explain = true
	return nil
}

// one answers the only word of a statement.
func (p *parser) one(words []string, wants string) (string, error) {
	if len(words) != 1 {
		p.at = min(len(words), 2) // the one too many
		return "", fmt.Errorf("%s", wants)
	}
	p.at = 1
	return words[0], nil
}

func (p *parser) send(words []string) error {
	if len(words) == 0 {
		return fmt.Errorf("send wants a peer, as: send A x2 size=8 numa=0")
	}
	s := Step{Do: Send, Peer: words[0], NUMA: -1, line: p.line}
	for i, w := range words[1:] {
		p.at = 2 + i
		var err error
		if v, ok := strings.CutPrefix(w, "x"); ok {
			if s.Times, err = strconv.Atoi(v); err != nil || s.Times < 1 || s.Times > MaxPicks {
				return fmt.Errorf("%q is no number of messages, which is x1 to x%d", w, MaxPicks)
			}
		} else if v, ok := strings.CutPrefix(w, "size="); ok {
			s.Size, err = parseNumber(v)
		} else if v, ok := strings.CutPrefix(w, "numa="); ok {
			s.NUMA, err = parseNode(v)
		} else {
			err = fmt.Errorf("%q means nothing to send: use xN, size=BYTES, numa=NODE", w)
		}
		if err != nil {
			return err
		}
	}
	p.c.Steps = append(p.c.Steps, s)
	return nil
}

func (p *parser) recv(words []string) error {
	if len(words) != 4 || words[2] != "from" {
		return fmt.Errorf("recv wants peer, rail and address, as: recv A cxi:cxi0 from cxi:cxi1")
	}
	p.c.Steps = append(p.c.Steps, Step{Do: Recv, Peer: words[0], Rail: words[1], Addr: words[3], NUMA: -1, line: p.line})
	return nil
}

func health(h rail.Health) func(*parser, []string) error {
	return func(p *parser, words []string) error {
		name, err := p.one(words, h.String()+" wants a rail, as cxi:cxi0")
		p.c.Steps = append(p.c.Steps, Step{Do: Set, Rail: name, Health: h, NUMA: -1, line: p.line})
		return err
	}
}

func (p *parser) want(words []string) error {
	n := len(p.c.Steps)
	if n == 0 || p.c.Steps[n-1].Do != Send {
		return fmt.Errorf("an expectation stands below a send")
	}
	if len(words) == 0 {
		return fmt.Errorf("an expectation is \"RAIL to ADDRESS\" or \"error: TEXT\"")
	}
	s := &p.c.Steps[n-1]
	s.Want = append(s.Want, strings.Join(words, " "))
	return nil
}
