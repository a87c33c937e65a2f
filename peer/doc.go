// Package peer knows the other side: how its address blob is written and read,
// whether it shares memory with this process, which rails reach it, and which
// fi_addr_t stands for it.
//
// # Address blobs
//
// An endpoint is described by one blob that users exchange out of band, as
// fi_getname(3) would give it. Its layout is that of C LNX (fi_lnx(7)), so that
// a process using libfabric's lnx provider can insert it: [Encode22] writes the
// layout of libfabric 2.2 and later, [Encode21] that of 2.1, and [Decode] reads
// both. What C LNX has no place for travels in one more entry, the [Extension],
// which C LNX does not look at.
//
// # Locality
//
// [Locate] answers whether a peer can be reached over shared memory. Between
// peers with an extension that is decided by what sharing takes (same boot, same
// /dev/shm, same user); a C LNX peer says only its host name.
//
// # Rails and the table
//
// [Common] pairs this endpoint's rails with a peer's addresses, and [Table] maps
// peers to link-level addresses as an FI_AV_TABLE address vector does.
//
// Everything here is pure Go without state of its own; only [ReadNode] touches
// the machine, below roots that its caller names. Nothing but the fields of a
// [Table] is shared, see there for its lock.
package peer
