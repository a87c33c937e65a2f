#include "shim.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "_cgo_export.h"

#define gx_container(ptr, type, member) ((type *) ((char *) (ptr) - offsetof(type, member)))

_Static_assert(sizeof(struct gx_comp) == 64, "providers.Completion expects 64 bytes");
_Static_assert(sizeof(struct gx_lane) == 8 + GX_LANE * (32 + 24), "providers.Lane has this size");

static struct gx_rx *rx_of(struct fi_peer_rx_entry *entry)
{
	return gx_container(entry, struct gx_rx, entry);
}

static struct gx_rail *rail_of(struct gx_rx *rx)
{
	return gx_container(rx->entry.srx, struct gx_rail, peer_srx);
}

static struct gx_rx *rx_at(struct gx_core *core, uint32_t slot)
{
	return &core->rx[slot / GX_CHUNK][slot % GX_CHUNK];
}

/* ---- the completion ring ---- */

int gx_grow_ring(struct gx_core *core)
{
	uint64_t size = core->ring ? (core->mask + 1) * 2 : 1024;
	struct gx_comp *ring = malloc(size * sizeof(*ring));
	uint64_t i;

	if (!ring)
		return -FI_ENOMEM;
	for (i = core->head; i != core->tail; i++)
		ring[i & (size - 1)] = core->ring[i & core->mask];
	free(core->ring);
	core->ring = ring;
	core->mask = size - 1;
	return 0;
}

// A place in the ring for the completion of hdr. The ring grows rather than
// refuse: providers drop a completion that is refused.
static struct gx_comp *next_comp(struct gx_rail *rail, struct gx_hdr *hdr)
{
	struct gx_core *core = rail->core;
	struct gx_comp *comp;

	if (core->tail - core->head > core->mask && gx_grow_ring(core)) {
		core->lost++;
		return NULL;
	}
	comp = &core->ring[core->tail++ & core->mask];
	comp->slot = hdr->slot;
	comp->gen = hdr->gen;
	comp->kind = hdr->kind;
	comp->rail = (uint8_t) rail->index;
	return comp;
}

/* ---- room for messages that are longer than their buffer ---- */

