package main

import (
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
	Caps []string `name:"caps" placeholder:"CAP" help:"What links are to be able to do besides messages: ${caps}."`
	JSON bool     `name:"json" help:"Print one JSON object."`
}

// Help says what --links does not, which other commands have as well.
func (c *infoCmd) Help() string {
	return "Without --links and FI_LNX_PROV_LINKS, all is shown that is here. Nothing is opened, nor recorded."
}

// askable are the capabilities that --caps can ask for.
var askable = []lnx.Caps{lnx.CapRMA, lnx.CapAtomic, lnx.CapRMAEvent}

// capWord is what --caps calls a capability: libfabric's name without its FI_.
func capWord(c lnx.Caps) string { return strings.ToLower(strings.TrimPrefix(c.String(), "FI_")) }

func capNames(caps lnx.Caps) (names []string) {
	for _, c := range askable {
		if caps&c != 0 {
			names = append(names, capWord(c))
		}
	}
	return names
}

// Validate checks the flags.
func (c *infoCmd) Validate() error {
	_, err := c.caps()
	return errors.Join(c.linkFlags.check(), err)
}

func (c *infoCmd) caps() (caps lnx.Caps, err error) {
	for _, name := range c.Caps {
		i := slices.IndexFunc(askable, func(c lnx.Caps) bool { return capWord(c) == name })
		if i < 0 {
			return 0, fmt.Errorf("--caps %q: there are %s", name, capHelp())
		}
		caps |= askable[i]
	}
	return caps, nil
}

// capHelp names what --caps takes.
func capHelp() string {
	return "rma (reads and writes of peers' memory), atomic (atomic operations on it), rma_event (counts of what peers do)"
}

// shown is a link, and what each of its rails could be opened for.
type shown struct {
	*lnx.Link
	could []lnx.Caps
}

// Run prints what there is, also when no link can be opened; that is an error then.
func (c *infoCmd) Run(a *app) error {
	opts, show := c.options(), showInfo
	opts.Lookup = withoutRecording
	if !c.asked() {
		opts.Links, show = everyProvider(), showAvailable
	}
	if c.JSON {
		show = showInfoJSON
	}
	var err error
	if opts.Caps, err = c.caps(); err != nil {
		return err
	}
	listing, err := lnx.Links(opts)
	if err != nil {
		err = errors.New(capsFlag.Replace(err.Error()))
	}
	for i := range listing.LeftOut {
		listing.LeftOut[i].Reason = capsFlag.Replace(listing.LeftOut[i].Reason)
	}
	var links []shown
	for _, l := range listing.Links {
		could, e := l.Grantable()
		if e != nil {
			return errors.Join(e, err)
		}
		links = append(links, shown{l, could})
	}
	return errors.Join(show(a.out, links, listing.LeftOut), err)
}

// capsFlag is what package lnx calls Options.Caps, here.
var capsFlag = strings.NewReplacer("Options.Caps", "--caps")

// everyProvider is a spec with a link of each provider alone.
func everyProvider() string {
	var names []string
	for _, t := range providers.All() {
		names = append(names, t.Name)
	}
	return strings.Join(names, "|")
}

// showInfo writes a table for each link, and what was left out.
func showInfo(w io.Writer, links []shown, all []lnx.LeftOut) error {
	for _, link := range links {
		if err := showLink(w, "Link "+link.Name+" can be opened", link.Rails, link.could); err != nil {
			return err
		}
		if err := showUnused(w, []shown{link}, false); err != nil {
			return err
		}
	}
	return showMissing(w, links, elsewhere(links, all))
}

// showAvailable writes one table of all that each provider has by itself.
func showAvailable(w io.Writer, links []shown, all []lnx.LeftOut) error {
	var rails []providers.Info
	var could []lnx.Caps
	for _, link := range links {
		rails, could = append(rails, link.Rails...), append(could, link.could...)
	}
	if len(rails) > 0 {
		title := "What can be linked here"
		if len(links) > 1 {
			title += ", as with --links " + joined(links)
		}
		if err := showLink(w, title, rails, could); err != nil {
			return err
		}
	}
	if err := showUnused(w, links, true); err != nil {
		return err
	}
	return showMissing(w, links, elsewhere(links, all))
}

