package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golnx/cmd/lnx/bench"
	"golnx/linkspec"
	"golnx/lnx"
	"golnx/rail"
)

// linkFlags say which links are meant, in every command that opens or lists some.
type linkFlags struct {
	Links      string `placeholder:"SPEC" help:"Links to use, as shm+tcp:eth0. Without it, FI_LNX_PROV_LINKS."`
	Policy     string `placeholder:"NAME" help:"How rails are selected: ${policies}. Without it, FI_LNX_MULTI_RAIL_SELECTION."`
	DisableShm bool   `name:"disable-shm" help:"Leave shared memory out, as FI_LNX_DISABLE_SHM=1 does."`
	Direct     bool   `help:"Have the provider of a link of one rail match messages, as LNX_DIRECT=1 does."`

	op string // that links are to be able to do; tagged messages if empty
}

// check refuses what can be seen to be wrong without looking at the machine.
func (f *linkFlags) check() error {
	if f.Links != "" {
		if _, err := linkspec.Parse(f.Links); err != nil {
			return usageError{fmt.Errorf("--links: %w", err)}
		}
	}
	if _, err := rail.ParsePolicy(f.Policy); err != nil {
		return usageError{fmt.Errorf("--policy: %w", err)}
	}
	return nil
}

// spec is the link spec as given.
func (f *linkFlags) spec() string {
	if f.Links != "" {
		return f.Links
	}
	return os.Getenv(linkspec.EnvProvLinks)
}

func (f *linkFlags) options() lnx.Options {
	return lnx.Options{Links: f.Links, Policy: f.Policy, DisableShm: f.DisableShm, Direct: f.Direct, Caps: bench.CapsOf(f.op)}
}

// withoutRecording is the environment of commands that only look: what a job recorded
// stays as it is.
func withoutRecording(name string) (string, bool) {
	if strings.HasPrefix(name, "INTERCEPT_") {
		return "", false
	}
	return os.LookupEnv(name)
}

// asked says whether there is a spec at all.
func (f *linkFlags) asked() bool { return strings.TrimSpace(f.spec()) != "" }

// flagNames puts flags in place of the options that package lnx speaks of.
var flagNames = strings.NewReplacer(
	"or Options.Links", "or give --links",
	"Options.Links", "--links",
	"is for Options.Policy", "is for --policy, which takes "+strings.Join(rail.Policies(), ", "),
	"Options.Policy", "--policy",
	"Options.DisableShm", "--disable-shm",
	"Options.Direct", "--direct",
	"Options.ConnectTimeout", "--timeout",
	"Options.Caps asks for", "--op asks for",
)

// leftOut puts a listing's differences into two lists: what is there under another
// name, and what is not there.
func leftOut(all []lnx.LeftOut) (notes, left []lnx.LeftOut) {
	notes, left = []lnx.LeftOut{}, []lnx.LeftOut{}
	for _, l := range all {
		l.Reason = flagNames.Replace(l.Reason)
		if l.Note {
			notes = append(notes, l)
		} else {
			left = append(left, l)
		}
	}
	return notes, left
}

// args are the flags for another process.
func (f *linkFlags) args() []string {
	var args []string
	if f.Links != "" {
		args = append(args, "--links="+f.Links)
	}
	if f.Policy != "" {
		args = append(args, "--policy="+f.Policy)
	}
	if f.DisableShm {
		args = append(args, "--disable-shm")
	}
	if f.Direct {
		args = append(args, "--direct")
	}
	if f.op != "" {
		args = append(args, "--op="+f.op)
	}
	return args
}

// open opens the first link that can be opened. Each end has its own seed. A link
// that was passed over is always told.
func (f *linkFlags) open(a *app, seed uint64, limit time.Duration) (*lnx.Endpoint, error) {
	opts := f.options()
	opts.Seed, opts.ConnectTimeout = seed, limit
	listing, err := lnx.Links(opts)
	if err != nil {
		return nil, err
	}
	for _, left := range listing.LeftOut {
		if left.What == lnx.WholeLink {
			a.print(flagNames.Replace(left.String()))
		} else {
			a.note("%s", flagNames.Replace(left.String()))
		}
	}
	a.note("opens %s", listing.Links[0].Name)
	return lnx.Open(listing.Links[0])
}