// Providers do not agree on what happens when a message is longer than the
// buffers it was matched with; shm never completes either side. So an entry
// always gets room for the whole message: the user's buffers, and a spill for
// the rest. Where all buffers that the provider takes are in use, the last one
// is replaced by the spill and copied back.
static int gx_fit(struct gx_rx *rx, struct gx_rail *rail, uint64_t size)
{
	struct fi_peer_rx_entry *entry = &rx->entry;
	uint64_t before = rx->posted;

	if (size <= rx->posted)
		return 0;
	rx->back = NULL;
	rx->back_len = 0;
	if (entry->count >= rail->iov_limit) {
		struct iovec *last = &rx->iov[entry->count - 1];

		rx->back = last->iov_base;
		rx->back_len = last->iov_len;
		before -= last->iov_len;
		entry->count--;
	}
	rx->spill_len = size - before;
	rx->spill = mmap(NULL, rx->spill_len, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (rx->spill == MAP_FAILED) {
		rx->spill = NULL;
		if (rx->back)
			entry->count++;
		return -FI_ENOMEM;
	}
	rx->iov[entry->count].iov_base = rx->spill;
	rx->iov[entry->count].iov_len = rx->spill_len;
	rx->desc[entry->count] = NULL;
	entry->count++;
	return 0;
}

static void drop_spill(struct gx_rx *rx)
{
	if (!rx->spill)
		return;
	munmap(rx->spill, rx->spill_len);
	rx->spill = NULL;
}

/* ---- peer CQ (fi_ops_cq_owner) ---- */

static struct gx_hdr *hdr_of(void *context, uint64_t flags)
{
	// For the target side of RMA the context is the initiator's number, not
	// a pointer of ours.
	if (flags & (FI_REMOTE_READ | FI_REMOTE_WRITE))
		return NULL;
	return context;
}

static ssize_t cq_write(struct fid_peer_cq *cq, void *context, uint64_t flags,
			size_t len, void *buf, uint64_t data, uint64_t tag,
			fi_addr_t src)
{
	struct gx_rail *rail = gx_container(cq, struct gx_rail, peer_cq);
	struct gx_hdr *hdr = hdr_of(context, flags);
	struct gx_comp *comp;

	(void) buf;
	if (!hdr)
		return 0;
	comp = next_comp(rail, hdr);
	if (!comp)
		return -FI_ENOMEM;
	comp->flags = flags;
	comp->len = len;
	comp->data = data;
	comp->tag = tag;
	comp->src = src;
	comp->olen = 0;
	comp->err = 0;
	comp->prov_errno = 0;
	if (hdr->kind == GX_RX) {
		struct gx_rx *rx = (struct gx_rx *) hdr;

		hdr->state |= GX_COMPLETED;
		if (rx->spill && !rx->fetched) {
			memcpy(rx->back, rx->spill, rx->back_len);
			comp->err = FI_ETRUNC;
			comp->olen = len - rx->posted;
			comp->len = rx->posted;
			drop_spill(rx);
		}
	}
	return 0;
}

static ssize_t cq_writeerr(struct fid_peer_cq *cq, const struct fi_cq_err_entry *err)
{
	struct gx_rail *rail = gx_container(cq, struct gx_rail, peer_cq);
	struct gx_hdr *hdr = hdr_of(err->op_context, err->flags);
	struct gx_comp *comp;

	if (!hdr)
		return 0;
	comp = next_comp(rail, hdr);
	if (!comp)
		return -FI_ENOMEM;
	comp->flags = err->flags;
	comp->len = err->len;
	comp->data = err->data;
	comp->tag = err->tag;
	comp->src = FI_ADDR_UNSPEC;
	comp->olen = err->olen;
	comp->err = err->err ? err->err : FI_EOTHER;
	comp->prov_errno = err->prov_errno;
	if (hdr->kind == GX_RX) {
		hdr->state |= GX_COMPLETED;
		drop_spill((struct gx_rx *) hdr);
	}
	return 0;
}

static struct fi_ops_cq_owner cq_owner_ops = {
	.size = sizeof(struct fi_ops_cq_owner),
	.write = cq_write,
	.writeerr = cq_writeerr,
};

/* ---- peer SRX (fi_ops_srx_owner) ---- */

static void init_entry(struct gx_rx *rx, struct fid_peer_srx *srx,
		       struct fi_peer_match_attr *attr, uint64_t flags)
{
	struct gx_rail *rail = gx_container(srx, struct gx_rail, peer_srx);

	rx->rail = (uint8_t) rail->index;
	rx->entry.srx = srx;
	rx->entry.addr = attr->addr;
	rx->entry.tag = attr->tag;
	rx->entry.msg_size = attr->msg_size;
	rx->entry.flags = flags | FI_RECV | FI_COMPLETION;
	rx->entry.cq_data = 0;
	rx->entry.peer_context = NULL;
	rx->entry.owner_context = NULL;
	rx->entry.context = &rx->hdr;
	rx->entry.iov = rx->iov;
	rx->entry.desc = rx->desc;
}

// Whose a message is, FI_ADDR_UNSPEC if not known.
static uint64_t peer_of(struct gx_rail *rail, fi_addr_t src)
{
	return src < rail->npeers ? rail->peers[src] : FI_ADDR_UNSPEC;
}

// Takes the oldest receive in the lane that a message matches, and notes that for
// Go, which looks at it when the call that drives the rails returns. All receives
// in the lane are older than those that Go keeps.
static struct gx_rx *take_lane(struct gx_rail *rail, struct fi_peer_match_attr *attr)
{
	struct gx_lane *lane = &rail->core->lane;
	uint64_t from = peer_of(rail, attr->addr);
	uint32_t i, slot;

	for (i = 0; i < lane->n; i++) {
		if ((lane->entry[i].tag ^ attr->tag) & ~lane->entry[i].ignore)
			continue;
		if (lane->entry[i].src == FI_ADDR_UNSPEC || lane->entry[i].src == from)
			break;
	}
	if (i == lane->n || lane->taken_n == GX_LANE)
		return NULL;
	slot = lane->entry[i].slot;
	lane->n--;
	memmove(&lane->entry[i], &lane->entry[i + 1], (lane->n - i) * sizeof(lane->entry[0]));
	lane->taken[lane->taken_n].src = attr->addr;
	lane->taken[lane->taken_n].size = attr->msg_size;
	lane->taken[lane->taken_n].slot = slot;
	lane->taken[lane->taken_n].rail = rail->index;
	lane->taken_n++;
	return rx_at(rail->core, slot);
}

// rxm takes every answer but "no match" for an entry, so Go always finds one.
static int get_tag(struct fid_peer_srx *srx, struct fi_peer_match_attr *attr,
		   struct fi_peer_rx_entry **out)
{
	struct gx_rail *rail = gx_container(srx, struct gx_rail, peer_srx);
	struct gx_rx *rx = take_lane(rail, attr);
	uint64_t found = 1;

	if (!rx) {
		found = golnxMatch(rail->core->id, rail->index, attr->addr,
				   attr->msg_size, attr->tag);
		rx = rx_at(rail->core, (uint32_t) (found >> 1));
	}
	init_entry(rx, srx, attr, FI_TAGGED);
	*out = &rx->entry;
	if (!(found & 1)) {
		rx->entry.count = 0;
		rx->posted = 0;
		rx->hdr.state = GX_UNEXPECTED;
		return -FI_ENOENT;
	}
	rx->hdr.state = 0;
	(void) gx_fit(rx, rail, attr->msg_size);
	return 0;
}

// Untagged messages have no receiver: they go into a spill and are dropped.
static int get_msg(struct fid_peer_srx *srx, struct fi_peer_match_attr *attr,
		   struct fi_peer_rx_entry **out)
{
	struct gx_rail *rail = gx_container(srx, struct gx_rail, peer_srx);
	struct gx_rx *rx = rx_at(rail->core, golnxStray(rail->core->id, rail->index, attr->addr));

	init_entry(rx, srx, attr, FI_MSG);
	*out = &rx->entry;
	rx->entry.count = 0;
	rx->posted = 0;
	rx->hdr.state = 0;
	(void) gx_fit(rx, rail, attr->msg_size);
	return 0;
}

// Go put the entry into its queue when get_tag found no match. A message that is
// not safe with its sender is fetched now: its connection is there while the
// provider deals with it. Where that cannot begin Go tries again. One of an unknown
// sender stays, for a provider can only say whose it is as long as it has it.
static int queue_entry(struct fi_peer_rx_entry *entry)
{
	struct gx_rx *rx = rx_of(entry);
	struct gx_rail *rail = rail_of(rx);

	if (rail->fetch_above && entry->msg_size > rail->fetch_above &&
	    peer_of(rail, entry->addr) != FI_ADDR_UNSPEC && !rail->core->closing)
		(void) gx_fetch((uintptr_t) rx);
	return 0;
}

static void free_entry(struct fi_peer_rx_entry *entry)
{
	struct gx_rx *rx = rx_of(entry);
	struct gx_rail *rail = rail_of(rx);
	struct gx_core *core = rail->core;
	uint8_t state = rx->hdr.state;

	if (core->closing || (state & GX_RELEASED))
		return;
	rx->hdr.state |= GX_RELEASED;
	if (state & GX_UNEXPECTED) {
		golnxDropped(core->id, rx->hdr.slot);
		return;
	}
	if (!(state & GX_COMPLETED)) {
		// The provider gives a matched receive up without a word, as rxm
		// does when a connection breaks.
		struct fi_cq_err_entry err = {
			.op_context = &rx->hdr,
			.flags = FI_TAGGED | FI_RECV,
			.tag = entry->tag,
			.err = FI_ECONNABORTED,
		};

		(void) cq_writeerr(&rail->peer_cq, &err);
	}
	if (rx->hdr.state & GX_DRAINED) {
		rx->next_free = core->freed;
		core->freed = rx->hdr.slot + 1;
	}
}

static void foreach_unspec_addr(struct fid_peer_srx *srx,
				fi_addr_t (*get_addr)(struct fi_peer_rx_entry *))
{
	gx_container(srx, struct gx_rail, peer_srx)->whose = get_addr;
}

static struct fi_ops_srx_owner srx_owner_ops = {
	.size = sizeof(struct fi_ops_srx_owner),
	.get_msg = get_msg,
	.get_tag = get_tag,
	.queue_msg = queue_entry,
	.queue_tag = queue_entry,
	.foreach_unspec_addr = foreach_unspec_addr,
	.free_entry = free_entry,
};

// Providers forward fi_cancel and close to the SRX's own operations.
static int no_close(struct fid *fid)
{
	(void) fid;
	return 0;
}

static ssize_t no_cancel(fid_t fid, void *context)
{
	(void) fid;
	(void) context;
	return -FI_ENOENT;
}

static struct fi_ops fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = no_close,
};

