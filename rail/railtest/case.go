package railtest

import (
	"fmt"

	"golnx/linkspec"
	"golnx/rail"
)

// Case is a machine, a link on it, and steps with what is expected of each.
type Case struct {
	// Name appears in messages; a file's is its path.
	Name string
	Machine
	// Link is a spec; Use says which of its links, from 1 (0 is 1).
	Link string
	Use  int
	// Policy and Seed are those of rail.Options.
	Policy string
	Seed   uint64
	// ShmOff is FI_LNX_DISABLE_SHM.
	ShmOff bool
	// Explain has Update write the reasons.
	Explain bool
	Steps   []Step
}

// Simulate answers the picks of the case.
func (c *Case) Simulate() ([]Pick, error) {
	spec, err := linkspec.Parse(c.Link)
	if err != nil {
		return nil, fmt.Errorf("railtest: %s: %w", c.Name, err)
	}
	use := max(c.Use, 1)
	if use > len(spec) {
		return nil, fmt.Errorf("railtest: %s: cannot use link %d: %q has %d", c.Name, use, c.Link, len(spec))
	}
	rails, err := c.Rails(spec[use-1], c.ShmOff)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Name, err)
	}
	picks, err := Simulate(rails, c.Peers, rail.Options{Policy: c.Policy, Seed: c.Seed, Distances: c.Distances}, c.Steps)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Name, err)
	}
	return picks, nil
}
