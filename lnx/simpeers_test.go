//go:build !race

package lnx

// scalePeers is how many peers TestSimShareAtScale has.
const scalePeers = 10_000
