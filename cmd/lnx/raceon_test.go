//go:build race

package main

// underRace tells that the race detector watches the tests.
const underRace = true
