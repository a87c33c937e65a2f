package main

import (
	"fmt"
	"strings"

	"golnx/cmd/lnx/bench"
)

// carriedHead is the heading of what carried answers.
const carriedHead = "rails: sent / received"

// carried lists the rails that carried something, one a line.
func carried(rails []bench.RailCount) string {
	var lines []string
	for _, r := range rails {
		if r.Tx+r.Rx+r.Ops == 0 {
			continue
		}
		line := fmt.Sprintf("%s: %d / %d", r.Name, r.Tx, r.Rx)
		if r.Ops > 0 {
			line += fmt.Sprintf(", %d on memory", r.Ops)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
