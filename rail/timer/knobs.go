package timer

import (
	"errors"
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"
	"time"
)

// The variables that messages name.
const (
	dirKnob         = "INTERCEPT_TIMER_DIR"
	opsMBKnob       = "INTERCEPT_TIMER_OPS_MB"
	nicMBKnob       = "INTERCEPT_TIMER_NIC_MB"
	nicDevKnob      = "INTERCEPT_TIMER_NIC_DEV"
	nicCountersKnob = "INTERCEPT_TIMER_NIC_COUNTERS"
)

// knob is one of the variables.
type knob struct {
	name string
	// unset is what it has when it is not set, or empty.
	unset string
	set   func(c *Config, text string) error
	get   func(c *Config) string
}

// knobs are the variables of docs/timer.md, in its order.
var knobs = []knob{
	{
		dirKnob, "",
		func(c *Config, text string) error { c.Dir = text; return nil },
		func(c *Config) string { return c.Dir },
	},
	mebibytes(opsMBKnob, "1024", func(c *Config) *int64 { return &c.OpsBytes }),
	mebibytes(nicMBKnob, "256", func(c *Config) *int64 { return &c.NICBytes }),
	{
		"INTERCEPT_TIMER_OPS_MIN_BYTES", "0",
		func(c *Config, text string) (err error) { c.OpsMinBytes, err = number(text, math.MaxInt64); return err },
		func(c *Config) string { return strconv.FormatInt(c.OpsMinBytes, 10) },
	},
	{
		"INTERCEPT_TIMER_OPS_RANKS", "",
		func(c *Config, text string) (err error) { c.OpsRanks, err = parseRanks(text); return err },
		func(c *Config) string { return formatRanks(c.OpsRanks) },
	},
	patterns("INTERCEPT_TIMER_OPS_NIC", func(c *Config) *[]string { return &c.OpsNIC }),
	{
		"INTERCEPT_TIMER_NIC", "0",
		func(c *Config, text string) (err error) {
			if c.NIC, err = strconv.ParseBool(text); err != nil {
				err = errors.New("1 turns the sampling of NIC counters on, 0 off")
			}
			return err
		},
		func(c *Config) string {
			if c.NIC {
				return "1"
			}
			return "0"
		},
	},
	patterns(nicDevKnob, func(c *Config) *[]string { return &c.NICDevices }),
	{
		"INTERCEPT_TIMER_NIC_MS", "10",
		func(c *Config, text string) error {
			ms, err := strconv.ParseFloat(text, 64)
			if err != nil || !(ms >= 0.1 && ms <= 3600_000) {
				return errors.New("a number of milliseconds from 0.1 to 3600000 is needed")
			}
			c.NICEvery = time.Duration(math.Round(ms * float64(time.Millisecond)))
			return nil
		},
		func(c *Config) string {
			return strconv.FormatFloat(float64(c.NICEvery)/float64(time.Millisecond), 'f', -1, 64)
		},
	},
	patterns(nicCountersKnob, func(c *Config) *[]string { return &c.NICCounters }),
	{
		"INTERCEPT_TIMER_CQGAP", "0",
		func(c *Config, text string) error {
			us, err := number(text, 3600_000_000)
			c.CQGap = time.Duration(us) * time.Microsecond
			return err
		},
		func(c *Config) string { return strconv.FormatInt(c.CQGap.Microseconds(), 10) },
	},
}

// mebibytes is a file's limit.
func mebibytes(name, unset string, field func(*Config) *int64) knob {
	return knob{
		name, unset,
		func(c *Config, text string) error {
			mb, err := strconv.ParseFloat(text, 64)
			if err != nil || !(mb == 0 || mb >= 1./1024 && mb <= 1<<30) {
				return errors.New("a number of MiB from 1/1024 to 2^30 is needed, as 0.5, or 0 for no limit")
			}
			*field(c) = int64(mb * (1 << 20))
			return nil
		},
		func(c *Config) string {
			return strconv.FormatFloat(float64(*field(c))/(1<<20), 'f', -1, 64)
		},
	}
}

// patterns is a list of patterns with commas between.
func patterns(name string, field func(*Config) *[]string) knob {
	return knob{
		name, "",
		func(c *Config, text string) error {
			list, err := items(text)
			for _, p := range list {
				if _, e := path.Match(p, ""); e != nil {
					err = fmt.Errorf("%q is no pattern of path.Match: *, ? and [a-z] have a meaning", p)
				}
			}
			*field(c) = list
			return err
		},
		func(c *Config) string { return strings.Join(*field(c), ",") },
	}
}

func items(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	list := strings.Split(text, ",")
	for i := range list {
		if list[i] = strings.TrimSpace(list[i]); list[i] == "" {
			return nil, errors.New("an entry is empty: names are needed, with commas between")
		}
	}
	return list, nil
}

func number(text string, most int64) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > most {
		return 0, fmt.Errorf("a whole number from 0 to %d is needed", most)
	}
	return n, nil
}

func parseRanks(text string) ([]RankRange, error) {
	list, err := items(text)
	if err != nil {
		return nil, err
	}
	var all []RankRange
	for _, item := range list {
		first, last, isRange := strings.Cut(item, "-")
		if !isRange {
			last = first
		}
		a, errA := number(first, math.MaxInt32)
		b, errB := number(last, math.MaxInt32)
		if errA != nil || errB != nil || b < a {
			return nil, fmt.Errorf("%q is neither a rank nor a range: a list as 0,4-7 is needed", item)
		}
		all = append(all, RankRange{int(a), int(b)})
	}
	return all, nil
}

func formatRanks(all []RankRange) string {
	list := make([]string, len(all))
	for i, r := range all {
		list[i] = strconv.Itoa(r.First)
		if r.Last != r.First {
			list[i] += "-" + strconv.Itoa(r.Last)
		}
	}
	return strings.Join(list, ",")
}
