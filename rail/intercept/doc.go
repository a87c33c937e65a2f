// Package intercept lets a program see and change every operation of a link's rails,
// as ofi-intercept does for libfabric in C, where there is nothing to preload.
//
// A consumer fills in a [Hooks] with the operations that it cares about, and registers
// it for the whole process ([Register]) or for one endpoint (lnx.Options.Hooks), before
// the endpoint is opened:
//
//	intercept.Register(&intercept.Hooks{
//		Name: "count",
//		TSend: func(r *intercept.Rail, c *intercept.Send, next func(*intercept.Send) error) error {
//			bytes[r.Index] += c.Len()
//			return next(c)
//		},
//	})
//
// # What a hook may do with a call
//
// It looks at the arguments and calls next (observe); changes them before, or the error
// after (modify); or does not call next (replace). An operation that is accepted (nil)
// without next completes at once, as if it had been done: a send that is dropped in this
// way looks like one that was lost on the way. next may be called again after it
// answered an error, for instance EAGAIN, but only one success is possible.
//
// Once next has succeeded the provider has the operation, and its buffers. An error, or
// a panic, after that is reported by the operation's completion instead of the call, so
// that nobody takes the buffers back too early.
//
// # Adding an operation
//
// op.go has all operations in one table and says what to add; chains, names and
// consumers that go through the table follow.
package intercept
