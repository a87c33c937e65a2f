package timer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// set is an environment of pairs, with a directory.
func set(pairs ...string) func(string) (string, bool) {
	env := map[string]string{dirKnob: "out"}
	for i := 0; i < len(pairs); i += 2 {
		env[pairs[i]] = pairs[i+1]
	}
	return func(name string) (string, bool) { text, ok := env[name]; return text, ok }
}

func TestFromEnv(t *testing.T) {
	defaults := Config{Dir: "out", OpsBytes: 1 << 30, NICBytes: 256 << 20, NICEvery: 10 * time.Millisecond}
	for _, tc := range []struct {
		name, value string
		change      func(*Config)
	}{
		{"UNRELATED", "x", func(*Config) {}},
		{"INTERCEPT_TIMER_OPS_MB", "", func(*Config) {}},
		{"INTERCEPT_TIMER_OPS_MB", "0.5", func(c *Config) { c.OpsBytes = 512 << 10 }},
		{"INTERCEPT_TIMER_OPS_MB", "0", func(c *Config) { c.OpsBytes = 0 }},
		{"INTERCEPT_TIMER_NIC_MB", "2", func(c *Config) { c.NICBytes = 2 << 20 }},
		{"INTERCEPT_TIMER_OPS_MIN_BYTES", "4096", func(c *Config) { c.OpsMinBytes = 4096 }},
		{"INTERCEPT_TIMER_OPS_RANKS", "0, 4-7", func(c *Config) { c.OpsRanks = []RankRange{{0, 0}, {4, 7}} }},
		{"INTERCEPT_TIMER_OPS_NIC", "cxi0,eth*", func(c *Config) { c.OpsNIC = []string{"cxi0", "eth*"} }},
		{"INTERCEPT_TIMER_NIC", "1", func(c *Config) { c.NIC = true }},
		{"INTERCEPT_TIMER_NIC", "true", func(c *Config) { c.NIC = true }},
		{"INTERCEPT_TIMER_NIC_DEV", "cxi[01]", func(c *Config) { c.NICDevices = []string{"cxi[01]"} }},
		{"INTERCEPT_TIMER_NIC_MS", "1.5", func(c *Config) { c.NICEvery = 1500 * time.Microsecond }},
		{"INTERCEPT_TIMER_NIC_COUNTERS", "rx_*,port1.*", func(c *Config) { c.NICCounters = []string{"rx_*", "port1.*"} }},
		{"INTERCEPT_TIMER_CQGAP", "250", func(c *Config) { c.CQGap = 250 * time.Microsecond }},
		{"SLURM_PROCID", "12", func(c *Config) { c.Rank, c.RankSource = 12, "SLURM_PROCID" }},
	} {
		t.Run(tc.name+"="+tc.value, func(t *testing.T) {
			want := defaults
			tc.change(&want)
			c, err := FromEnv(set(tc.name, tc.value))
			require.NoError(t, err)
			require.Equal(t, &want, c)

			knobs := c.Knobs()
			again, err := FromEnv(func(name string) (string, bool) {
				if text, ok := knobs[name]; ok {
					return text, true
				}
				return set(tc.name, tc.value)(name)
			})
			require.NoError(t, err)
			require.Equal(t, c, again, "what Knobs answers makes another configuration")
		})
	}
}

func TestFromEnvOff(t *testing.T) {
	for _, dir := range []string{"", "unset"} {
		c, err := FromEnv(func(name string) (string, bool) {
			if name == dirKnob {
				return "", dir == ""
			}
			return "bad", true
		})
		require.NoError(t, err)
		require.Nil(t, c)
	}
}

func TestFromEnvErrors(t *testing.T) {
	for _, tc := range []struct{ name, value, want string }{
		{"INTERCEPT_TIMER_OPS_MB", "many", "a number of MiB"},
		{"INTERCEPT_TIMER_OPS_MB", "-1", "a number of MiB"},
		{"INTERCEPT_TIMER_OPS_MB", "NaN", "a number of MiB"},
		{"INTERCEPT_TIMER_OPS_MB", "0.0001", "a number of MiB"},
		{"INTERCEPT_TIMER_NIC_MB", "Inf", "a number of MiB"},
		{"INTERCEPT_TIMER_OPS_MIN_BYTES", "-1", "a whole number from 0"},
		{"INTERCEPT_TIMER_OPS_MIN_BYTES", "4k", "a whole number from 0"},
		{"INTERCEPT_TIMER_OPS_RANKS", "7-4", `"7-4" is neither a rank nor a range`},
		{"INTERCEPT_TIMER_OPS_RANKS", "-4", "neither a rank nor a range"},
		{"INTERCEPT_TIMER_OPS_RANKS", "1,,2", "an entry is empty"},
		{"INTERCEPT_TIMER_OPS_RANKS", "0x1", "neither a rank nor a range"},
		{"INTERCEPT_TIMER_OPS_NIC", "cxi[", `"cxi[" is no pattern`},
		{"INTERCEPT_TIMER_NIC", "yes", "1 turns the sampling"},
		{"INTERCEPT_TIMER_NIC_DEV", ",", "an entry is empty"},
		{"INTERCEPT_TIMER_NIC_MS", "0", "a number of milliseconds"},
		{"INTERCEPT_TIMER_NIC_MS", "10ms", "a number of milliseconds"},
		{"INTERCEPT_TIMER_NIC_COUNTERS", "[a", "is no pattern"},
		{"INTERCEPT_TIMER_CQGAP", "1.5", "a whole number from 0"},
		{"RANK", "one", "is no rank"},
	} {
		t.Run(tc.name+"="+tc.value, func(t *testing.T) {
			_, err := FromEnv(set(tc.name, tc.value))
			require.ErrorContains(t, err, tc.want)
			require.ErrorContains(t, err, tc.name+"=\""+tc.value+"\"")
		})
	}
}

func TestRecordsOps(t *testing.T) {
	for _, tc := range []struct {
		ranks string
		rank  string
		want  bool
	}{
		{"", "5", true}, {"5", "5", true}, {"0,4-7", "4", true}, {"0,4-7", "7", true}, {"0,4-7", "8", false}, {"0,4-7", "3", false},
	} {
		c, err := FromEnv(set("INTERCEPT_TIMER_OPS_RANKS", tc.ranks, "RANK", tc.rank))
		require.NoError(t, err)
		require.Equal(t, tc.want, c.recordsOps(), "%+v", tc)
	}
}
