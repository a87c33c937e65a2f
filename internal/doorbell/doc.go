// Package doorbell wakes a process that sleeps beside shared memory which has no
// descriptor to sleep on, as that of libfabric's shm provider (fi_shm(7)).
//
// The receiver has a [Bell]: a page that says whether it sleeps, and a pipe to
// sleep on. Processes of the same user in the same PID namespace open both by the
// bell's [Name], which travels in the receiver's address, and have a [Ringer]:
// after each message a sender looks at the page, and writes a byte to the pipe if
// the receiver sleeps.
//
// The receiver sleeps like this:
//
//	bell.Arm()
//	if nothing has come {
//		poll(bell.FD() and others, for some milliseconds at most)
//	}
//	bell.Disarm()
//	bell.Drain() // if FD was readable
//
// and the sender puts its message into shared memory and then calls [Ringer.Ring].
//
// # Why the sleep has a bound
//
// A ring can be missed, very rarely. Both sides store and then load: the receiver
// its state and then the queue, the sender its message and then the state. One of
// them sees the other's store only if neither load is done before the store can be
// seen. Arm sees to that on the receiver's side, since sync/atomic is sequentially
// consistent. The sender's message is no store of sync/atomic, though, and its load
// of the state, which on x86 is a plain MOV, may overtake a store that still waits
// in the store buffer. The fence against that would cost more than all else in Ring,
// and is left out on purpose: whoever sleeps looks again after some milliseconds.
//
// # Whom to trust
//
// A name may come from anywhere and say anything. [Open] uses nothing but a sealed
// memfd and the pipe which that memfd names itself, both of the own user. Whoever
// reads the page cannot write to it, and the page cannot shrink under those who read
// it. What remains possible for processes of the same user is to wake a receiver for
// nothing, and, for a receiver, to make its own senders write a byte per message.
package doorbell
