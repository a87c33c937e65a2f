// Package fierr names the error numbers of fi_errno(3).
//
// An [Errno] is an error by itself and compares with errors.Is, so that code
// which handles an error of the link layer reads as code written against
// libfabric would:
//
//	if errors.Is(err, fierr.EAgain) { … }
//
// Numbers below 256 are those of errno(3) on Linux; the rest is libfabric's own.
package fierr

import (
	"errors"
	"strconv"
	"syscall"
)

// Errno is an error number of fi_errno(3), always positive.
type Errno int

// Errors that the layer and the providers answer with.
const (
	ENoEnt        Errno = Errno(syscall.ENOENT)
	EIO           Errno = Errno(syscall.EIO)
	EBadF         Errno = Errno(syscall.EBADF)
	EAgain        Errno = Errno(syscall.EAGAIN)
	ENoMem        Errno = Errno(syscall.ENOMEM)
	EAcces        Errno = Errno(syscall.EACCES)
	EFault        Errno = Errno(syscall.EFAULT)
	EBusy         Errno = Errno(syscall.EBUSY)
	ENoDev        Errno = Errno(syscall.ENODEV)
	EInval        Errno = Errno(syscall.EINVAL)
	EPerm         Errno = Errno(syscall.EPERM)
	ENoSpc        Errno = Errno(syscall.ENOSPC)
	ENoSys        Errno = Errno(syscall.ENOSYS)
	ENoMsg        Errno = Errno(syscall.ENOMSG)
	ENoData       Errno = Errno(syscall.ENODATA)
	EProto        Errno = Errno(syscall.EPROTO)
	EMsgSize      Errno = Errno(syscall.EMSGSIZE)
	ENoProtoOpt   Errno = Errno(syscall.ENOPROTOOPT)
	EOpNotSupp    Errno = Errno(syscall.EOPNOTSUPP)
	EAddrNotAvail Errno = Errno(syscall.EADDRNOTAVAIL)
	ENetDown      Errno = Errno(syscall.ENETDOWN)
	ENetUnreach   Errno = Errno(syscall.ENETUNREACH)
	ENotConn      Errno = Errno(syscall.ENOTCONN)
	EConnAborted  Errno = Errno(syscall.ECONNABORTED)
	EConnReset    Errno = Errno(syscall.ECONNRESET)
	ENoBufs       Errno = Errno(syscall.ENOBUFS)
	EShutdown     Errno = Errno(syscall.ESHUTDOWN)
	ETimedOut     Errno = Errno(syscall.ETIMEDOUT)
	EConnRefused  Errno = Errno(syscall.ECONNREFUSED)
	EHostDown     Errno = Errno(syscall.EHOSTDOWN)
	EHostUnreach  Errno = Errno(syscall.EHOSTUNREACH)
	ECanceled     Errno = Errno(syscall.ECANCELED)
	EOwnerDead    Errno = Errno(syscall.EOWNERDEAD)

	EOther      Errno = 256 // unspecified error
	ETooSmall   Errno = 257 // provided buffer is too small
	EOpBadState Errno = 258 // operation not permitted in current state
	EAvail      Errno = 259 // an error entry is available: read it with ReadErr
	EBadFlags   Errno = 260 // flags not supported
	ENoEQ       Errno = 261 // missing or unavailable event queue
	EDomain     Errno = 262 // invalid resource domain
	ENoCQ       Errno = 263 // missing or unavailable completion queue
	ECRC        Errno = 264 // CRC error
	ETrunc      Errno = 265 // the message was longer than the buffer
	ENoKey      Errno = 266 // required key not available
	ENoAV       Errno = 267 // missing or unavailable address vector
	EOverrun    Errno = 268 // queue has been overrun
	ENoRX       Errno = 269 // receiver not ready
	ENoMR       Errno = 270 // no more memory registrations available
)

var own = map[Errno]string{
	EOther:      "unspecified error",
	ETooSmall:   "provided buffer is too small",
	EOpBadState: "operation not permitted in current state",
	EAvail:      "error available",
	EBadFlags:   "flags not supported",
	ENoEQ:       "missing or unavailable event queue",
	EDomain:     "invalid resource domain",
	ENoCQ:       "missing or unavailable completion queue",
	ECRC:        "CRC error",
	ETrunc:      "truncation error",
	ENoKey:      "required key not available",
	ENoAV:       "missing or unavailable address vector",
	EOverrun:    "queue has been overrun",
	ENoRX:       "receiver not ready, no receive buffers available",
	ENoMR:       "no more memory registrations available",
}

// Error answers fi_strerror(3)'s question for e.
func (e Errno) Error() string {
	if s, ok := own[e]; ok {
		return s
	}
	if e > 0 && e < 256 {
		return syscall.Errno(e).Error()
	}
	return "libfabric error " + strconv.Itoa(int(e))
}

// Is makes errors.Is(fierr.ENoEnt, syscall.ENOENT) hold: below 256 both name
// the same condition. The numbers for what is not there are [ErrNotSupported].
func (e Errno) Is(target error) bool {
	if target == ErrNotSupported {
		return e == EOpNotSupp || e == ENoSys
	}
	n, ok := target.(syscall.Errno)
	return ok && e < 256 && Errno(n) == e
}

// ErrNotSupported says that a rail, a provider or this version of libfabric cannot do what
// was asked for. Packages lnx and mr have it under the same name. EOPNOTSUPP and ENOSYS of
// libfabric are it as well, and it is EOPNOTSUPP.
var ErrNotSupported error = notSupported{}

type notSupported struct{}

func (notSupported) Error() string { return "not supported" }
func (notSupported) Unwrap() error { return EOpNotSupp }

// Values for the hot paths, converted to error once.
var (
	Again  error = EAgain
	Avail  error = EAvail
	Closed error = EBadF
)

// Of finds the error number that err wraps.
func Of(err error) (Errno, bool) {
	var e Errno
	ok := errors.As(err, &e)
	return e, ok
}
