package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"golnx/cmd/lnx/ui"
	"golnx/internal/shmclean"
	"golnx/linkspec"
	"golnx/lnx"
	"golnx/providers"
	"golnx/providers/ofi"
)

// doctorCmd looks for what keeps links from working.
type doctorCmd struct {
	Clean bool `help:"Remove the shared memory that processes of yours left behind."`
	JSON  bool `name:"json" help:"Print one JSON object."`

	roots shmclean.Roots // where regions and processes are
}

// finding is one line of the report.
type finding struct {
	what, found string
	bad         bool
}

// Run prints what it finds; something that needs a remedy fails the command.
func (c *doctorCmd) Run(a *app) error {
	var all []finding
	for _, check := range []func() []finding{checkLibrary, checkProviders, checkLinks, checkEnvironment, checkShm, c.checkRegions} {
		all = append(all, check()...)
	}
	show := showFindings
	if c.JSON {
		show = showFindingsJSON
	}
	if err := show(a.out, all); err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(f finding) bool { return f.bad }) {
		return errQuiet
	}
	return nil
}

func showFindings(w io.Writer, all []finding) error {
	t := ui.NewTable("")
	t.AppendHeader([]any{"", "what", "found"})
	for _, f := range all {
		mark := "ok"
		if f.bad {
			mark = "!!"
		}
		t.AppendRow([]any{mark, f.what, f.found})
	}
	return ui.Print(w, t)
}

// The JSON form: whether all is well, and the lines.
type (
	doctorJSON struct {
		OK       bool          `json:"ok"`
		Findings []findingJSON `json:"findings"`
	}
	findingJSON struct {
		OK    bool   `json:"ok"`
		What  string `json:"what"`
		Found string `json:"found"`
	}
)

func showFindingsJSON(w io.Writer, all []finding) error {
	out := doctorJSON{OK: true}
	for _, f := range all {
		out.OK = out.OK && !f.bad
		out.Findings = append(out.Findings, findingJSON{!f.bad, f.what, f.found})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

func checkLibrary() []finding {
	if err := ofi.Load(); err != nil {
		return []finding{{"libfabric", err.Error(), true}}
	}
	return []finding{{"libfabric", fmt.Sprintf("%v, as the headers", ofi.HeaderVersion), false}}
}

func checkProviders() (all []finding) {
	for _, t := range providers.All() {
		listing, err := lnx.Links(lnx.Options{Links: t.Name, Lookup: noEnvironment})
		if err != nil {
			all = append(all, finding{"provider " + t.Name, "not here", false})
			continue
		}
		words := ""
		for i, r := range listing.Links[0].Rails {
			if i > 0 {
				words += ", "
			}
			words += r.Domain
		}
		all = append(all, finding{"provider " + t.Name, words, false})
	}
	return all
}

// checkLinks says what comes of the links that the environment asks for.
func checkLinks() []finding {
	spec, set := os.LookupEnv(linkspec.EnvProvLinks)
	if !set {
		return []finding{{linkspec.EnvProvLinks, "not set: links are what programs, or --links, say", false}}
	}
	listing, err := lnx.Links(lnx.Options{Lookup: withoutRecording})
	if err != nil {
		return []finding{{linkspec.EnvProvLinks, fmt.Sprintf("%s: %s", spec, flagNames.Replace(err.Error())), true}}
	}
	var names []string
	for _, l := range listing.Links {
		names = append(names, l.Name)
	}
	return []finding{{linkspec.EnvProvLinks, spec + ": can be opened as " + strings.Join(names, "|"), false}}
}

func noEnvironment(string) (string, bool) { return "", false }

// checkEnvironment shows what the providers need and have.
func checkEnvironment() (all []finding) {
	seen := map[string]bool{}
	for _, t := range providers.All() {
		for _, e := range t.Env {
			if seen[e.Name] {
				continue
			}
			seen[e.Name] = true
			text := os.Getenv(e.Name)
			if text != e.Value {
				text = fmt.Sprintf("%s, set by you instead of %s: %s", text, e.Value, e.Why)
			}
			all = append(all, finding{e.Name, text, false})
		}
	}
	return all
}

// An endpoint's region of shm takes some 9 MB.
const leastShm = 64 << 20

func checkShm() []finding {
	var st unix.Statfs_t
	if err := unix.Statfs("/dev/shm", &st); err != nil {
		return []finding{{"/dev/shm", err.Error(), true}}
	}
	free := st.Bavail * uint64(st.Bsize)
	if free < leastShm {
		return []finding{{"/dev/shm", fmt.Sprintf("%d MiB free: an endpoint takes 9 MiB", free>>20), true}}
	}
	return []finding{{"/dev/shm", fmt.Sprintf("%d MiB free", free>>20), false}}
}

func (c *doctorCmd) checkRegions() []finding {
	if !c.Clean {
		stale, err := shmclean.Find(c.roots)
		switch {
		case err != nil:
			return []finding{{"stale regions in /dev/shm", err.Error(), false}}
		case len(stale) > 0:
			return []finding{{"stale regions in /dev/shm", fmt.Sprintf("%d: remove them with lnx doctor --clean", len(stale)), true}}
		}
		return []finding{{"stale regions in /dev/shm", "none", false}}
	}
	removed, err := shmclean.Remove(c.roots)
	var all []finding
	for _, r := range removed {
		all = append(all, finding{r.Path, fmt.Sprintf("left by process %d, removed", r.PID), false})
	}
	if err != nil {
		all = append(all, finding{"stale regions in /dev/shm", err.Error(), true})
	}
	return append(all, finding{"stale regions in /dev/shm", fmt.Sprintf("%d removed", len(removed)), false})
}
