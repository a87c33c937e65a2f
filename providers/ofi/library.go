package ofi

/*
#cgo pkg-config: libfabric
#cgo CFLAGS: -O2 -Wall -Wextra -Wno-unused-parameter -D_GNU_SOURCE
#include "shim.h"
*/
import "C"

import (
	"fmt"
	"os"
	"sync"

	"golnx/providers"
)

// Version is a libfabric version as fi_version(3) packs it.
type Version struct{ Major, Minor int }

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// HeaderVersion is the version of the headers that the package was built with.
var HeaderVersion = Version{int(C.FI_MAJOR_VERSION), int(C.FI_MINOR_VERSION)}

// MinVersion is the oldest libfabric whose peer interface the package speaks.
var MinVersion = Version{2, 1}

// Load prepares libfabric for its first use in the process: it puts what the
// registered providers need into the environment, unless the user has set it,
// and refuses a library that does not fit the headers. It does so once; every
// entry point of the package calls it.
var Load = sync.OnceValue(func() error {
	for _, t := range providers.All() {
		for _, e := range t.Env {
			if _, set := os.LookupEnv(e.Name); !set {
				os.Setenv(e.Name, e.Value)
			}
		}
	}
	C.gx_calibrate()
	v := uint32(C.fi_version())
	return checkVersion(Version{int(v >> 16), int(v & 0xffff)}, HeaderVersion)
})

// checkVersion: fi_peer(3) promises nothing between versions; the receive entry
// lost two fields between 2.1 and 2.3, for one.
func checkVersion(library, headers Version) error {
	if library.Major < MinVersion.Major || library.Major == MinVersion.Major && library.Minor < MinVersion.Minor {
		return fmt.Errorf("libfabric %v is too old: %v or newer is needed (headers: %v)", library, MinVersion, headers)
	}
	if library != headers {
		return fmt.Errorf("libfabric %v is loaded, but the program was built with the headers of %v: rebuild it, or point LD_LIBRARY_PATH at %v", library, headers, headers)
	}
	return nil
}
