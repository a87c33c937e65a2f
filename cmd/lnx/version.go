package main

import (
	"fmt"
	"runtime/debug"

	"golnx/providers/ofi"
)

// versionCmd shows versions.
type versionCmd struct{}

// Run prints a line for each version.
func (c *versionCmd) Run(a *app) error {
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
	}
	if _, err := fmt.Fprintf(a.out, "golnx %s\nlibfabric headers %v\n", version, ofi.HeaderVersion); err != nil {
		return err
	}
	// Load refuses a library of another version than the headers.
	if err := ofi.Load(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.out, "libfabric library %v\n", ofi.HeaderVersion)
	return err
}
