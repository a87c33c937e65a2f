// Package ranks tells which rank of a parallel job the process is.
package ranks

import (
	"fmt"
	"math"
	"strconv"
)

// Variables are what launchers leave a process's rank in, the most telling first:
// Slurm, Open MPI, PMIx, PMI, and everything else.
var Variables = []string{"SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "RANK"}

// FromEnv answers the rank, and the variable that said so: the first of Variables that
// is set and not empty. Without any the rank is 0 and source is empty. lookup is
// os.LookupEnv, or what stands for it in a test.
func FromEnv(lookup func(string) (string, bool)) (rank int, source string, err error) {
	for _, name := range Variables {
		text, _ := lookup(name)
		if text == "" {
			continue
		}
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return 0, name, fmt.Errorf("%s=%q is no rank: set it to a number from 0 to %d, or unset it", name, text, math.MaxInt32)
		}
		return int(n), name, nil
	}
	return 0, "", nil
}
