package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golnx/linkspec"
	"golnx/rail/railtest"
)

// readMachine reads --machine; without it, nothing is described.
func (c *planCmd) readMachine() (railtest.Case, error) {
	if c.Machine == "" {
		return railtest.Case{}, nil
	}
	text, err := os.ReadFile(c.Machine)
	if err != nil {
		return railtest.Case{}, fmt.Errorf("--machine: %w", err)
	}
	file, err := railtest.ParseParts(c.Machine, string(text))
	if err != nil {
		return file, fmt.Errorf("--machine: %s", strings.TrimPrefix(err.Error(), "railtest: "))
	}
	return file, nil
}

// described takes the first link that the described machine has; of the file's own links,
// the one that it uses.
func (c *planCmd) described(file railtest.Case, env linkspec.Env) (p plan, err error) {
	spec := env.Links
	switch {
	case c.Links != "":
		spec, err = linkspec.Parse(c.Links)
	case file.Link != "":
		spec, err = ownLink(file)
	}
	if err != nil {
		return p, err
	}
	if len(spec) == 0 {
		return p, usageError{fmt.Errorf("no link to plan for: give --links, write a link line into %s, or set %s", c.Machine, linkspec.EnvProvLinks)}
	}
	p.peers, p.opts.Distances = file.Peers, file.Distances
	var errs []error
	for _, link := range spec {
		if p.rails, err = file.Rails(link, c.DisableShm || env.DisableShm || file.ShmOff); err == nil {
			p.link = link.String()
			return p, nil
		}
		errs = append(errs, errors.New(strings.TrimPrefix(err.Error(), "railtest: ")))
	}
	return p, errors.Join(errs...)
}

// ownLink is the link that the file says.
func ownLink(file railtest.Case) (linkspec.Spec, error) {
	spec, err := linkspec.Parse(file.Link)
	if err != nil {
		return nil, err
	}
	use := max(file.Use, 1)
	if use > len(spec) {
		return nil, fmt.Errorf("--machine: %s: use %d: there is no such link in %s", file.Name, use, file.Link)
	}
	return spec[use-1 : use], nil
}
