package ranks

import (
	"testing"

	"github.com/stretchr/testify/require"
)

type env map[string]string

func (e env) lookup(name string) (string, bool) {
	text, ok := e[name]
	return text, ok
}

func TestFromEnv(t *testing.T) {
	for _, test := range []struct {
		env    env
		rank   int
		source string
	}{
		{env{}, 0, ""},
		{env{"RANK": "7"}, 7, "RANK"},
		{env{"RANK": "0"}, 0, "RANK"},
		{env{"RANK": "2147483647"}, 2147483647, "RANK"},
		{env{"RANK": "9", "PMI_RANK": "8"}, 8, "PMI_RANK"},
		{env{"RANK": "9", "PMI_RANK": "8", "PMIX_RANK": "7"}, 7, "PMIX_RANK"},
		{env{"RANK": "9", "PMI_RANK": "8", "PMIX_RANK": "7", "OMPI_COMM_WORLD_RANK": "6"}, 6, "OMPI_COMM_WORLD_RANK"},
		{env{"RANK": "x", "OMPI_COMM_WORLD_RANK": "6", "SLURM_PROCID": "5"}, 5, "SLURM_PROCID"},
		{env{"RANK": "9", "SLURM_PROCID": ""}, 9, "RANK"},
	} {
		rank, source, err := FromEnv(test.env.lookup)
		require.NoError(t, err, "%v", test.env)
		require.Equal(t, test.rank, rank, "%v", test.env)
		require.Equal(t, test.source, source, "%v", test.env)
	}
}

func TestBadRank(t *testing.T) {
	for _, name := range Variables {
		for _, text := range []string{"-1", "+1", " 1", "1.0", "0x1", "one", "2147483648", "99999999999999999999"} {
			_, _, err := FromEnv(env{name: text, "RANK": text}.lookup)
			require.ErrorContains(t, err, name+"=\""+text+"\"")
		}
	}
}
