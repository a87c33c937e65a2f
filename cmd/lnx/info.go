package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"golnx/cmd/lnx/ui"
	"golnx/lnx"
	"golnx/providers"
	"golnx/providers/fiinfo"
)

// infoCmd shows links.
type infoCmd struct {
	linkFlags
	JSON bool `name:"json" help:"Print one JSON object."`
}

// Validate checks the flags.
func (c *infoCmd) Validate() error { return c.linkFlags.check() }

// Run prints what there is, also when no link can be opened; that is an error then.
func (c *infoCmd) Run(a *app) error {
	opts, show := c.options(), showInfo
	if !c.asked() {
		opts.Links, show = everyProvider(), showAvailable
	}
	if c.JSON {
		show = showInfoJSON
	}
	listing, err := lnx.Links(opts)
	return errors.Join(show(a.out, listing), err)
}

// everyProvider is a spec with a link of each provider alone.
func everyProvider() string {
	var names []string
	for _, t := range providers.All() {
		names = append(names, t.Name)
	}
	return strings.Join(names, "|")
}

// showInfo writes a table for each link, and what was left out.
func showInfo(w io.Writer, listing *lnx.Listing) error {
	for _, link := range listing.Links {
		if err := showLink(w, "Link "+link.Name, link.Rails); err != nil {
			return err
		}
	}
	return showLeftOut(w, listing)
}

// showAvailable writes one table of all that each provider has by itself.
func showAvailable(w io.Writer, listing *lnx.Listing) error {
	var rails []providers.Info
	for _, link := range listing.Links {
		rails = append(rails, link.Rails...)
	}
	if len(rails) > 0 {
		title := "What can be linked here"
		if len(listing.Links) > 1 {
			title += ", as with --links " + joined(listing.Links)
		}
		if err := showLink(w, title, rails); err != nil {
			return err
		}
	}
	return showLeftOut(w, listing)
}

// joined is a spec of all the links, with the domains left to the machine.
func joined(links []*lnx.Link) string {
	var names []string
	for _, l := range links {
		if name := l.Rails[0].Provider; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return "'" + strings.Join(names, "+") + "'"
}

func showLeftOut(w io.Writer, listing *lnx.Listing) error {
	notes, left := leftOut(listing.LeftOut)
	for _, n := range notes {
		if _, err := fmt.Fprintf(w, "note: %v\n", n); err != nil {
			return err
		}
	}
	for _, l := range left {
		// The reasons of a link that cannot be opened come as an error if
		// there is no other.
		if l.What == lnx.WholeLink && len(listing.Links) == 0 {
			continue
		}
		if _, err := fmt.Fprintf(w, "left out: %v\n", l); err != nil {
			return err
		}
	}
	return nil
}

func showLink(w io.Writer, title string, rails []providers.Info) error {
	t := ui.NewTable(title, "speed", "NUMA", "inject", "max message", "buffers")
	t.AppendHeader([]any{"rail", "provider", "fabric", "domain", "address format", "speed", "PCI", "NUMA", "inject", "max message", "buffers"})
	for _, r := range rails {
		t.AppendRow([]any{
			r.Name(), r.Provider, r.Fabric, r.Domain, r.AddrFormat.String(), ui.Speed(r.NIC.Speed), orDash(r.NIC.PCI), numaNode(r.NIC.NUMA),
			ui.Size(r.InjectSize), ui.Size(r.MaxMsgSize), r.IOVLimit,
		})
	}
	if err := ui.Print(w, t); err != nil {
		return err
	}
	_, err := io.WriteString(w, capLines(rails))
	return err
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func numaNode(n int) string {
	if n < 0 {
		return "-"
	}
	return strconv.Itoa(n)
}

// capLines says what all rails can do, and what some can besides.
func capLines(rails []providers.Info) string {
	if len(rails) == 0 {
		return ""
	}
	common := rails[0].Caps
	for _, r := range rails {
		common &= r.Caps
	}
	var b strings.Builder
	fmt.Fprintf(&b, "caps of all rails: %s\n", orDash(strings.Join(fiinfo.Caps(common).Names(), " ")))
	for _, r := range rails {
		if more := r.Caps &^ common; more != 0 {
			fmt.Fprintf(&b, "%s besides: %s\n", r.Name(), strings.Join(fiinfo.Caps(more).Names(), " "))
		}
	}
	return b.String()
}

// The JSON form of a listing. What differs from the spec stands with the link that
// it concerns, or at the top if that link cannot be opened: in notes if it is there
// under another name, in left_out if it is not.
type (
	infoJSON struct {
		Links []linkJSON `json:"links"`
		leftOutJSON
	}
	linkJSON struct {
		Name  string     `json:"name"`
		Info  railJSON   `json:"info"` // what an application chooses by
		Rails []railJSON `json:"rails"`
		leftOutJSON
	}
	leftOutJSON struct {
		Notes   []lnx.LeftOut `json:"notes"`
		LeftOut []lnx.LeftOut `json:"left_out"`
	}
	railJSON struct {
		Name string `json:"name"`
		providers.Info
		MaxMsgSize uint64   `json:"max_msg_size,omitempty"` // without it there is no limit
		AddrFormat string   `json:"addr_format"`
		Caps       []string `json:"caps"`
	}
)

// maxJSONNumber is the largest whole number that every reader of JSON takes exactly.
const maxJSONNumber = 1 << 53

func newRailJSON(i providers.Info) railJSON {
	r := railJSON{i.Name(), i, i.MaxMsgSize, i.AddrFormat.String(), fiinfo.Caps(i.Caps).Names()}
	if r.MaxMsgSize > maxJSONNumber {
		r.MaxMsgSize = 0
	}
	return r
}

func newLeftOutJSON(all []lnx.LeftOut) (j leftOutJSON) {
	j.Notes, j.LeftOut = leftOut(all)
	return j
}

func showInfoJSON(w io.Writer, listing *lnx.Listing) error {
	elsewhere := slices.Clone(listing.LeftOut)
	for _, l := range listing.Links {
		elsewhere = slices.DeleteFunc(elsewhere, func(left lnx.LeftOut) bool { return slices.Contains(l.LeftOut, left) })
	}
	out := infoJSON{Links: []linkJSON{}, leftOutJSON: newLeftOutJSON(elsewhere)}
	for _, l := range listing.Links {
		j := linkJSON{Name: l.Name, Info: newRailJSON(l.Info), leftOutJSON: newLeftOutJSON(l.LeftOut)}
		for _, r := range l.Rails {
			j.Rails = append(j.Rails, newRailJSON(r))
		}
		out.Links = append(out.Links, j)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}
