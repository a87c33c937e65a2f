// The peer SRX: providers ask which receive a message belongs to.
#include "internal.h"

#include "_cgo_export.h"

_Static_assert(sizeof(struct gx_lane) == 16 + GX_LANE * (2 * 32 + 24), "providers.Lane has this size");

// Providers do not agree on what happens when a message is longer than the
// buffers it was matched with; shm never completes either side. So an entry
// always gets room for the whole message: the user's buffers, and a spill for
// the rest. Where all buffers that the provider takes are in use, the last one
// is replaced by the spill and copied back.
int gx_fit(struct gx_rx *rx, struct gx_rail *rail, uint64_t size)
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
	if (!gx_new_spill(rx, size - before)) {
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

// Above this a spill is a mapping of its own, which goes back to the system.
#define GX_HEAP_SPILL 65536

bool gx_new_spill(struct gx_rx *rx, uint64_t size)
{
	rx->spill_len = size;
	if (size <= GX_HEAP_SPILL) {
		rx->spill = malloc(size ? size : 1);
		return rx->spill != NULL;
	}
	rx->spill = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (rx->spill == MAP_FAILED)
		rx->spill = NULL;
	return rx->spill != NULL;
}

void gx_drop_spill(struct gx_rx *rx)
{
	if (!rx->spill)
		return;
	if (rx->spill_len <= GX_HEAP_SPILL)
		free(rx->spill);
	else
		munmap(rx->spill, rx->spill_len);
	rx->spill = NULL;
}

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

// Takes the oldest receive in the lane that a message matches, out of it: slot + 1, or 0.
static uint32_t take_lane(struct gx_lane *lane, uint64_t from, uint64_t tag)
{
	uint32_t i, slot;

	for (i = lane->lo; i < lane->hi; i++) {
		if ((lane->entry[i].tag ^ tag) & ~lane->entry[i].ignore)
			continue;
		if (lane->entry[i].src == FI_ADDR_UNSPEC || lane->entry[i].src == from)
			break;
	}
	if (i == lane->hi)
		return 0;
	slot = lane->entry[i].slot;
	if (i - lane->lo <= lane->hi - i) { // the shorter side moves up
		memmove(&lane->entry[lane->lo + 1], &lane->entry[lane->lo], (i - lane->lo) * sizeof(lane->entry[0]));
		lane->lo++;
	} else {
		memmove(&lane->entry[i], &lane->entry[i + 1], (lane->hi - i - 1) * sizeof(lane->entry[0]));
		lane->hi--;
	}
	return slot + 1;
}

// Takes the oldest posted receive that a message matches, and notes that for Go, which
// looks at it when the call that drives the rails returns. All receives in the lane are
// older than those in the index.
static struct gx_rx *take_posted(struct gx_rail *rail, struct fi_peer_match_attr *attr)
{
	struct gx_core *core = rail->core;
	struct gx_lane *lane = &core->lane;
	uint64_t from = peer_of(rail, attr->addr);
	uint32_t link = take_lane(lane, from, attr->tag);

	if (!link && core->index.count)
		link = gx_index_match(core, from, attr->tag);
	if (!link)
		return NULL;
	if (lane->taken_n == GX_LANE)
		golnxTaken(core->id);
	lane->taken[lane->taken_n].src = attr->addr;
	lane->taken[lane->taken_n].size = attr->msg_size;
	lane->taken[lane->taken_n].slot = link - 1;
	lane->taken[lane->taken_n].rail = rail->index;
	lane->taken_n++;
	return gx_rx_at(core, link - 1);
}

// Gives the provider the entry for a message: with the buffers of the receive that it
// met, or an empty one that Go has put into its queue.
static int hand_out(struct gx_rx *rx, struct fid_peer_srx *srx, struct fi_peer_match_attr *attr,
		    uint64_t kind, bool posted, struct fi_peer_rx_entry **out)
{
	struct gx_rail *rail = gx_container(srx, struct gx_rail, peer_srx);

	init_entry(rx, srx, attr, kind);
	*out = &rx->entry;
	if (!posted) {
		rx->entry.count = 0;
		rx->posted = 0;
		rx->hdr.state = GX_UNEXPECTED;
		return -FI_ENOENT;
	}
	rx->hdr.state = 0;
	(void) gx_fit(rx, rail, attr->msg_size);
	return 0;
}

// rxm takes every answer but "no match" for an entry, so Go always finds one.
static int get_tag(struct fid_peer_srx *srx, struct fi_peer_match_attr *attr,
		   struct fi_peer_rx_entry **out)
{
	struct gx_rail *rail = gx_container(srx, struct gx_rail, peer_srx);
	struct gx_rx *rx = take_posted(rail, attr);
	uint64_t found = 1;

	if (!rx) {
		found = golnxMatch(rail->core->id, rail->index, attr->addr,
				   attr->msg_size, attr->tag);
		rx = gx_rx_at(rail->core, (uint32_t) (found >> 1));
	}
	return hand_out(rx, srx, attr, FI_TAGGED, found & 1, out);
}

static int get_msg(struct fid_peer_srx *srx, struct fi_peer_match_attr *attr,
		   struct fi_peer_rx_entry **out)
{
	struct gx_rail *rail = gx_container(srx, struct gx_rail, peer_srx);
	uint64_t found = golnxMatchMsg(rail->core->id, rail->index, attr->addr, attr->msg_size);

	return hand_out(gx_rx_at(rail->core, (uint32_t) (found >> 1)), srx, attr, FI_MSG, found & 1, out);
}

// Go put the entry into its queue when get_tag or get_msg found no match. A message that is
// not safe with its sender is fetched now: its connection is there while the
// provider deals with it. Where that cannot begin Go tries again. One of an unknown
// sender stays, for a provider can only say whose it is as long as it has it.
static int queue_entry(struct fi_peer_rx_entry *entry)
{
	struct gx_rx *rx = gx_rx_of(entry);
	struct gx_rail *rail = gx_rail_of(rx);

	if (rail->fetch_up_to && entry->msg_size >= rail->fetch_from && entry->msg_size <= rail->fetch_up_to &&
	    peer_of(rail, entry->addr) != FI_ADDR_UNSPEC && !rail->core->closing)
		(void) gx_fetch((uintptr_t) rx);
	return 0;
}

static void free_entry(struct fi_peer_rx_entry *entry)
{
	struct gx_rx *rx = gx_rx_of(entry);
	struct gx_rail *rail = gx_rail_of(rx);
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

		(void) gx_cq_writeerr(&rail->peer_cq, &err);
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

struct fi_ops_srx_owner gx_srx_owner_ops = {
	.size = sizeof(struct fi_ops_srx_owner),
	.get_msg = get_msg,
	.get_tag = get_tag,
	.queue_msg = queue_entry,
	.queue_tag = queue_entry,
	.foreach_unspec_addr = foreach_unspec_addr,
	.free_entry = free_entry,
};
