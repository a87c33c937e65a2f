package launch

import (
	"slices"
	"strconv"
	"strings"

	"golnx/internal/ranks"
)

// DeviceVariable is what tells the op timer which NIC to sample (docs/timer.md).
const DeviceVariable = "INTERCEPT_TIMER_NIC_DEV"

// outer are the variables by which launchers tell a process which one of a job it is, and
// how to reach the others. In a rank they would speak of the process that started the
// ranks: all ranks would take themselves for that one, and connect as it.
var outer = slices.Concat(ranks.Variables, []string{
	"WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE",
	"SLURM_LOCALID", "SLURM_NTASKS", "SLURM_NPROCS", "SLURM_GTIDS", "SLURM_TASK_PID",
	"MPI_LOCALRANKID", "MPI_LOCALNRANKS",
	"PALS_RANKID", "PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE",
	"FLUX_TASK_RANK", "FLUX_TASK_LOCAL_ID",
})

// outerPrefixes are of the same.
var outerPrefixes = []string{"OMPI_COMM_WORLD_", "PMI_", "PMIX_"}

// Environ answers the environment of a rank of world ranks, which is base but for what
// says who it is. There are RANK and its kin alone: an MPI library that found its own
// variables would look for its own launcher.
func (p Placement) Environ(base []string, world int) []string {
	env := slices.DeleteFunc(slices.Clone(base), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(outer, name) || p.NIC != "" && name == DeviceVariable ||
			slices.ContainsFunc(outerPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
	})
	rank, size := strconv.Itoa(p.Rank), strconv.Itoa(world)
	env = append(env, "RANK="+rank, "WORLD_SIZE="+size, "LOCAL_RANK="+rank, "LOCAL_WORLD_SIZE="+size)
	if p.NIC != "" {
		env = append(env, DeviceVariable+"="+p.NIC)
	}
	return env
}
