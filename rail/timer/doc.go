// Package timer measures every operation that this side starts, from the call to its
// completion, on the rails' hooks (package intercept), and samples the NICs' counters
// on the same clock. It writes one set of CSV files for each rank, and reads them.
//
// docs/formats.md describes the files, docs/timer.md the variables.
package timer
