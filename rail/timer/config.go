package timer

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"golnx/internal/ranks"
	"golnx/rail/timer/nic"
)

// Config says what is recorded, and where. FromEnv makes one of the INTERCEPT_TIMER_
// variables.
type Config struct {
	// Dir is where the files go. It is made if it is not there.
	Dir string
	// Rank is in the files' names; RankSource is the variable that said so.
	Rank       int
	RankSource string
	// OpsBytes and NICBytes are what ops_rank<N>.csv (and cqgaps_rank<N>.csv) and
	// nic_rank<N>.csv grow to at most; 0 is no limit.
	OpsBytes, NICBytes int64
	// OpsMinBytes leaves out shorter operations.
	OpsMinBytes int64
	// OpsRanks are the ranks that record operations; empty is all.
	OpsRanks []RankRange
	// OpsNIC are patterns (path.Match) of local NICs; operations on others are left
	// out. Empty is all.
	OpsNIC []string
	// NIC turns the sampling of counters on.
	NIC bool
	// NICDevices are patterns of the NICs to sample; empty is those of the rails of
	// the endpoints that are opened.
	NICDevices []string
	// NICEvery is the time between two samples; 0 is 10 ms.
	NICEvery time.Duration
	// NICCounters are patterns of the counters to sample; empty is all.
	NICCounters []string
	// CQGap is the time without a look at a completion queue from which it is
	// recorded; 0 is never.
	CQGap time.Duration
}

// RankRange is the ranks from First to Last.
type RankRange struct{ First, Last int }

// defaultNICEvery is a compromise: a sample of all of a Cassini's counters takes
// milliseconds.
const defaultNICEvery = 10 * time.Millisecond

// FromEnv answers the configuration that the environment asks for; nil, and no error,
// if INTERCEPT_TIMER_DIR is not set or empty. lookup is that of package os, or what stands
// for it in a test. The error names the variable, what it has, and what it may have.
func FromEnv(lookup func(string) (string, bool)) (*Config, error) {
	if dir, _ := lookup(dirKnob); dir == "" {
		return nil, nil
	}
	c := new(Config)
	for _, k := range knobs {
		text, _ := lookup(k.name)
		if text == "" {
			text = k.unset
		}
		if err := k.set(c, text); err != nil {
			return nil, fmt.Errorf("%s=%q: %w", k.name, text, err)
		}
	}
	var err error
	if c.Rank, c.RankSource, err = ranks.FromEnv(lookup); err != nil {
		return nil, err
	}
	return c, nil
}

// Check says whether the NICs that NICDevices names are there; nil sources are
// nic.All(""). New does it, too.
func (c *Config) Check(sources []nic.Source) error {
	if !c.NIC || len(c.NICDevices) == 0 {
		return nil
	}
	if sources == nil {
		sources = nic.All("")
	}
	all := devices(sources)
	for _, p := range c.NICDevices {
		if !slices.ContainsFunc(all, func(name string) bool { return matches([]string{p}, name) }) {
			return fmt.Errorf("%s=%s: there is no NIC %q with counters: there are %s", nicDevKnob, strings.Join(c.NICDevices, ","), p, strings.Join(all, ", "))
		}
	}
	return nil
}

// Knobs answers the variables that make this configuration, defaults too.
func (c *Config) Knobs() map[string]string {
	m := make(map[string]string, len(knobs))
	for _, k := range knobs {
		m[k.name] = k.get(c)
	}
	return m
}

// recordsOps says whether this rank records operations.
func (c *Config) recordsOps() bool {
	return len(c.OpsRanks) == 0 || slices.ContainsFunc(c.OpsRanks, func(r RankRange) bool {
		return r.First <= c.Rank && c.Rank <= r.Last
	})
}

// matches says whether one of the patterns, which are valid, fits; none fit all.
func matches(patterns []string, name string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool {
		ok, _ := path.Match(p, name)
		return ok
	})
}
