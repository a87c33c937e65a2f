package timer

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// kind is one of the files of a rank, by the first part of its name.
type kind struct{ prefix, suffix string }

var (
	opsFile       = kind{"ops_rank", ".csv"}
	linksFile     = kind{"links_rank", ".csv"}
	endpointsFile = kind{"endpoints_rank", ".csv"}
	nicFile       = kind{"nic_rank", ".csv"}
	cqGapsFile    = kind{"cqgaps_rank", ".csv"}
	metaFile      = kind{"meta_rank", ".json"}
)

func (k kind) path(dir string, rank int) string {
	return filepath.Join(dir, k.prefix+strconv.Itoa(rank)+k.suffix)
}

// rank is the rank in a file's name.
func (k kind) rank(name string) (int, bool) {
	digits, ok := strings.CutPrefix(name, k.prefix)
	if !ok {
		return 0, false
	}
	if digits, ok = strings.CutSuffix(digits, k.suffix); !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 31)
	return int(n), err == nil && strconv.FormatUint(n, 10) == digits
}

// RankFiles are the paths of one rank's files. Those that there are not are empty.
type RankFiles struct {
	Rank                                     int
	Ops, Links, Endpoints, NIC, CQGaps, Meta string
}

// Files finds the files of every rank in a directory, in the order of the ranks.
func Files(dir string) ([]RankFiles, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	byRank := map[int]*RankFiles{}
	for _, e := range entries {
		for k, field := range fileFields {
			rank, ok := k.rank(e.Name())
			if !ok {
				continue
			}
			if byRank[rank] == nil {
				byRank[rank] = &RankFiles{Rank: rank}
			}
			*field(byRank[rank]) = filepath.Join(dir, e.Name())
		}
	}
	if len(byRank) == 0 {
		return nil, fmt.Errorf("%s has no files of the op timer (%s): record some with %s=%s", dir, opsFile.path("", 0), dirKnob, dir)
	}
	files := make([]RankFiles, 0, len(byRank))
	for _, f := range byRank {
		files = append(files, *f)
	}
	slices.SortFunc(files, func(a, b RankFiles) int { return cmp.Compare(a.Rank, b.Rank) })
	return files, nil
}

var fileFields = map[kind]func(*RankFiles) *string{
	opsFile:       func(f *RankFiles) *string { return &f.Ops },
	linksFile:     func(f *RankFiles) *string { return &f.Links },
	endpointsFile: func(f *RankFiles) *string { return &f.Endpoints },
	nicFile:       func(f *RankFiles) *string { return &f.NIC },
	cqGapsFile:    func(f *RankFiles) *string { return &f.CQGaps },
	metaFile:      func(f *RankFiles) *string { return &f.Meta },
}
