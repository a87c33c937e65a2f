package ofi

/*
#include <stdlib.h>
#include <rdma/fi_errno.h>
*/
import "C"

import (
	"fmt"

	"golnx/providers/fierr"
)

// Error is a failed call into libfabric.
type Error struct {
	Op     string      // the C function: "fi_endpoint"
	Errno  fierr.Errno // positive
	Detail string      // what it was called for
}

// Error names the call, what it was about, and fi_strerror(3)'s text.
func (e *Error) Error() string {
	text := C.GoString(C.fi_strerror(C.int(e.Errno)))
	if e.Detail == "" {
		return fmt.Sprintf("%s: %s (%d)", e.Op, text, int(e.Errno))
	}
	return fmt.Sprintf("%s for %s: %s (%d)", e.Op, e.Detail, text, int(e.Errno))
}

// Unwrap answers the error number, so that errors.Is finds it.
func (e *Error) Unwrap() error { return e.Errno }

// fail makes an error of a negative return value of libfabric.
func fail(op string, ret int, format string, args ...any) error {
	return &Error{Op: op, Errno: fierr.Errno(-ret), Detail: fmt.Sprintf(format, args...)}
}

// hot turns a negative return value of the data path into a value that costs
// nothing for the ordinary answers.
func hot(op string, ret int) error {
	switch fierr.Errno(-ret) {
	case 0:
		return nil
	case fierr.EAgain:
		return fierr.Again
	}
	return &Error{Op: op, Errno: fierr.Errno(-ret)}
}
