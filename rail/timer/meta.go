package timer

import (
	"encoding/json"
	"fmt"
	"os"
)

// Meta is meta_rank<N>.json: what was recorded, and how. It is written when recording
// begins, and again when it ends.
type Meta struct {
	// Format is the version of the files' format: FormatVersion.
	Format int `json:"format"`
	Rank   int `json:"rank"`
	// RankSource is the variable that the rank came from; empty if there was none.
	RankSource string `json:"rank_source"`
	Host       string `json:"host"`
	PID        int    `json:"pid"`
	// Start and End are Unix nanoseconds. End is 0 while the recorder runs, and for
	// ever if the process was killed.
	Start int64 `json:"start_ns"`
	End   int64 `json:"end_ns"`
	// Knobs are the variables in force, those that were not set too.
	Knobs map[string]string `json:"knobs"`
	Ops   OpCounts          `json:"ops"`
	// CQGaps and NIC count the rows of their files.
	CQGaps RowCounts `json:"cq_gaps"`
	NIC    RowCounts `json:"nic"`
	// Ended is why recording ended: "closed", or what went wrong; empty while it runs.
	Ended string `json:"ended"`
}

// FormatVersion is the Meta.Format that this package writes.
const FormatVersion = 1

// RowCounts says what became of a file's rows.
type RowCounts struct {
	Recorded uint64 `json:"recorded"`
	// Dropped should have been recorded and was not: the writer could not keep up,
	// too much was outstanding, or recording had ended.
	Dropped uint64 `json:"dropped"`
	// Ended is why this file ended before the others; empty if it did not.
	Ended string `json:"ended,omitempty"`
}

// OpCounts says what became of the operations that were accepted.
type OpCounts struct {
	RowCounts
	// Skipped were left out as the variables ask.
	Skipped uint64 `json:"skipped"`
	// Unfinished had not completed when the recorder was closed.
	Unfinished uint64 `json:"unfinished"`
}

// ReadMeta reads a meta_rank<N>.json.
func ReadMeta(path string) (*Meta, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m := new(Meta)
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("%s is no record of a rank: %w", path, err)
	}
	if m.Format != FormatVersion {
		return nil, fmt.Errorf("%s has format %d: this program reads format %d", path, m.Format, FormatVersion)
	}
	return m, nil
}
