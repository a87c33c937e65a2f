//go:build !asan

package lnx_test

// underASan says that the tests are built with -asan, which keeps what is freed.
const underASan = false
