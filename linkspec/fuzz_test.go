package linkspec_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/linkspec"
)

func FuzzParse(f *testing.F) {
	text, err := os.ReadFile(tablePath)
	require.NoError(f, err)
	for _, c := range readTable(f, string(text)) {
		if c.head != "" {
			f.Add(tableSpec(f, c))
		}
	}
	f.Fuzz(func(t *testing.T, spec string) {
		parsed, err := linkspec.Parse(spec)
		checkVerdict(t, spec, parsed, err)
	})
}

func FuzzFromEnv(f *testing.F) {
	f.Add("shm+cxi", "PER_MSG", "1", "off")
	f.Add("shm+", "per_msg", "", "ſ")
	f.Fuzz(func(t *testing.T, links, selection, shm, stats string) {
		vars := map[string]string{
			linkspec.EnvProvLinks:          links,
			linkspec.EnvMultiRailSelection: selection,
			linkspec.EnvDisableShm:         shm,
			linkspec.EnvDumpStats:          stats,
		}
		checkEnv(t, vars)
	})
}
