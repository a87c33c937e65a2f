package supervise

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestParseStat(t *testing.T) {
	for _, c := range []struct {
		text          string
		parent, group int
		ok            bool
	}{
		{"12 (sh) S 11 10 9 0", 11, 10, true},
		{"12 (a) b) (c)) R 1 2 3", 1, 2, true},
		{"12 (new\nline) Z 1 2 3", 1, 2, true},
		{"12 (kthreadd) S 0 0 0 0", 0, 0, false},
		{"12 (sh) S 11", 0, 0, false},
		{"12 (sh) S x 10", 0, 0, false},
		{"12 (sh", 0, 0, false},
		{"", 0, 0, false},
	} {
		parent, group, ok := parseStat([]byte(c.text))
		require.Equal(t, c.ok, ok, c.text)
		if ok {
			require.Equal(t, []int{c.parent, c.group}, []int{parent, group}, c.text)
		}
	}
	text, err := os.ReadFile("/proc/self/stat")
	require.NoError(t, err)
	parent, group, ok := parseStat(text)
	if unix.Getpgrp() == 0 { // led from outside this PID namespace
		require.False(t, ok)
		return
	}
	require.True(t, ok)
	require.Equal(t, []int{os.Getppid(), unix.Getpgrp()}, []int{parent, group})
}

func FuzzParseStat(f *testing.F) {
	f.Add("12 (sh) S 11 10 9 0")
	f.Fuzz(func(t *testing.T, text string) {
		if _, group, ok := parseStat([]byte(text)); ok {
			require.Positive(t, group)
			require.NotEmpty(t, strings.TrimSpace(text))
		}
	})
}
