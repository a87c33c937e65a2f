// Package railtest tests and foretells which rail every message takes, from text
// that a person reads and writes. It needs no hardware, no provider and no cgo.
//
// [RunFile] checks a case file and, asked to, rewrites what it expects; [Parse]
// and [Run] do the same for text inside a Go test. [Simulate] answers the picks
// for a list of rails and peers, with the reasons.
//
// # The format
//
// One statement a line, words separated by spaces; empty lines and lines that
// begin with # mean nothing. A case has three parts, of which the first alone will do
// as a machine file ([ParseMachine]). Errors say line and column.
//
// The machine: the domains of this node, and the peers.
//
//	domain shm node-local
//	domain cxi:cxi0 speed=200G numa=0 pci=0000:21:00.0
//	domain tcp;ofi_rxm:eth0 fabric=10.0.1.0/24
//	distances 10,21 21,10
//	peer A local shm cxi:cxi0
//	peer B cxi:cxi0 cxi:cxi1 tcp;ofi_rxm:eth0@10.0.1.0/24
//
// A domain is provider:domain, or the provider alone. Attributes, all optional:
// speed (bit/s, with K, M, G or T for powers of 1000), numa (node), pci, mtu,
// inject and max (bytes), format (address format) and fabric. node-local marks
// shared memory. distances is the NUMA distance table, a word for each node. A
// peer has a name, "local" if it is on this node, and its addresses, each
// written as the domain it belongs to, with @fabric if that matters. A rail reaches
// an address of its own provider, if the fabrics do not differ; a node-local rail
// only those of local peers.
//
// The link, and how it chooses:
//
//	link shm+cxi:cxi0,cxi1
//	policy PER_MSG
//	seed 3
//	shm off
//	explain
//
// link is a spec as package linkspec reads it; of several links "use 2" takes the
// second. A provider that the machine has only under a utility provider is found
// there (tcp as tcp;ofi_rxm). policy is a registered name, PER_PEER if not said.
// "shm off" is FI_LNX_DISABLE_SHM=1. "explain" has expectations written with the
// reason.
//
// The steps, each with what is expected of it:
//
//	send A
//	  -> shm to shm
//	send B x2 size=65536 numa=1
//	  -> cxi:cxi1 to cxi:cxi0
//	  -> cxi:cxi1 to cxi:cxi1
//	recv B cxi:cxi1 from cxi:cxi0
//	down cxi:cxi1
//	send B
//	  -> cxi:cxi0 to cxi:cxi0 | PER_PEER: pinned at the first send to the peer
//
// send is one message, or as many as x says; size is in bytes and numa the
// caller's node (none if not said). recv is a message that came in over a rail
// from a peer's address. up, suspect and down set a rail's health. An expectation
// is the rail and the peer's address, or "error: " and its text; the reason behind
// " | " is compared if it is there.
package railtest
