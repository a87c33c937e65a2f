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
	listing, err := lnx.Links(c.options())
	show := showInfo
	if c.JSON {
		show = showInfoJSON
	}
	return errors.Join(show(a.out, listing), err)
}

// showInfo writes a table for each link, and what was left out.
func showInfo(w io.Writer, listing *lnx.Listing) error {
	for _, link := range listing.Links {
		if err := showLink(w, link); err != nil {
			return err
		}
	}
	for _, left := range listing.LeftOut {
		// The reasons of a link that cannot be opened come as an error if
		// there is no other.
		if left.What == wholeLink && len(listing.Links) == 0 {
			continue
		}
		if _, err := fmt.Fprintf(w, "left out: %v\n", left); err != nil {
			return err
		}
	}
	return nil
}

func showLink(w io.Writer, link *lnx.Link) error {
	t := ui.NewTable("Link "+link.Name, "speed", "NUMA", "inject", "max message", "buffers")
	t.AppendHeader([]any{"rail", "provider", "fabric", "domain", "address format", "speed", "PCI", "NUMA", "inject", "max message", "buffers"})
	for _, r := range link.Rails {
		t.AppendRow([]any{
			r.Name(), r.Provider, r.Fabric, r.Domain, r.AddrFormat.String(), ui.Speed(r.NIC.Speed), orDash(r.NIC.PCI), numaNode(r.NIC.NUMA),
			ui.Size(r.InjectSize), ui.Size(r.MaxMsgSize), r.IOVLimit,
		})
	}
	if err := ui.Print(w, t); err != nil {
		return err
	}
	_, err := io.WriteString(w, capLines(link.Rails))
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
	fmt.Fprintf(&b, "caps of all rails: %s\n", orDash(strings.Join(capList(common), " ")))
	for _, r := range rails {
		if more := r.Caps &^ common; more != 0 {
			fmt.Fprintf(&b, "%s besides: %s\n", r.Name(), strings.Join(capList(more), " "))
		}
	}
	return b.String()
}

// The JSON form of a listing.
type (
	infoJSON struct {
		Links   []linkJSON    `json:"links"`
		LeftOut []lnx.LeftOut `json:"left_out"`
	}
	linkJSON struct {
		Name    string        `json:"name"`
		Info    railJSON      `json:"info"` // what an application chooses by
		Rails   []railJSON    `json:"rails"`
		LeftOut []lnx.LeftOut `json:"left_out"`
	}
	railJSON struct {
		Name string `json:"name"`
		providers.Info
		AddrFormat string   `json:"addr_format"`
		Caps       []string `json:"caps"`
	}
)

func newRailJSON(i providers.Info) railJSON {
	return railJSON{i.Name(), i, i.AddrFormat.String(), capList(i.Caps)}
}

func showInfoJSON(w io.Writer, listing *lnx.Listing) error {
	out := infoJSON{Links: []linkJSON{}, LeftOut: slices.Concat([]lnx.LeftOut{}, listing.LeftOut)}
	for _, l := range listing.Links {
		j := linkJSON{Name: l.Name, Info: newRailJSON(l.Info), LeftOut: slices.Concat([]lnx.LeftOut{}, l.LeftOut)}
		for _, r := range l.Rails {
			j.Rails = append(j.Rails, newRailJSON(r))
		}
		out.Links = append(out.Links, j)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}
