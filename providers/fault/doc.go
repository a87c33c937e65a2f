// Package fault makes one operation of a [providers.Core] fail, to see what the
// layer above makes of it.
//
// A [Plan] counts calls and says which one fails; [Wrap] puts it around a Core.
// Several Cores can share one plan, which then counts the calls of all. The way to
// use it is to run a scenario again and again with another failure each time, until
// a run had none because it made fewer calls than that:
//
//	for plan := range fault.Each("", fierr.EIO) {
//		… // open with Wrap(core, plan), run, close
//		if plan.Fired() {
//			… // the error was reported, nothing hangs, all is closed
//		}
//	}
//
// # What can fail
//
// A call that fails is not carried out: a message is not sent, an address not
// inserted, a Core not closed. Besides the methods of Core that answer an error
// there are [Transmit] and [Receive], completions that come as errors although the
// operation was carried out, and [Open], which an opener asks Plan.Fail for.
//
// Where the inner Core has memory operations, [RMA], [Atomic] and [Register] can fail,
// too. With Plan.Late a completion comes late instead of as an error.
//
// AllocRx over the limit does not fail and is not counted: an owner may rely on it
// as long as there is memory.
package fault
