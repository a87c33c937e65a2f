// The owner's side of fi_peer(3): one completion ring and one slab of receive
// entries shared by all rails of an endpoint.
//
// Everything here runs under the endpoint's progress lock, which Go holds
// around each call into libfabric. C keeps integers and C memory; user buffers
// that it points to are pinned by Go until the operation ends.
#ifndef GOLNX_SHIM_H
#define GOLNX_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/providers/fi_peer.h>

#define GX_IOV 4          // buffers of one operation, at the most
#define GX_MAX_RAILS 64   // rails of one endpoint; masks of rails are uint64_t
#define GX_CHUNK 1024     // entries that a slab grows by
#define GX_SMALL 64       // bytes of a receive that lies in its entry
#define GX_COLD 64        // rounds of gx_spin between those that drive an idle rail

enum gx_kind { GX_TX = 1, GX_RX = 2, GX_REMOTE = 3, GX_TAKEN = 4 }; // the last of gx_take

// States of a receive entry, as bits.
enum {
	GX_UNEXPECTED = 1, // holds a message that no receive was posted for
	GX_COMPLETED = 2,  // its completion is in the ring
	GX_RELEASED = 4,   // the provider let go of it (free_entry)
	GX_DRAINED = 8,    // Go has processed its completion
};

// What an operation's context points to. Providers may write into fictx.
struct gx_hdr {
	struct fi_context2 fictx;
	uint32_t slot;
	uint16_t gen;   // counts the uses of the slot
	uint8_t kind;   // enum gx_kind
	uint8_t state;  // receive entries only
};

struct gx_tx {
	struct gx_hdr hdr;
	uint8_t pad[24];
} __attribute__((aligned(32)));

// A posted receive in the index, under its slot. Of three with one key, a the oldest, next leads from a
// to b to c to none, and prev from a to c to b to a.
struct gx_keyed {
	uint64_t tag;         // the bits that are compared
	uint64_t ignore, src; // src is FI_ADDR_UNSPEC for any
	uint64_t seq;         // counts the receives posted
	uint32_t hash;        // of the key
	uint32_t chain;       // of a key's oldest: of the next key in the bucket
	uint32_t next, prev;
	uint32_t newer, older; // of all receives
	uint8_t class;
	bool queued;
} __attribute__((aligned(64)));

struct gx_rx {
	struct gx_hdr hdr;
	struct fi_peer_rx_entry entry;
	struct iovec iov[GX_IOV];
	void *desc[GX_IOV];
	char small[GX_SMALL];
	uint64_t posted;   // bytes that the user's buffers hold
	// A message longer than the buffers gets one more buffer, so that the
	// provider always sees room for all of it (see gx_fit).
	char *spill;
	uint64_t spill_len;
	void *back;        // user memory that the first back_len bytes belong to
	uint64_t back_len;
	uint32_t next_free; // next of core->freed, by slot + 1
	uint8_t rail;
	bool fetched;       // spill is the whole message, for Go to read
} __attribute__((aligned(64)));

// One completion; Go's providers.Completion has the same layout.
struct gx_comp {
	uint64_t flags, len, data, tag, src, olen;
	uint32_t slot;
	int32_t prov_errno;
	uint16_t gen;
	uint8_t rail, kind;
	int32_t err;
};

// The posted receives while they are few, matched here; providers.Lane has the same layout.
#define GX_LANE 64

struct gx_lane {
	uint32_t lo, hi, taken_n, pad;
	struct {
		uint64_t src, tag, ignore;
		uint32_t slot, pad;
	} entry[2 * GX_LANE];
	struct {
		uint64_t src, size;
		uint32_t slot, rail;
	} taken[GX_LANE];
};

// The posted receives behind the lane: see index.c.
#define GX_CLASSES 32

struct gx_class {
	uint64_t keep;  // tag bits that are compared
	uint64_t born;  // none of its receives is older
	uint32_t count; // 0: unused
	bool directed;  // the source is compared, too
};

struct gx_index {
	uint64_t seed[2];
	uint64_t seq;
	uint32_t count, keys;
	uint32_t oldest, newest;
	uint32_t rest_oldest, rest_newest;
	uint32_t nclasses; // that are searched, with unused ones among them
	struct gx_class classes[GX_CLASSES];
	struct gx_keyed **entries; // chunks, those that were needed
	uint32_t *buckets; // each leads to the oldest of a key
	uint64_t room;     // buckets that are reserved
	uint32_t mask, split;
};

// A message that waits for gx_send_staged.
#define GX_BATCH 64

struct gx_staged {
	uint64_t buf, len, dest, tag, data, flags, tx;
};

struct gx_core;

struct gx_rail {
	struct fid_peer_cq peer_cq;
	struct fid_peer_srx peer_srx;
	struct gx_core *core;
	uint32_t index;
	uint32_t iov_limit;
	uint64_t fetch_from, fetch_up_to; // sizes of messages that are fetched; 0, 0 for none
	struct fid_cq *cq;
	struct fid_ep *ep;
	struct fid_ep *srx;
	// Left by the provider's last foreach_unspec_addr: asks whose an
	// unexpected message is whose sender was unknown when it came.
	fi_addr_t (*whose)(struct fi_peer_rx_entry *);
	uint64_t *peers;  // by address in the rail's AV: Go's Addr
	uint64_t npeers;
	// A rail whose provider matches (direct.c).
	bool direct, sink_always;
	char *sink;
	uint64_t sink_len;
	struct gx_taken *taken;
};

