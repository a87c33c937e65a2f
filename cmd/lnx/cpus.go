package main

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// cpus are the processors of the two ends, none if empty.
type cpus []int

// anyCPU leaves the choice to the scheduler.
const anyCPU = -1

// maxCPU is the last that fits the kernel's mask as package unix has it.
const maxCPU = len(unix.CPUSet{})*strconv.IntSize - 1

// UnmarshalText reads the two numbers.
func (c *cpus) UnmarshalText(text []byte) error {
	words := strings.Split(string(text), ",")
	if len(words) != 2 {
		return fmt.Errorf("%q: write two processors, the second for the other end, as 0,1", text)
	}
	*c = nil
	for _, word := range words {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 0 || n > maxCPU {
			return fmt.Errorf("%q is no processor: 0 to %d are possible", word, maxCPU)
		}
		*c = append(*c, n)
	}
	return nil
}

func (c cpus) lead() int {
	if len(c) == 0 {
		return anyCPU
	}
	return c[0]
}

func (c cpus) other() int {
	if len(c) == 0 {
		return anyCPU
	}
	return c[1]
}

// pin keeps the calling goroutine on a processor, for ever. The runtime's other
// threads go where they like.
func pin(cpu int) error {
	if cpu == anyCPU {
		return nil
	}
	runtime.LockOSThread()
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("processor %d cannot be used: %w; sched_getaffinity(2) says which can", cpu, err)
	}
	return nil
}