// joined is a spec of all the links, with the domains left to the machine.
func joined(links []shown) string {
	var names []string
	for _, l := range links {
		if name := l.Rails[0].Provider; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return "'" + strings.Join(names, "+") + "'"
}

// elsewhere is what concerns none of the links that can be opened.
func elsewhere(links []shown, all []lnx.LeftOut) []lnx.LeftOut {
	return slices.DeleteFunc(slices.Clone(all), func(left lnx.LeftOut) bool {
		return slices.ContainsFunc(links, func(l shown) bool { return slices.Contains(l.LeftOut, left) })
	})
}

// showUnused writes what links that can be opened have under another name, and what they
// do without; several says that there are more than one.
func showUnused(w io.Writer, links []shown, several bool) error {
	var b strings.Builder
	title := "The link is fine. Here too, but not used by it:\n"
	if several {
		title = "All of these are fine. Here too, but not used:\n"
	}
	networks := false
	for _, link := range links {
		notes, left := leftOut(link.LeftOut)
		for _, n := range notes {
			fmt.Fprintf(&b, "note: %s %s\n", n.What, n.Reason)
		}
		for _, l := range left {
			b.WriteString(title)
			title = ""
			networks = networks || slices.ContainsFunc(link.Rails, func(r providers.Info) bool { return r.Domain == l.What })
			if several && l.Link != l.What {
				l.What = l.Link + ": " + l.What
			}
			fmt.Fprintf(&b, "  %s: %s\n", l.What, l.Reason)
		}
	}
	if networks {
		b.WriteString("  (a program takes another network of a domain with a hook of getinfo: docs/hooks.md)\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// showMissing writes which links cannot be opened. If there are no others the reasons
// come as an error.
func showMissing(w io.Writer, links []shown, all []lnx.LeftOut) error {
	notes, left := leftOut(all)
	var b strings.Builder
	for _, n := range notes {
		fmt.Fprintf(&b, "note: of %s, %s %s\n", n.Link, n.What, n.Reason)
	}
	if len(links) == 0 {
		left = slices.DeleteFunc(left, func(l lnx.LeftOut) bool { return l.What == lnx.WholeLink })
	}
	if len(left) > 0 {
		b.WriteString("Cannot be opened here:\n")
	}
	for _, l := range left {
		if l.What == lnx.WholeLink {
			fmt.Fprintf(&b, "  %s: %s\n", l.Link, l.Reason)
		} else {
			fmt.Fprintf(&b, "  %s: %s: %s\n", l.Link, l.What, l.Reason)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func showLink(w io.Writer, title string, rails []providers.Info, could []lnx.Caps) error {
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
	_, err := io.WriteString(w, capLines(rails)+couldLine(rails, could))
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
	common := usable(rails[0].Caps)
	for _, r := range rails {
		common &= r.Caps
	}
	var b strings.Builder
	fmt.Fprintf(&b, "caps of all rails: %s\n", orDash(strings.Join(fiinfo.Caps(common).Names(), " ")))
	for _, r := range rails {
		if more := usable(r.Caps) &^ common; more != 0 {
			fmt.Fprintf(&b, "%s besides: %s\n", r.Name(), strings.Join(fiinfo.Caps(more).Names(), " "))
		}
	}
	return b.String()
}

// usable leaves out what libfabric grants that nothing can be done with: events of reads
// and writes where there are none.
func usable(caps lnx.Caps) lnx.Caps {
	if caps&lnx.CapRMA == 0 {
		caps &^= lnx.CapRMAEvent
	}
	return caps
}

// couldLine says what could be asked for besides: of all rails, as a link needs it, and
// of some.
func couldLine(rails []providers.Info, could []lnx.Caps) string {
	more := make([]lnx.Caps, len(rails))
	all, any := ^lnx.Caps(0), lnx.Caps(0)
	for i, r := range rails {
		more[i] = could[i] &^ usable(r.Caps)
		all &= more[i]
		any |= more[i]
	}
	var words []string
	if names := capNames(all); names != nil {
		words = append(words, strings.Join(names, ","))
	}
	for _, c := range askable {
		if any&^all&c == 0 {
			continue
		}
		var have []string
		for i, r := range rails {
			if more[i]&c != 0 {
				have = append(have, r.Name())
			}
		}
		words = append(words, fmt.Sprintf("%s of %s only", capWord(c), strings.Join(have, ", ")))
	}
	if words == nil {
		return ""
	}
	return "could do besides, asked for with --caps (in a program, lnx.Options.Caps): " + strings.Join(words, "; ") + "\n"
}