static struct fi_ops_ep ep_ops = {
	.size = sizeof(struct fi_ops_ep),
	.cancel = no_cancel,
};

/* ---- slabs ---- */

struct gx_core *gx_core_new(uint32_t id, uint32_t max_rx_chunks, uint32_t max_tx_chunks)
{
	struct gx_core *core = calloc(1, sizeof(*core));

	if (!core)
		return NULL;
	core->id = id;
	core->max_rx_chunks = max_rx_chunks;
	core->max_tx_chunks = max_tx_chunks;
	core->rx = calloc(max_rx_chunks, sizeof(*core->rx));
	core->tx = calloc(max_tx_chunks, sizeof(*core->tx));
	if (!core->rx || !core->tx || gx_grow_ring(core)) {
		gx_core_free(core);
		return NULL;
	}
	return core;
}

void gx_core_free(struct gx_core *core)
{
	uint32_t i, j;

	for (i = 0; core->rx && i < core->rx_chunks; i++) {
		for (j = 0; j < GX_CHUNK; j++)
			drop_spill(&core->rx[i][j]);
		free(core->rx[i]);
	}
	for (i = 0; core->tx && i < core->tx_chunks; i++)
		free(core->tx[i]);
	free(core->rx);
	free(core->tx);
	free(core->ring);
	free(core);
}

