package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	"golnx/providers/ofi"
)

// versionCmd shows versions.
type versionCmd struct {
	JSON bool `name:"json" help:"Print one JSON object."`
}

type versions struct {
	Golnx   string `json:"golnx"`
	Headers string `json:"libfabric_headers"`
	Library string `json:"libfabric_library,omitempty"`
}

// Run prints a line for each version. A library that cannot be used has none; that is
// an error.
func (c *versionCmd) Run(a *app) error {
	v := versions{Golnx: "unknown", Headers: ofi.HeaderVersion.String()}
	if info, ok := debug.ReadBuildInfo(); ok {
		v.Golnx = info.Main.Version
	}
	// Load refuses a library of another version than the headers.
	unusable := ofi.Load()
	if unusable == nil {
		v.Library = v.Headers
	}
	if c.JSON {
		return errors.Join(json.NewEncoder(a.out).Encode(v), unusable)
	}
	_, err := fmt.Fprintf(a.out, "golnx %s\nlibfabric headers %s\n", v.Golnx, v.Headers)
	if err == nil && unusable == nil {
		_, err = fmt.Fprintf(a.out, "libfabric library %s\n", v.Library)
	}
	return errors.Join(err, unusable)
}
