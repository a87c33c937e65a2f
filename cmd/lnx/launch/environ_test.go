package launch

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/internal/ranks"
)

func TestEnviron(t *testing.T) {
	base := []string{"HOME=/home/u", "RANK=77", "WORLD_SIZE=78", "SLURM_JOB_ID=5", "INTERCEPT_TIMER_DIR=d", "MYRANK=3", "EMPTY=", "PMIX=no prefix"}
	got := Placement{Rank: 2, NIC: "cxi1"}.Environ(base, 4)
	require.Equal(t, []string{
		"HOME=/home/u", "SLURM_JOB_ID=5", "INTERCEPT_TIMER_DIR=d", "MYRANK=3", "EMPTY=", "PMIX=no prefix",
		"RANK=2", "WORLD_SIZE=4", "LOCAL_RANK=2", "LOCAL_WORLD_SIZE=4", "INTERCEPT_TIMER_NIC_DEV=cxi1",
	}, got)
	require.Equal(t, "RANK=77", base[1], "the base is as it was")
}

// Whatever launcher started the process that starts the ranks, they are our ranks.
func TestEnvironWithinLaunchers(t *testing.T) {
	base := []string{
		"OMPI_COMM_WORLD_SIZE=9", "OMPI_COMM_WORLD_LOCAL_RANK=9", "PMI_FD=9", "PMI_SIZE=9", "PMIX_SERVER_URI2=x", "PMIX_NAMESPACE=x",
		"SLURM_LOCALID=9", "SLURM_NTASKS=9", "PALS_RANKID=9", "FLUX_TASK_RANK=9", "LOCAL_RANK=9",
	}
	for _, name := range ranks.Variables {
		base = append(base, name+"=9")
	}
	env := Placement{Rank: 3}.Environ(base, 4)
	require.Equal(t, []string{"RANK=3", "WORLD_SIZE=4", "LOCAL_RANK=3", "LOCAL_WORLD_SIZE=4"}, env)
	lookup := map[string]string{}
	for _, variable := range env {
		name, value, _ := strings.Cut(variable, "=")
		lookup[name] = value
	}
	rank, source, err := ranks.FromEnv(func(name string) (string, bool) { v, ok := lookup[name]; return v, ok })
	require.NoError(t, err)
	require.Equal(t, 3, rank)
	require.Equal(t, "RANK", source)
}

// Without a NIC there is nothing to say about one.
func TestEnvironDevice(t *testing.T) {
	base := []string{DeviceVariable + "=cxi*"}
	require.Contains(t, Placement{}.Environ(base, 1), DeviceVariable+"=cxi*")
	require.NotContains(t, Placement{NIC: "eth0"}.Environ(base, 1), DeviceVariable+"=cxi*")
}