int gx_grow_rx(struct gx_core *core)
{
	struct gx_rx *chunk;
	uint32_t i;

	if (core->rx_chunks == core->max_rx_chunks)
		return -FI_EAGAIN;
	chunk = aligned_alloc(64, GX_CHUNK * sizeof(*chunk));
	if (!chunk)
		return -FI_ENOMEM;
	memset(chunk, 0, GX_CHUNK * sizeof(*chunk));
	for (i = 0; i < GX_CHUNK; i++) {
		chunk[i].hdr.kind = GX_RX;
		chunk[i].hdr.slot = core->rx_chunks * GX_CHUNK + i;
	}
	core->rx[core->rx_chunks++] = chunk;
	return 0;
}

int gx_grow_tx(struct gx_core *core)
{
	struct gx_tx *chunk;
	uint32_t i;

	if (core->tx_chunks == core->max_tx_chunks)
		return -FI_EAGAIN;
	chunk = aligned_alloc(64, GX_CHUNK * sizeof(*chunk));
	if (!chunk)
		return -FI_ENOMEM;
	memset(chunk, 0, GX_CHUNK * sizeof(*chunk));
	for (i = 0; i < GX_CHUNK; i++) {
		chunk[i].hdr.kind = GX_TX;
		chunk[i].hdr.slot = core->tx_chunks * GX_CHUNK + i;
	}
	core->tx[core->tx_chunks++] = chunk;
	return 0;
}

/* ---- rails ---- */

struct gx_rail *gx_rail_new(struct gx_core *core, uint32_t iov_limit)
{
	struct gx_rail *rail;

	if (core->nrails == GX_MAX_RAILS)
		return NULL;
	rail = calloc(1, sizeof(*rail));
	if (!rail)
		return NULL;
	rail->core = core;
	rail->index = core->nrails;
	rail->iov_limit = iov_limit;
	rail->peer_cq.fid.fclass = FI_CLASS_PEER_CQ;
	rail->peer_cq.fid.ops = &fid_ops;
	rail->peer_cq.owner_ops = &cq_owner_ops;
	rail->peer_srx.ep_fid.fid.fclass = FI_CLASS_PEER_SRX;
	rail->peer_srx.ep_fid.fid.ops = &fid_ops;
	rail->peer_srx.ep_fid.ops = &ep_ops;
	rail->peer_srx.owner_ops = &srx_owner_ops;
	core->rails[core->nrails++] = rail;
	return rail;
}

int gx_map_peer(struct gx_rail *rail, uint64_t addr, uint64_t peer)
{
	uint64_t n = rail->npeers, *peers;

	if (addr >= n) {
		if (addr >= UINT32_MAX)
			return -FI_EINVAL; // not an index of an FI_AV_TABLE
		n = addr + 64;
		peers = realloc(rail->peers, n * sizeof(*peers));
		if (!peers)
			return -FI_ENOMEM;
		memset(peers + rail->npeers, 0xff, (n - rail->npeers) * sizeof(*peers));
		rail->peers = peers;
		rail->npeers = n;
	}
	rail->peers[addr] = peer;
	return 0;
}

