// Package flags records what was asked for and what was granted when a link is set up:
// the hints of fi_getinfo(3) with its answers, then the info that each rail's domain
// and endpoint are opened from. It tells what capabilities, modes, operation flags and
// message orders a program has, as against what its source seems to ask for.
//
// A [Recorder] stands on the hooks of package intercept and writes one file for each
// rank; [ReadDir] reads them. docs/formats.md describes the file. Variables:
//
//	INTERCEPT_FLAGS_DIR          directory of the files, made if it is not there; not set
//	                             or empty records nothing
//	INTERCEPT_FLAGS_RESULTS_MAX  answers of one fi_getinfo that are recorded at most, the
//	                             first ones; without it 8, and 0 is all
//
// The rank is that of package ranks.
package flags
