package shmclean

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tree makes a /dev/shm and a /proc.
func tree(t *testing.T, ns string, shm []string, pids []int) Roots {
	t.Helper()
	roots := Roots{Shm: t.TempDir(), Proc: t.TempDir()}
	require.NoError(t, os.MkdirAll(filepath.Join(roots.Proc, "self/ns"), 0o755))
	require.NoError(t, os.Symlink(ns, filepath.Join(roots.Proc, "self/ns/pid")))
	for _, f := range shm {
		require.NoError(t, os.WriteFile(filepath.Join(roots.Shm, f), []byte("region"), 0o600))
	}
	for _, pid := range pids {
		dir := filepath.Join(roots.Proc, fmt.Sprint(pid))
		require.NoError(t, os.Mkdir(dir, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "maps"), []byte("7f00-7f01 r-xp 00000000 08:01 1 /bin/true\n7f02-7f03 rw-p 00000000 00:00 0\n"), 0o600))
	}
	return roots
}

func names(regions []Region) []string {
	var s []string
	for _, r := range regions {
		s = append(s, filepath.Base(r.Path))
	}
	sort.Strings(s)
	return s
}

func TestRemove(t *testing.T) {
	uid := os.Getuid()
	dead, deadToo := fmt.Sprintf("4711:%d:0", uid), fmt.Sprintf("4711:%d:0_17", uid)
	alive, mapped := fmt.Sprintf("12:%d:0", uid), fmt.Sprintf("99:%d:3", uid)
	others := []string{
		fmt.Sprintf("4711:%d:0", uid+1), "notes.txt", fmt.Sprintf("0:%d:0", uid),
		fmt.Sprintf("4711:%d:0.bak", uid), fmt.Sprintf("x4711:%d:0", uid), fmt.Sprintf("99999999999999999999:%d:0", uid),
	}
	roots := tree(t, initialPIDNS, append([]string{dead, deadToo, alive, mapped}, others...), []int{12, 30})

	// process 30 has the region of a process 99 mapped, which may live elsewhere
	info, err := os.Stat(filepath.Join(roots.Shm, mapped))
	require.NoError(t, err)
	ino := info.Sys().(*syscall.Stat_t).Ino
	line := fmt.Sprintf("7f04-7f05 rw-s 00000000 00:1a %d /dev/shm/%s\n", ino, mapped)
	require.NoError(t, os.WriteFile(filepath.Join(roots.Proc, "30/maps"), []byte(line), 0o600))

	removed, err := Remove(roots)
	require.NoError(t, err)
	assert.Equal(t, []string{dead, deadToo}, names(removed))
	for _, f := range append([]string{alive, mapped}, others...) {
		assert.FileExists(t, filepath.Join(roots.Shm, f))
	}
	assert.NoFileExists(t, filepath.Join(roots.Shm, dead))

	removed, err = Remove(roots)
	require.NoError(t, err)
	assert.Empty(t, removed, "twice")
}

func TestOtherNamespaceKeepsAll(t *testing.T) {
	dead := fmt.Sprintf("4711:%d:0", os.Getuid())
	roots := tree(t, "pid:[4026532001]", []string{dead}, nil)
	_, err := Remove(roots)
	assert.ErrorIs(t, err, ErrElsewhere)
	assert.FileExists(t, filepath.Join(roots.Shm, dead))

	roots = tree(t, "pid:[4026532001]", []string{"notes.txt"}, nil)
	_, err = Remove(roots)
	assert.NoError(t, err, "nothing to judge")
}

func TestNoShm(t *testing.T) {
	roots := tree(t, initialPIDNS, nil, nil)
	roots.Shm = filepath.Join(roots.Shm, "missing")
	removed, err := Remove(roots)
	assert.NoError(t, err)
	assert.Empty(t, removed)
}