void gx_rail_free(struct gx_rail *rail)
{
	free(rail->peers);
	rail->core->rails[rail->index] = NULL;
	if (rail->index + 1 == rail->core->nrails)
		rail->core->nrails--;
	free(rail);
}

/* ---- data path ---- */

static ssize_t sendv(struct gx_rail *rail, size_t count, uint64_t dest, uint64_t tag,
		     uint64_t data, uint64_t flags, struct gx_tx *tx)
{
	struct fi_msg_tagged msg = {
		.msg_iov = rail->core->iov,
		.iov_count = count,
		.addr = dest,
		.tag = tag,
		.context = &tx->hdr,
		.data = data,
	};

	return fi_tsendmsg(rail->ep, &msg, flags | FI_COMPLETION);
}

ssize_t gx_sendv(uintptr_t rail, size_t count, uint64_t dest, uint64_t tag,
		 uint64_t data, uint64_t flags, uintptr_t tx)
{
	return sendv((struct gx_rail *) rail, count, dest, tag, data, flags, (struct gx_tx *) tx);
}

ssize_t gx_send(uintptr_t to, uintptr_t base, size_t len, uint64_t dest,
		uint64_t tag, uint64_t data, uint64_t flags, uintptr_t slot)
{
	struct gx_rail *rail = (struct gx_rail *) to;
	struct gx_tx *tx = (struct gx_tx *) slot;
	void *buf = (void *) base;

	if (!flags)
		return fi_tsend(rail->ep, buf, len, NULL, dest, tag, &tx->hdr);
	rail->core->iov[0].iov_base = buf;
	rail->core->iov[0].iov_len = len;
	return sendv(rail, 1, dest, tag, data, flags, tx);
}

// Gives an unexpected message memory of its own, which stays until gx_unfetch.
int gx_fetch(uintptr_t slot)
{
	struct gx_rx *rx = (struct gx_rx *) slot;
	size_t size = rx->entry.msg_size;
	int ret;

	rx->spill = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (rx->spill == MAP_FAILED) {
		rx->spill = NULL;
		return -FI_ENOMEM;
	}
	rx->spill_len = size;
	rx->fetched = true;
	rx->iov[0].iov_base = rx->spill;
	rx->iov[0].iov_len = size;
	rx->desc[0] = NULL;
	rx->entry.count = 1;
	rx->posted = size;
	ret = gx_start(slot);
	if (ret) {
		gx_unfetch(slot);
		rx->hdr.state |= GX_UNEXPECTED;
	}
	return ret;
}

void gx_unfetch(uintptr_t slot)
{
	struct gx_rx *rx = (struct gx_rx *) slot;

	drop_spill(rx);
	rx->fetched = false;
}

ssize_t gx_probe(uintptr_t rail, uint64_t dest)
{
	static const char none;

	return fi_inject(((struct gx_rail *) rail)->ep, &none, 0, dest);
}

// Gives an unexpected message its buffers; they stand in rx->iov.
int gx_start(uintptr_t slot)
{
	struct gx_rx *rx = (struct gx_rx *) slot;
	struct gx_rail *rail = rail_of(rx);
	int ret;

	rx->hdr.state &= (uint8_t) ~GX_UNEXPECTED;
	ret = gx_fit(rx, rail, rx->entry.msg_size);
	if (ret)
		return ret;
	return rail->peer_srx.peer_ops->start_tag(&rx->entry);
}

uint64_t gx_whose(struct gx_rail *rail, struct gx_rx *rx)
{
	return rail->whose ? rail->whose(&rx->entry) : FI_ADDR_UNSPEC;
}

static uint64_t progress(struct gx_core *core, uint64_t rails)
{
	while (rails) {
		(void) fi_cq_read(core->rails[__builtin_ctzll(rails)]->cq, NULL, 0);
		rails &= rails - 1;
	}
	return core->tail - core->head;
}

uint64_t gx_progress(uintptr_t core, uint64_t rails)
{
	return progress((struct gx_core *) core, rails);
}

// Drives the hot rails every time round and all once in a while, until a completion
// is there or the rounds are over.
uint64_t gx_spin(uintptr_t handle, uint64_t hot, uint64_t all, uint32_t spins)
{
	struct gx_core *core = (struct gx_core *) handle;
	uint64_t n = 0;

	while (!n && spins--)
		n = progress(core, ++core->rounds % GX_COLD ? hot : all);
	return n;
}