struct gx_core {
	uint64_t head, tail; // of ring; head is Go's
	uint64_t mask;
	struct gx_comp *ring;
	uint32_t id;
	uint32_t nrails;
	struct gx_rail *rails[GX_MAX_RAILS];
	uint32_t rounds;     // of gx_spin
	uint32_t turn;       // the idle rail that is next
	uint32_t freed;      // list of entries that became free, by slot + 1
	bool closing;
	uint64_t lost;       // completions that found no memory
	struct gx_rx **rx;   // chunks
	struct gx_tx **tx;
	uint32_t rx_chunks, tx_chunks, max_rx_chunks, max_tx_chunks;
	struct iovec iov[GX_IOV];
	void *desc[GX_IOV];            // of iov, for RMA
	struct fi_rma_iov remote[GX_IOV];
	struct gx_lane lane;
	struct gx_index index;
	struct gx_staged staged[GX_BATCH];
	int64_t refused; // why gx_send_staged stopped
};

struct gx_core *gx_core_new(uint32_t id, uint32_t max_rx_chunks, uint32_t max_tx_chunks);
void gx_core_free(struct gx_core *core);
int gx_grow_rx(struct gx_core *core);
int gx_grow_tx(struct gx_core *core);
int gx_grow_ring(struct gx_core *core);

int gx_index_open(struct gx_core *core);
void gx_index_close(struct gx_core *core);
int gx_index_grow(struct gx_core *core, uint32_t slot);
void gx_index_post(struct gx_core *core, uint32_t slot, uint64_t src, uint64_t tag, uint64_t ignore);
bool gx_index_cancel(struct gx_core *core, uint32_t slot);
uint32_t gx_index_match(struct gx_core *core, uint64_t src, uint64_t tag);

int gx_map_peer(struct gx_rail *rail, uint64_t addr, uint64_t peer);
struct gx_rail *gx_rail_new(struct gx_core *core, uint32_t iov_limit);
void gx_rail_free(struct gx_rail *rail);

// The data path takes its objects as integers, which spares cgo's checks of
// pointer arguments. They are all C memory.
ssize_t gx_send(uintptr_t rail, uintptr_t buf, size_t len, uint64_t dest,
		uint64_t tag, uint64_t data, uint64_t flags, uintptr_t tx);
ssize_t gx_sendv(uintptr_t rail, size_t count, uint64_t dest, uint64_t tag,
		 uint64_t data, uint64_t flags, uintptr_t tx);
ssize_t gx_rma(uintptr_t rail, bool write, uintptr_t buf, size_t len, uintptr_t desc,
	       uint64_t dest, uint64_t addr, uint64_t key, uintptr_t tx);
ssize_t gx_rmamsg(uintptr_t rail, bool write, size_t count, size_t remote_count,
		  uint64_t dest, uint64_t data, uint64_t flags, uintptr_t tx);
ssize_t gx_send_msg(uintptr_t rail, uintptr_t buf, size_t len, uint64_t dest,
		    uint64_t data, uint64_t flags, uintptr_t tx);
ssize_t gx_sendv_msg(uintptr_t rail, size_t count, uint64_t dest, uint64_t data,
		     uint64_t flags, uintptr_t tx);
ssize_t gx_inject(uintptr_t rail, uintptr_t buf, size_t len, uint64_t dest,
		  uint64_t tag, uint64_t data, bool with_data);
uint32_t gx_send_staged(uintptr_t rail, uint32_t n);
ssize_t gx_probe(uintptr_t rail, uint64_t dest);
int gx_start(uintptr_t rx);
int gx_fetch(uintptr_t rx);
void gx_unfetch(uintptr_t rx);
void gx_deliver(uintptr_t rx, uint64_t len);
uint64_t gx_whose(struct gx_rail *rail, struct gx_rx *rx);

// Rails whose provider matches.
int gx_sink_open(struct gx_rail *rail, uint64_t size);
void gx_sink_close(struct gx_rail *rail);
ssize_t gx_post(uintptr_t rail, uintptr_t rx, uint64_t src, uint64_t tag,
		uint64_t ignore, uint64_t flags);
ssize_t gx_cancel(uintptr_t rail, uintptr_t rx);
void gx_reap(struct gx_rail *rail);

// A message that gx_take receives.
struct gx_taken {
	struct gx_hdr hdr;
	struct gx_taken *next;
	int err;
	bool done;
};

void gx_take(struct gx_rail *rail, uint64_t src);
void gx_taken_free(struct gx_rail *rail);

void gx_calibrate(void);
uint64_t gx_progress(uintptr_t core, uint64_t rails);
uint64_t gx_spin(uintptr_t core, uint64_t hot, uint64_t all, uint32_t spins);

#endif
