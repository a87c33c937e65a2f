package ui

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Sizes are sizes in bytes, read from "8,64,4K,1M": K, M and G stand for 1024,
// 1024² and 1024³.
type Sizes []int

// UnmarshalText reads a list.
func (s *Sizes) UnmarshalText(text []byte) (err error) {
	*s, err = readList(text, parseSize)
	return err
}

// Counts are numbers, read from "1,64".
type Counts []int

// UnmarshalText reads a list.
func (c *Counts) UnmarshalText(text []byte) (err error) {
	*c, err = readList(text, parseCount)
	return err
}

func readList(text []byte, parse func(word string) (int, error)) (list []int, err error) {
	for word := range strings.SplitSeq(string(text), ",") {
		n, err := parse(strings.TrimSpace(word))
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, nil
}

func parseCount(word string) (int, error) {
	n, err := strconv.Atoi(word)
	if err != nil {
		return 0, fmt.Errorf("%q is no number: write one, as 64, or several with commas", word)
	}
	return n, nil
}

func parseSize(word string) (int, error) {
	digits, shift := word, 0
	if word != "" {
		if i := strings.IndexByte("KMG", word[len(word)-1]&^0x20); i >= 0 {
			digits, shift = word[:len(word)-1], 10*(i+1)
		}
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("%q is no size: write bytes, as 64, 4K or 1M, or several with commas", word)
	}
	if n > math.MaxInt>>shift {
		return 0, fmt.Errorf("size %q is too large", word)
	}
	return int(n << shift), nil
}

// Size writes a number of bytes with the largest unit that has no fraction.
func Size(n uint64) string {
	if n >= 1<<62 {
		return "no limit"
	}
	for i, unit := range []string{"GiB", "MiB", "KiB"} {
		if s := 10 * (3 - i); n >= 1<<s && n%(1<<s) == 0 {
			return fmt.Sprintf("%d %s", n>>s, unit)
		}
	}
	return fmt.Sprintf("%d B", n)
}

// Speed writes bits a second; 0 is unknown.
func Speed(bps uint64) string {
	switch {
	case bps == 0:
		return "-"
	case bps >= 1e9:
		return fmt.Sprintf("%g Gbit/s", float64(bps)/1e9)
	}
	return fmt.Sprintf("%g Mbit/s", float64(bps)/1e6)
}
