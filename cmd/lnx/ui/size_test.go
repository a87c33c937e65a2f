package ui

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadSizes(t *testing.T) {
	for text, want := range map[string]Sizes{
		"0":                    {0},
		"8, 64,4k,1M":          {8, 64, 4 << 10, 1 << 20},
		"2G":                   {2 << 30},
		"8388607G":             {8388607 << 30},
		"0000000001":           {1},
		"8589934591G":          {math.MaxInt - 1<<30 + 1},
		"8589934592G":          nil,
		"":                     nil,
		"8,":                   nil,
		"K":                    nil,
		"-1":                   nil,
		"+1":                   nil,
		"1.5K":                 nil,
		"4KiB":                 nil,
		"1 K":                  nil,
		"0x10":                 nil,
		"99999999999999999999": nil,
	} {
		var got Sizes
		err := got.UnmarshalText([]byte(text))
		if want == nil {
			require.Error(t, err, text)
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
}

func TestReadCounts(t *testing.T) {
	for text, want := range map[string]Counts{
		"0": {0}, "1, 64,-5": {1, 64, -5}, "": nil, "8,": nil, "4K": nil, "1.5": nil, "0x10": nil, "99999999999999999999": nil,
	} {
		var got Counts
		err := got.UnmarshalText([]byte(text))
		if want == nil {
			require.ErrorContains(t, err, "is no number", text)
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
}

func TestWriteSizes(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "0 B", 8: "8 B", 1024: "1 KiB", 1025: "1025 B", 3 << 19: "1536 KiB", 4 << 20: "4 MiB", 5 << 30: "5 GiB", math.MaxUint64: "no limit",
	} {
		require.Equal(t, want, Size(n))
	}
	require.Equal(t, "-", Speed(0))
	require.Equal(t, "200 Gbit/s", Speed(200e9))
	require.Equal(t, "2.5 Gbit/s", Speed(25e8))
	require.Equal(t, "100 Mbit/s", Speed(1e8))
}
