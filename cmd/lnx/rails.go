package main

import (
	"fmt"
	"strings"

	"golnx/cmd/lnx/bench"
)

// carried lists the rails that carried something, one a line.
func carried(rails []bench.RailCount) string {
	var lines []string
	for _, r := range rails {
		if r.Tx+r.Rx > 0 {
			lines = append(lines, fmt.Sprintf("%s: %d / %d", r.Name, r.Tx, r.Rx))
		}
	}
	return strings.Join(lines, "\n")
}
