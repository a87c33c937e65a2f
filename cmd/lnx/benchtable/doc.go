// Package benchtable measures golnx beside plain libfabric in C: it runs lnx perf and
// testdata/cbench in turn, several rounds, and compares. What is compared and the
// goals are the table in rows.go; a new row needs nothing else.
package benchtable
