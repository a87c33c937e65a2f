package mr

import (
	"fmt"

	"golnx/providers/fierr"
)

// Errors that callers tell apart. Each is also the fi_errno that errors.Is finds in
// it; what is wrong with an argument is fierr.EInval, insufficient access fierr.EPerm.
var (
	// ErrClosed says that a region, an imported key or the manager was closed before. An
	// endpoint that was closed is lnx.ErrClosed.
	ErrClosed error = &kind{"closed before", fierr.EBadF}
	// ErrNotSupported says that a rail cannot register that kind of memory, or asks
	// for what this package does not do. The message names the rail. It is
	// lnx.ErrNotSupported.
	ErrNotSupported = fierr.ErrNotSupported
	// ErrBusy says that operations or regions still use the memory. Wait for their
	// completions, close the regions, and try again.
	ErrBusy error = &kind{"in use", fierr.EBusy}
	// ErrForeign says that a registration or region of another domain or endpoint
	// was about to be used.
	ErrForeign error = &kind{"belongs to another domain", fierr.EDomain}
)

// kind is a sentinel that unwraps to its error number.
type kind struct {
	text  string
	errno fierr.Errno
}

func (k *kind) Error() string { return k.text }
func (k *kind) Unwrap() error { return k.errno }

func invalid(format string, args ...any) error {
	return fmt.Errorf("mr: %s: %w", fmt.Sprintf(format, args...), fierr.EInval)
}

// closed says that what is named was closed before.
func closed(what string) error { return fmt.Errorf("mr: %s was %w", what, ErrClosed) }

// tooLittle says that what was registered does not allow what is asked for.
func tooLittle(what string, want, have Access) error {
	return fmt.Errorf("mr: %s has access %v, %v is needed: %w", what, have, want, fierr.EPerm)
}
