// Package mr registers memory with the rails of a link (fi_mr(3)), and has memory for
// messages outside the Go heap.
//
// A NIC reads and writes memory by itself. Before it can, the memory has to be
// registered with the NIC's domain, which gives two things: a descriptor, for this
// endpoint's own operations, and a key, for those of peers. What a domain wants
// registered, who chooses the key, and by which address peers reach the memory differ
// from provider to provider (mr_mode); an endpoint of several rails has several answers
// for one buffer. This package keeps them.
//
// # Two ways to use it
//
// Operations of the endpoint itself (sends, receives, the near side of RMA) need a
// descriptor only, on some rails:
//
//	lease, err := m.Acquire(rail, buf, mr.Send)   // finds or makes a registration
//	… start the operation with lease.Desc, wait for its completion …
//	m.Release(lease)
//
// Memory that peers may read and write is registered by hand, and its key given away:
//
//	region, err := m.Register(buf, mr.RemoteRead|mr.RemoteWrite)
//	key, err := region.RemoteKey()
//	wire, err := key.MarshalBinary()              // send this to the peer
//
// The peer reads the key and asks where an operation has to go, for the rail it takes
// and the address of this endpoint that it is sent to:
//
//	err := key.UnmarshalBinary(wire)
//	remote := m.Import(key)
//	addr, rkey, err := remote.At(rail, entry, off, n, mr.RemoteWrite)
//
// # Modes
//
// A rail's domain implements [Registrar]. It says what it asks for, and this package does
// it:
//
//	FI_MR_LOCAL       host memory is registered for the endpoint's own operations;
//	                  without it they pass a descriptor of 0 (NULL)
//	FI_MR_VIRT_ADDR   peers use the virtual address; without it they count from 0 at
//	                  the start of the registration
//	FI_MR_ALLOCATED   pages do not change below a registration: they are pinned, or
//	                  see "Memory that goes away"
//	FI_MR_PROV_KEY    the provider chooses keys; without it they are chosen here, each
//	                  once in a domain and within mr_key_size
//	FI_MR_ENDPOINT    a registration is bound to the rail's endpoint and enabled
//	FI_MR_RAW         keys are longer than 64 bits: the remote key carries them, and
//	                  [Manager.Import] has them mapped where they are used
//	FI_MR_HMEM        memory of devices is registered for own operations, too
//
// A domain that asks for what is not in the list, FI_MR_MMU_NOTIFY for one, is refused
// with [ErrNotSupported]; so is memory of a device or a DMA-BUF on a rail that cannot
// reach it. Counters of a registration (FI_RMA_EVENT) are not part of this package.
//
// Each rail registers when it first needs to, unless Options.Eager has all do it at once.
// A registration belongs to one domain: what is asked of a rail is answered by its own
// registrations only, and a region by its own Manager only ([ErrForeign]).
//
// # The cache
//
// To register takes much longer than to send a small message. So what was registered for
// local access stays registered when nobody uses it any more, and serves every later use
// of the same memory or a part of it, for the same access or less. It ends
//
//   - when the cache is full (Options.MaxEntries and MaxBytes): what has been idle for
//     longest goes first, what is in use never;
//   - when a provider has no room for another registration;
//   - when a new registration contains it and allows as much;
//   - with [Manager.Invalidate], [Buffer.Free] and [Manager.Close].
//
// Memory with remote access is not cached. Its registration is the region's own, with
// keys of its own, and [Region.Close] ends it: a peer that uses the key after that gets
// an error. Memory of devices is not cached either, as nobody says when it is freed.
//
// # Go memory
//
// The collector frees what the program cannot reach any more, and then gives the address
// to something else. A registration by address must not live through that. So every
// registered slice is pinned (runtime.Pinner), from its first registration to the end of
// its last one, and that includes the time in the cache. In other words: the cache
// keeps slices from being collected that the program has long forgotten, and with a
// slice the whole object that it is part of. MaxBytes counts the slices. Where that is
// too much, lower the bounds, call Invalidate, or set Options.NoCache, with which a slice
// is pinned during its operations and no longer.
//
// Buffers that are used again and again are the case that the cache is for; a new slice
// for each message is not.
//
// A lease of a rail that asks for no registration pins nothing ([Lease.Pinned]): there
// the endpoint pins for itself, for the time of the operation.
//
// # Memory that goes away
//
// Memory outside the Go heap can be unmapped, and other pages be mapped at its address,
// while the NIC goes on using the old ones. [Alloc] gives memory whose Free ends all
// registrations first, in every Manager, and refuses with [ErrBusy] while operations or
// regions use them. For other memory, of C or of mmap(2), whoever unmaps it calls
// Invalidate before.
//
// Close of a region that operations use answers ErrBusy, too. It is closed then all the
// same, and ends with the last of them; but until Close answers nil its memory must stay.
//
// # Concurrency
//
// Everything is safe for concurrent use. A Manager has one lock, around its own state and
// all calls to the domains. An endpoint whose domains are opened with FI_THREAD_DOMAIN
// passes its progress lock as Options.Lock and calls the methods whose names end in
// Locked, so that a buffer found in the cache costs no lock at all.
//
// Package mrtest has a domain without hardware for tests.
package mr
