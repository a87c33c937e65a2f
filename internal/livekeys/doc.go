// Package livekeys lets the processes of a node see which memory keys of each other are
// good, where a provider does not tell.
//
// libfabric's shm (2.1) writes straight into a peer's memory by process_vm_writev(2)
// and asks nobody for the key; in the cases in which it does ask, an operation with an
// unknown key never ends. So the owner of memory has a [Table] of the keys that are
// good, in memory that it shares, and an initiator looks into it before each operation,
// through a [View]:
//
//	if view.Enter(key, memory) {
//		… start the operation, wait for its completion …
//		view.Leave(key)
//	}
//
// [Table.Remove] makes a key bad. Once the key is not [Table.InUse] any more, what was
// started before has either been done, or lies in the queue of the owner, who drives it
// before it lets go of the memory.
//
// # Whom to trust
//
// A table is a sealed memfd, which is opened by its [Name] through proc_pid_fd(5): by
// processes of the same user in the same PID namespace, which could write into each
// other's memory anyhow. Its size does not change, so that touching it raises no SIGBUS.
// A process that is killed between Enter and Leave costs the table one place.
package livekeys
