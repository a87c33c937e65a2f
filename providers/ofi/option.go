package ofi

/*
#include <stdlib.h>
#include "option.h"
*/
import "C"

import (
	"unsafe"

	"golnx/providers"
)

var _ providers.Optioner = (*Core)(nil)

// maxOption is the size of the largest option in bytes.
const maxOption = 64

// Option calls fi_getopt(3) for the endpoint. The value has the size that the provider
// answers.
func (ep *Endpoint) Option(number int, value []byte) ([]byte, error) {
	c := C.calloc(1, maxOption)
	defer C.free(c)
	n := C.size_t(len(value))
	if ret := int(C.gx_getopt(ep.rail, C.int(number), c, &n)); ret != 0 {
		return nil, fail("fi_getopt", ret, "option %d of %s", number, ep.name)
	}
	return value[:copy(value, C.GoBytes(c, C.int(min(n, maxOption))))], nil
}

// SetOption calls fi_setopt(3) for the endpoint.
func (ep *Endpoint) SetOption(number int, value []byte) error {
	c := C.calloc(1, maxOption) // whatever size the provider expects
	defer C.free(c)
	copy(unsafe.Slice((*byte)(c), maxOption), value)
	if ret := int(C.gx_setopt(ep.rail, C.int(number), c, C.size_t(len(value)))); ret != 0 {
		return fail("fi_setopt", ret, "option %d of %s", number, ep.name)
	}
	return nil
}

// Option implements [providers.Optioner].
func (c *Core) Option(rail, number int, value []byte) ([]byte, error) {
	return c.rails[rail].ep.Option(number, value)
}

// SetOption implements [providers.Optioner].
func (c *Core) SetOption(rail, number int, value []byte) error {
	return c.rails[rail].ep.SetOption(number, value)
}
