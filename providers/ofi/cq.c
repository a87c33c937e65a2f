// The peer CQ: every provider completes into one ring that Go reads.
#include "internal.h"

_Static_assert(sizeof(struct gx_comp) == 64, "providers.Completion expects 64 bytes");

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
static struct gx_comp *next_comp(struct gx_rail *rail, const struct gx_hdr *hdr)
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

// Stands for the operations of peers, which have no context of ours.
static struct gx_hdr remote = { .kind = GX_REMOTE };

// For the target side of RMA the context is the initiator's number, not a pointer of
// ours.
static struct gx_hdr *hdr_of(void *context, uint64_t flags)
{
	return flags & (FI_REMOTE_READ | FI_REMOTE_WRITE) ? NULL : context;
}

// Of the completions of peers' operations, only those with remote CQ data concern
// anybody. shm says nothing else of them, rxm that it was a write.
static bool from_peer(uint64_t flags)
{
	return (flags & FI_REMOTE_CQ_DATA) && !(flags & FI_RECV);
}

static ssize_t cq_write(struct fid_peer_cq *cq, void *context, uint64_t flags,
			size_t len, void *buf, uint64_t data, uint64_t tag,
			fi_addr_t src)
{
	struct gx_rail *rail = gx_container(cq, struct gx_rail, peer_cq);
	struct gx_hdr *hdr = from_peer(flags) ? &remote : hdr_of(context, flags);
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
			gx_drop_spill(rx);
		}
	}
	return 0;
}

ssize_t gx_cq_writeerr(struct fid_peer_cq *cq, const struct fi_cq_err_entry *err)
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
		gx_drop_spill((struct gx_rx *) hdr);
	}
	return 0;
}

// Completes a fetched message, of which a receive has taken len bytes, after all that has
// completed before it.
void gx_deliver(uintptr_t slot, uint64_t len)
{
	struct gx_rx *rx = (struct gx_rx *) slot;
	struct gx_comp *comp = next_comp(gx_rail_of(rx), &rx->hdr);

	if (!comp)
		return;
	comp->flags = rx->entry.flags;
	comp->len = len;
	comp->data = rx->entry.cq_data;
	comp->tag = rx->entry.tag;
	comp->src = rx->entry.addr;
	comp->olen = rx->spill_len - len;
	comp->err = comp->olen ? FI_ETRUNC : 0;
	comp->prov_errno = 0;
}

struct fi_ops_cq_owner gx_cq_owner_ops = {
	.size = sizeof(struct fi_ops_cq_owner),
	.write = cq_write,
	.writeerr = gx_cq_writeerr,
};
