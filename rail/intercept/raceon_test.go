//go:build race

package intercept

// underRace tells that the race detector slows the tests down.
const underRace = true
