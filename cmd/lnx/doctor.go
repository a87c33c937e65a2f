package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"golnx/cmd/lnx/ui"
	"golnx/internal/shmclean"
	"golnx/lnx"
	"golnx/providers"
	"golnx/providers/ofi"
)

// doctorCmd looks for what keeps links from working.
type doctorCmd struct {
	Clean bool `help:"Remove the shared memory that processes of yours left behind."`

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
	for _, check := range []func() []finding{checkLibrary, checkProviders, checkEnvironment, checkShm, c.checkRegions} {
		all = append(all, check()...)
	}
	t := ui.NewTable("")
	t.AppendHeader([]any{"", "what", "found"})
	failed := false
	for _, f := range all {
		mark := "ok"
		if f.bad {
			mark, failed = "!!", true
		}
		t.AppendRow([]any{mark, f.what, f.found})
	}
	if err := ui.Print(a.out, t); err != nil {
		return err
	}
	if failed {
		return errQuiet
	}
	return nil
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
		return []finding{{"/dev/shm", fmt.Sprintf("%s free: an endpoint takes 9 MiB", ui.Size(free)), true}}
	}
	return []finding{{"/dev/shm", ui.Size(free) + " free", false}}
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
