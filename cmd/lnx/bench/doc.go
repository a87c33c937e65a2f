// Package bench holds the tests that two ends run with each other over an
// endpoint: what lnx perf measures, and the exchange that lnx demo verifies.
//
// A test stands in a file of its own and registers itself there ([Register]); a
// new one needs nothing else. A [Session] runs tests: its leading end says what to
// run and measures, the following end does its part.
package bench
