// Package ofi implements the core of a link over libfabric 2.1 and later.
//
// It has typed objects for what fi_fabric(3), fi_domain(3), fi_av(3), fi_cq(3)
// and fi_endpoint(3) open, and the owner's side of fi_peer(3) in C (shim.c): the
// providers complete into a ring of ours and ask us for the receive that an
// arriving message belongs to. [Open] puts the objects of all rails of a link
// together.
//
// Errors are [*Error]; they name the call, libfabric's error number and what it
// was about, and compare with errors.Is against package fierr.
//
// Objects are not safe for concurrent use: the caller holds the progress lock of
// the endpoint that they belong to. Discovery ([Discover]) is safe.
package ofi
