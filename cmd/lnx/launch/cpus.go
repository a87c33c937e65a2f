package launch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxCPU bounds what a list may have: far beyond any kernel's NR_CPUS.
const maxCPU = 1<<16 - 1

// parseCPUs reads a list as the kernel writes it: 0-7,64-71.
func parseCPUs(text string) (cpus []int, err error) {
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		a, errA := strconv.Atoi(first)
		b, errB := strconv.Atoi(last)
		if errA != nil || errB != nil || a < 0 || b < a || b > maxCPU {
			return nil, fmt.Errorf("%q is no list of processors as 0-7,64-71", text)
		}
		for cpu := a; cpu <= b; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	slices.Sort(cpus)
	return slices.Compact(cpus), nil
}

// FormatCPUs writes ascending processors as the kernel does: 0-7,64-71.
func FormatCPUs(cpus []int) string {
	var parts []string
	for i := 0; i < len(cpus); {
		first := i
		for i++; i < len(cpus) && cpus[i] == cpus[i-1]+1; i++ {
		}
		part := strconv.Itoa(cpus[first])
		if i-1 > first {
			part += "-" + strconv.Itoa(cpus[i-1])
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ",")
}
