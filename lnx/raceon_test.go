//go:build race

package lnx_test

// underRace tells that the race detector slows the tests down.
const underRace = true
