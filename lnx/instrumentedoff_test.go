//go:build !race && !asan

package lnx

// instrumented says that the build allocates where others do not.
const instrumented = false
