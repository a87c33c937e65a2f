//go:build race

package lnx

// scalePeers is how many peers TestSimShareAtScale has: fewer, as the race detector
// takes its time.
const scalePeers = 2900
